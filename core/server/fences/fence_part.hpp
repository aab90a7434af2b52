// SPDX-License-Identifier: BSD-3-Clause
// A fence as one node sees it, and what all nodes call it. Pure data; the same struct goes into the stuck report, to weftinfo and
// from server to server.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "pmix_common.h"
#include "transport/mesh/node.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// Ranks first to last of one namespace; PMIX_RANK_WILDCARD in both: all.
struct RankRun {
  std::string nspace;
  std::uint32_t first = 0, last = 0;
  auto operator<=>(const RankRun&) const = default;
};

struct FenceName {
  std::vector<RankRun> procs;
  std::uint64_t generation = 0;
  auto operator<=>(const FenceName&) const = default;
};
/// procs: canonical.
std::vector<RankRun> runs_of(const std::vector<pmix_proc_t>& procs);
/// Errors: corrupt (more processes than any job has).
Result<std::vector<pmix_proc_t>> procs_of(const std::vector<RankRun>& runs);

/// One that a fence waits for. state: store::Local::State.
struct AbsentRank {
  std::string nspace;
  std::uint32_t rank = 0;
  std::int32_t pid = 0;  ///< 0: it never connected
  std::uint8_t state = 0;
};

/// A fence as one node sees it.
struct FencePart {
  enum class State : std::uint8_t {
    absent,   ///< none of its ranks is in it
    waiting,  ///< some are
    entered,  ///< all are: with the other nodes, or over
  };
  FenceName name;
  State state = State::absent;
  std::uint32_t ranks = 0, arrived = 0;  ///< of this node
  std::uint64_t age_ms = 0;              ///< at least
  std::uint8_t collects = 0;
  std::string algorithm;              ///< of the collective between the nodes, once it is under way here
  std::vector<NodeNumber> waits_for;  ///< whose message it needs next
  std::vector<AbsentRank> missing;
};

std::vector<std::byte> encode(const FenceName& name);
std::vector<std::byte> encode(const FencePart& part);
/// Errors: corrupt, also where it was made by another release.
Result<FenceName> decode_name(Bytes bytes);
Result<FencePart> decode_part(Bytes bytes);

}  // namespace weft::server
