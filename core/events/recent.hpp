// SPDX-License-Identifier: BSD-3-Clause
// The latest of what came, oldest first, numbered from 1, bounded by number and by bytes. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace weft::events {

struct RecentBounds {
  std::size_t items = 512;
  std::size_t bytes = std::size_t{1} << 20;
};

template <class Item>
class Recent {
 public:
  explicit Recent(RecentBounds bounds = {}) noexcept : bounds_(bounds) {}

  /// Adds an item of that size, and drops the oldest ones that it leaves no room for. Returns its number; 0:
  /// it alone is beyond the bounds and was not added.
  std::uint64_t add(Item item, std::size_t bytes) {
    if (bounds_.items == 0 || bytes > bounds_.bytes) return 0;
    while (entries_.size() == bounds_.items || bytes_ + bytes > bounds_.bytes) {
      bytes_ -= entries_.front().bytes;
      entries_.pop_front();
      ++dropped_;
    }
    bytes_ += bytes;
    entries_.push_back({++last_, bytes, std::move(item)});
    return last_;
  }

  /// Calls see(number, item) for each, oldest first.
  template <class See>
  void each(See&& see) const {
    for (const auto& entry : entries_) see(entry.number, entry.item);
  }

  /// A number that is not there, or not any more, has no effect.
  void erase(std::uint64_t number) {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), number,
                         [](const Entry& entry, std::uint64_t wanted) { return entry.number < wanted; });
    if (at == entries_.end() || at->number != number) return;
    bytes_ -= at->bytes;
    entries_.erase(at);
  }
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    std::erase_if(entries_, [&](const Entry& entry) {
      const bool goes = unwanted(entry.item);
      if (goes) bytes_ -= entry.bytes;
      return goes;
    });
  }

  std::size_t size() const noexcept { return entries_.size(); }
  std::uint64_t last() const noexcept { return last_; }  ///< the latest number; 0: none was added yet
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint64_t dropped() const noexcept { return dropped_; }  ///< for lack of room

 private:
  struct Entry {
    std::uint64_t number;
    std::size_t bytes;
    Item item;
  };
  const RecentBounds bounds_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0, dropped_ = 0;
};

}  // namespace weft::events
