// SPDX-License-Identifier: BSD-3-Clause
// What a job wants done, in this order: by the program that has the ranks, their output and the PMIx server.
#pragma once

#include <pmix_common.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/job/events.hpp"
#include "tools/job/stops.hpp"
#include "tools/jobs/states.hpp"

namespace weft::jobs {

/// A rank that a line is about, and how much the rank had written before (of a rank of another node).
struct AboutRank {
  job::Rank rank;
  job::WrittenBytes written{};
};

/// A line for the user.
struct Say {
  enum class What {
    detail,  ///< for --verbose
    result,  ///< how the job goes: not with --quiet
  };
  What what;
  std::string line;
  std::optional<AboutRank> about{};  ///< the line comes after all that this rank has written
};
/// PMIX_EVENT_JOB_START or PMIX_LAUNCH_COMPLETE, for tools.
struct Announce {
  pmix_status_t code;
};
/// All ranks that are to stop there for a debugger have: PMIX_READY_FOR_DEBUG.
struct AnnounceHeld {
  job::Held held;
};
/// These ranks are asked to end, and made to after a time of grace.
struct EndRanks {
  std::vector<job::Rank> ranks;
};
/// Job::hold_over() is to come after a while; nothing: not any more.
struct Hold {
  bool begins;
};
/// All ranks have ended, and some have not reached the server: if that is explained by what they have loaded,
/// the user is to read it.
struct LookForStrangers {};

using Order = std::variant<Say, Announce, AnnounceHeld, Action, EndRanks, Hold, LookForStrangers>;
using Orders = std::vector<Order>;

}  // namespace weft::jobs
