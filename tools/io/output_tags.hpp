// SPDX-License-Identifier: BSD-3-Clause
// What stands in front of each line that ranks write.
#pragma once

#include <string>

namespace weft::io {

struct OutputTags {
  bool rank = false;  ///< --tag-output
  bool time = false;  ///< --timestamp-output
  std::string job{};  ///< before the rank: "2." of the second job that a process has asked for
  bool host = false;  ///< --tag-output=host: the node's name is before the job and the rank
  bool any() const noexcept { return rank || time; }
};

}  // namespace weft::io
