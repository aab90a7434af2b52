// SPDX-License-Identifier: BSD-3-Clause
// What stands in front of each line that ranks write.
#pragma once

#include <string>

namespace weft::io {

struct OutputTags {
  bool rank = false;  ///< --tag-output
  bool host = false;  ///< --tag-output=host: before the job and the rank
  bool time = false;  ///< --timestamp-output
  std::string job{};  ///< before the rank: "2." of the second job that a process has asked for
  bool any() const noexcept { return rank || time; }
};

}  // namespace weft::io
