// SPDX-License-Identifier: BSD-3-Clause
// What stands in front of each line that ranks write.
#pragma once

namespace weft::io {

struct OutputTags {
  bool rank = false;  ///< --tag-output
  bool time = false;  ///< --timestamp-output
  bool any() const noexcept { return rank || time; }
};

}  // namespace weft::io
