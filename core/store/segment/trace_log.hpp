// SPDX-License-Identifier: BSD-3-Clause
// The calls of one process, for a launcher that traces the job (docs/scale/trace.md): whole pages of a rank
// in the memory of the job's clients, or memory of the server's own for what the server itself does.
//
//   | Header, 1 cache line | record | record | ...      zero when new
//
// I1  Records are written by one process; each of its threads has the record that it has taken for itself.
// I2  The first half of the records are the process's first calls, the others a ring of its latest ones: of a
//     process with more calls those in between are left out, and counted.
// I3  A record whose `begun` is 0 is none. It is stored last, and taken back first where a record is used
//     again. `ended` is 0 while the call goes on.
// I4  Times are of CLOCK_MONOTONIC, in nanoseconds, as the process reads it.
// I5  The server trusts nothing here: it looks at no more records than fit, and a wrong one is an event that
//     is left out, or wrong. A call that ends after the ring has come round to its record loses its end; of
//     two threads that do so at one moment, one may be shown with the end of the other.
// Crash: a process that dies inside a call leaves it as one that goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/store/segment/start_cell.hpp"
#include "core/store/segment/trace_calls.hpp"
#include "pmix_common.h"

namespace weft::store {

/// A copy of a record.
struct TraceEvent {
  std::uint64_t begun = 0, ended = 0;  ///< ended: 0: the call goes on
  std::uint64_t thread = 0;            ///< of that process; 0: the call has left its thread
  std::uint32_t subject = 0;           ///< as the call's row says; no_subject: there is none
  pmix_status_t status = PMIX_SUCCESS;
  std::uint16_t call = 0;
};

class TraceLog {
 public:
  static constexpr std::uint32_t no_subject = 0xffffffff;

  struct Header {
    alignas(64) std::atomic<std::uint64_t> calls{0};
  };
  struct Record {
    std::atomic<std::uint64_t> begun, ended, thread;
    std::atomic<std::uint32_t> number, subject;  ///< number: of the call, its lower half
    std::atomic<std::int32_t> status;
    std::atomic<std::uint16_t> call;
  };
  static_assert(sizeof(Header) == 64 && sizeof(Record) == 40 &&
                std::atomic<std::uint64_t>::is_always_lock_free);

  /// A call that goes on. Empty: it is not traced.
  class Entry {
   public:
    Entry() = default;
    explicit operator bool() const noexcept { return record_ != nullptr; }
    /// Any thread; once. Does nothing where it is empty. REQUIRES: the log's memory is there.
    void end(pmix_status_t status) const noexcept;

   private:
    friend class TraceLog;
    Record* record_ = nullptr;
    std::uint32_t number_ = 0;
  };

  TraceLog() = default;
  /// memory: zero, or another TraceLog's; at least a Header and two records. Outlives this object.
  TraceLog(std::byte* memory, std::size_t bytes) noexcept
      : header_(reinterpret_cast<Header*>(memory)),
        records_(reinterpret_cast<Record*>(memory + sizeof(Header))),
        capacity_((bytes - sizeof(Header)) / sizeof(Record)) {}
  explicit operator bool() const noexcept { return header_ != nullptr; }
  std::uint64_t capacity() const noexcept { return capacity_; }

  /// REQUIRES: this log is not empty. Any thread of the process. begun: as FirstCall::now(), not 0. Cost: an
  /// atomic addition and a look at the clock.
  enum class Thread : bool { stays, leaves };
  Entry begin(TraceCall call, std::uint32_t subject = no_subject, Thread thread = Thread::stays,
              std::uint64_t begun = FirstCall::now()) const noexcept;

  /// Any process. The calls in the order in which they began. Cost: a look at each record that was used.
  std::vector<TraceEvent> events() const;
  std::uint64_t left_out() const noexcept;

  /// Where call number n lies among `capacity` records.
  static constexpr std::uint64_t place_of(std::uint64_t n, std::uint64_t capacity) noexcept {
    const auto first = capacity / 2;
    return n < first ? n : first + (n - first) % (capacity - first);
  }

 private:
  Header* header_ = nullptr;
  Record* records_ = nullptr;
  std::uint64_t capacity_ = 0;
};

/// A log in this process's memory.
class OwnTraceLog {
 public:
  explicit OwnTraceLog(std::size_t records)
      : lines_((sizeof(TraceLog::Header) + records * sizeof(TraceLog::Record) + sizeof(Line) - 1) /
               sizeof(Line)),
        log_(lines_.front().bytes, lines_.size() * sizeof(Line)) {}
  OwnTraceLog(OwnTraceLog&&) noexcept = default;  ///< not copied: the log leads to its own lines
  OwnTraceLog& operator=(OwnTraceLog&&) noexcept = default;
  const TraceLog& log() const noexcept { return log_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  TraceLog log_;
};

/// A call that goes on, on no thread, in a log that stays for as long.
class KeptEntry {
 public:
  KeptEntry() = default;
  /// log: not null.
  KeptEntry(std::shared_ptr<const OwnTraceLog> log, TraceCall call, std::uint32_t subject)
      : log_(std::move(log)), entry_(log_->log().begin(call, subject, TraceLog::Thread::leaves)) {}
  /// Once. Does nothing where it is empty.
  void end(pmix_status_t status) const noexcept { entry_.end(status); }

 private:
  std::shared_ptr<const OwnTraceLog> log_;
  TraceLog::Entry entry_;
};

}  // namespace weft::store
