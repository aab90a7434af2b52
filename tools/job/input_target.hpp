// SPDX-License-Identifier: BSD-3-Clause
// Which ranks have a standard input: the launcher's, or what processes push. All others read /dev/null.
#pragma once

#include <cstdint>

#include "tools/job/rank.hpp"

namespace weft::job {

struct InputTarget {
  enum class Kind : std::uint8_t { one, all, none };
  Kind kind = Kind::one;
  Rank rank{0};            ///< for Kind::one
  bool is_pushed = false;  ///< processes and tools push to these ranks; the launcher's goes to none

  bool includes(Rank other) const noexcept {
    return kind == Kind::all || (kind == Kind::one && rank == other);
  }
};
template <class Archive>
void fields(Archive& archive, InputTarget& target) {
  archive(target.kind);
  archive(target.rank);
  archive(target.is_pushed);
}

}  // namespace weft::job
