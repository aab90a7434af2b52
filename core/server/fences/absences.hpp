// SPDX-License-Identifier: BSD-3-Clause
// The fences of a set whose board is broken. No generation of such a board ends: each member that comes is
// turned away. The first member that is turned away for the n-th time begins the set's n-th such fence, and
// the host is told of that fence once.
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
  /// All members that were lost are back.
  void clear() noexcept {
    by_member_.clear();
    fences_ = 0;
  }

 private:
  std::map<std::uint32_t, std::uint64_t> by_member_;
  std::uint64_t fences_ = 0;
};

}  // namespace weft::server
