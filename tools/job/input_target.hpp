// SPDX-License-Identifier: BSD-3-Clause
// Which ranks read the launcher's standard input. All others read /dev/null.
#pragma once

#include <cstdint>

#include "tools/job/rank.hpp"

namespace weft::job {

struct InputTarget {
  enum class Kind : std::uint8_t { one, all, none };
  Kind kind = Kind::one;
  Rank rank{0};  ///< for Kind::one

  bool includes(Rank other) const noexcept {
    return kind == Kind::all || (kind == Kind::one && rank == other);
  }
};
template <class Archive>
void fields(Archive& archive, InputTarget& target) {
  archive(target.kind);
  archive(target.rank);
}

}  // namespace weft::job
