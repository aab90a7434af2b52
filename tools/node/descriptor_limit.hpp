// SPDX-License-Identifier: BSD-3-Clause
// How many descriptors this process may have: launcher and daemons need two for each rank, so they take
// what the hard limit gives, once; their ranks get the user's limit back.
#pragma once

#include <optional>

namespace weft::node {

class DescriptorLimit {
 public:
  /// Before the first rank is started: agents that were started before have the user's limit. Returns that,
  /// 0: it is this process's still.
  unsigned long raise() noexcept;

 private:
  std::optional<unsigned long> of_user_;
};

}  // namespace weft::node
