// SPDX-License-Identifier: BSD-3-Clause
// What one server keeps for all, and what it waits for, as its room says it: an invitation, the approval of a
// change of members, a bootstrap. GroupReports makes of it what the report of what is stuck has.
#pragma once

#include <functional>
#include <string>

#include "core/server/fences/fence_part.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

struct KeptWait {
  FenceName name;
  Loop::TimePoint since;
  bool& is_reported;
  /// Of this node: it is not waited for.
  std::function<bool(const pmix_proc_t&)> has_come;
  std::string remark{};  ///< as in FencePart
  std::string also{};    ///< what is missing besides, in words
};
/// Called for each, and keeps none.
using SeeWait = std::function<void(const KeptWait&)>;

}  // namespace weft::server
