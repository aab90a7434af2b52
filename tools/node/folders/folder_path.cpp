// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/folders/folder_path.hpp"

#include <fmt/format.h>
#include <sys/random.h>

namespace weft::node {

std::string unguessable() {
  std::uint64_t chance = 0;
  while (::getrandom(&chance, sizeof chance, 0) != static_cast<ssize_t>(sizeof chance)) continue;
  return fmt::format("{:016x}", chance);
}

std::string folder_path(const std::string& parent, const std::string& session, std::uint32_t node) {
  return fmt::format("{}/{}.{}.{}", parent, session, node, unguessable());
}

}  // namespace weft::node
