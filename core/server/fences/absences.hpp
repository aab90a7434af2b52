// SPDX-License-Identifier: BSD-3-Clause
// The fences of a set whose board is broken. Its members are turned away one after the other, and together
// that is one fence of the set after the other, although no generation of the board ends.
#pragma once

#include <cstdint>
#include <map>

namespace weft::server {

class Absences {
 public:
  /// A member has been turned away once more. True: it is the first at this fence.
  bool add(std::uint32_t member) {
    if (++by_member_[member] <= fences_) return false;
    ++fences_;
    return true;
  }
  /// All that were lost are back.
  void clear() noexcept {
    by_member_.clear();
    fences_ = 0;
  }

 private:
  std::map<std::uint32_t, std::uint64_t> by_member_;
  std::uint64_t fences_ = 0;
};

}  // namespace weft::server
