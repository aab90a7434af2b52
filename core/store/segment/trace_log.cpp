// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/trace_log.hpp"

#include <pthread.h>

#include <algorithm>

namespace weft::store {

TraceLog::Entry TraceLog::begin(TraceCall call, std::uint32_t subject, Thread thread,
                                std::uint64_t begun) const noexcept {
  const auto number = header_->calls.fetch_add(1, std::memory_order_relaxed);
  Entry entry;
  entry.record_ = &records_[place_of(number, capacity_)];
  entry.number_ = static_cast<std::uint32_t>(number);
  auto& record = *entry.record_;
  record.begun.store(0, std::memory_order_relaxed);  // I3
  record.number.store(entry.number_, std::memory_order_relaxed);
  record.ended.store(0, std::memory_order_relaxed);
  // The word of the thread is an address of its own for as long as it lives, and takes no system call.
  record.thread.store(thread == Thread::stays ? ::pthread_self() : 0, std::memory_order_relaxed);
  record.subject.store(subject, std::memory_order_relaxed);
  record.call.store(static_cast<std::uint16_t>(call), std::memory_order_relaxed);
  record.begun.store(begun, std::memory_order_release);  // TL.B1 -> B2: what the call is
  return entry;
}

void TraceLog::Entry::end(pmix_status_t status) const noexcept {
  if (record_ == nullptr || record_->number.load(std::memory_order_relaxed) != number_) return;  // I5
  record_->status.store(status, std::memory_order_relaxed);
  record_->ended.store(FirstCall::now(), std::memory_order_release);  // TL.E1 -> E2: its status
}

std::vector<TraceEvent> TraceLog::events() const {
  std::vector<TraceEvent> out;
  const auto used = std::min(header_->calls.load(std::memory_order_relaxed), capacity_);
  for (std::uint64_t i = 0; i < used; ++i) {
    const auto& record = records_[i];
    TraceEvent event;
    event.begun = record.begun.load(std::memory_order_acquire);  // TL.B2 <- B1
    if (event.begun == 0) continue;
    event.ended = record.ended.load(std::memory_order_acquire);  // TL.E2 <- E1
    event.thread = record.thread.load(std::memory_order_relaxed);
    event.subject = record.subject.load(std::memory_order_relaxed);
    event.status = record.status.load(std::memory_order_relaxed);
    event.call = record.call.load(std::memory_order_relaxed);
    out.push_back(event);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.begun < b.begun; });
  return out;
}

std::uint64_t TraceLog::left_out() const noexcept {
  const auto calls = header_->calls.load(std::memory_order_relaxed);
  return calls > capacity_ ? calls - capacity_ : 0;
}

}  // namespace weft::store
