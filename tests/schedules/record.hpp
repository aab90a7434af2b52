// SPDX-License-Identifier: BSD-3-Clause
// What the processes of a run have heard, and what has to be so (checks.cpp).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/link/rank_runs.hpp"
#include "tests/schedules/schedule.hpp"

namespace weft::schedules {

struct Ended {
  pmix_status_t status = PMIX_SUCCESS;
  link::RankRuns members{};
  std::uint64_t context = 0;
  std::uint64_t found = 0;  ///< what a lookup has found
  bool operator==(const Ended&) const = default;
  bool is_made() const noexcept { return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS; }
};

/// A process's own table of groups, as that of a client's library.
using Groups = std::map<std::string, link::RankRuns>;

struct Record {
  std::vector<std::vector<std::optional<Ended>>> ended;                 ///< by operation and rank
  std::vector<std::vector<std::chrono::nanoseconds>> called, ended_at;  ///< the same
  std::vector<Groups> groups;                                           ///< by rank, at the end
  std::vector<std::optional<std::chrono::nanoseconds>> began;           ///< by rank: it could call, and hear
  std::vector<std::optional<std::chrono::nanoseconds>> killed;          ///< by rank: a fault has ended it
  /// By job: its processes had all ended, and it was taken away.
  std::vector<std::optional<std::chrono::nanoseconds>> end_of_job;
  std::vector<bool> is_left;     ///< by rank: it is there, and no other node has taken its server for lost
  std::vector<bool> has_server;  ///< by rank: the same of its server
  std::vector<std::map<Rank, unsigned>> heard;  ///< by operation: how often its event has come to a rank
  std::vector<std::set<Rank>> invited;          ///< by operation: those that have heard so
  struct Departure {
    std::string group;
    Rank of = 0, by = 0;
    auto operator<=>(const Departure&) const = default;
  };
  std::map<Departure, unsigned> departures;  ///< how often `by` has heard that `of` has left
  /// By pull and rank: the prints whose output has come, in their order.
  std::map<std::pair<std::size_t, Rank>, std::vector<std::size_t>> output;
  std::vector<std::string> violations;
};

std::string to_text(const Ended& ended);

/// What waits at the servers, a line each, as in the report of what is stuck.
std::vector<std::string> open_at(simulation::World& world);

/// What has not gone back to where it was, of servers whose operations have all ended: a line each.
///   has_missed  a node may have missed an attempt of the others, because its processes ended or left: what
///               came to it of that stays for its next one; what it does for these alone may stay open
/// What a server that has left in good order has said before stays where no process has come to it, and this
/// node, which has never spoken to that one, does not watch it.
std::vector<std::string> kept_at(simulation::World& world, const std::vector<bool>& is_left, bool has_missed);

/// The same of published names. names: how many the servers keep that are left.
void check_names(const Schedule& schedule, std::size_t names, Record& record);

/// The same of output.
void check_output(const Schedule& schedule, Record& record);

/// Adds what is wrong of a run that has come to its end.
void check(const Schedule& schedule, Record& record);

}  // namespace weft::schedules
