// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/fence/set_fences.hpp"

#include <algorithm>

#include "core/link/proc_set.hpp"

namespace weft::client {

ProcList::ProcList(std::span<const pmix_proc_t> procs) {
  ranks_.reserve(procs.size());
  for (const auto& proc : procs) {
    const auto nspace = link::nspace_of(proc);
    if (runs_.empty() || runs_.back().nspace != nspace) runs_.push_back({std::string(nspace), 0});
    ranks_.push_back(proc.rank);
    runs_.back().end = ranks_.size();
  }
}

bool ProcList::matches(std::span<const pmix_proc_t> procs) const noexcept {
  if (procs.size() != ranks_.size()) return false;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (procs[i].rank != ranks_[i]) return false;
  std::size_t i = 0;
  for (const auto& run : runs_)
    for (; i < run.end; ++i)
      if (!link::is_of(procs[i], run.nspace)) return false;
  return true;
}

void SetFence::message_ended(const std::optional<link::BoardOffer>& offer) {
  const std::lock_guard lock(mutex_);
  // While another fence is a message the offer may not be taken; the answer to the last one brings it again.
  if (--by_message_ != 0 || !offer) return;
  board_ = open_(*offer);
  number_ = offer->board;
}

std::shared_ptr<BoardFence> SetFence::board(store::BoardNumber number) const {
  const std::lock_guard lock(mutex_);
  return number == 0 || number == number_ ? board_ : nullptr;
}

std::shared_ptr<SetFence> SetFences::find(std::span<const pmix_proc_t> procs) {
  const std::lock_guard lock(mutex_);
  for (auto& array : arrays_) {
    if (!array.procs.matches(procs)) continue;
    array.used = ++uses_;
    const auto set = array.set;
    if (&array != &arrays_.front()) std::swap(array, arrays_.front());  // the next look finds it first
    return set;
  }
  return procs.size() > most_procs ? nullptr : add(procs);
}

/// A set that is in use is found by its canonical form, even if every array of it was forgotten meanwhile:
/// its fences have an order.
std::shared_ptr<SetFence> SetFences::add(std::span<const pmix_proc_t> procs) {
  while (!arrays_.empty() && (arrays_.size() == most_arrays || kept_procs_ + procs.size() > most_procs)) {
    const auto oldest = std::min_element(arrays_.begin(), arrays_.end(),
                                         [](const Array& a, const Array& b) { return a.used < b.used; });
    kept_procs_ -= oldest->procs.size();
    arrays_.erase(oldest);
  }
  const auto canonical = link::canonical({procs.begin(), procs.end()});
  std::erase_if(sets_, [](const Set& set) { return set.set.expired(); });
  std::shared_ptr<SetFence> set;
  for (const auto& known : sets_)
    if (set == nullptr && known.canonical.matches(canonical)) set = known.set.lock();
  if (set == nullptr) {
    set = std::make_shared<SetFence>(open_);
    sets_.push_back({ProcList(canonical), set});
  }
  kept_procs_ += procs.size();
  arrays_.push_back({ProcList(procs), set, ++uses_});
  return set;
}

std::vector<std::shared_ptr<SetFence>> SetFences::in_use() const {
  std::vector<std::shared_ptr<SetFence>> out;
  const std::lock_guard lock(mutex_);
  for (const auto& set : sets_)
    if (auto live = set.set.lock()) out.push_back(std::move(live));
  return out;
}

void SetFences::board_moved(store::BoardNumber number) {
  for (const auto& set : in_use())
    if (const auto board = set->board(number)) board->board_moved();
}

void SetFences::server_lost() {
  for (const auto& set : in_use())
    if (const auto board = set->board()) board->board_moved();
}

}  // namespace weft::client
