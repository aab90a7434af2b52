// SPDX-License-Identifier: BSD-3-Clause
// Which sequence numbers of one peer have been seen: each is accepted once, in any order within the window,
// and nothing that is older than the window. 136 bytes a peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::mesh {

class ReplayWindow {
 public:
  static constexpr std::uint64_t width = 1024;

  /// sequence: from 1. False: seen already, or too old to tell. Only for numbers of authenticated messages.
  bool accept(std::uint64_t sequence) noexcept {
    if (sequence == 0 || sequence + width <= newest_ || sequence + width < sequence) return false;
    if (sequence > newest_) {
      forget(newest_ + 1, sequence);
      newest_ = sequence;
    }
    std::uint64_t& word = seen_[sequence % width / 64];
    const std::uint64_t bit = std::uint64_t{1} << (sequence % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  std::uint64_t newest() const noexcept { return newest_; }

 private:
  /// The places of numbers that were `width` ago become those of first..last.
  void forget(std::uint64_t first, std::uint64_t last) noexcept {
    if (last - first >= width) return seen_.fill(0);
    for (auto s = first; s <= last; ++s) seen_[s % width / 64] &= ~(std::uint64_t{1} << (s % 64));
  }

  std::uint64_t newest_ = 0;
  std::array<std::uint64_t, width / 64> seen_{};
};
static_assert(sizeof(ReplayWindow) == 136);

}  // namespace weft::mesh
