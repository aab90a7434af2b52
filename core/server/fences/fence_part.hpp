// SPDX-License-Identifier: BSD-3-Clause
// A fence, or a group's construct or destruct, as one node sees it, and what all nodes call it. Pure data;
// the same struct goes into the stuck report, to weftinfo and from server to server.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "core/link/rank_runs.hpp"
#include "core/server/operations/operation_name.hpp"
#include "pmix_common.h"
#include "transport/mesh/node.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::server {

using base::decode;
using base::encode;
using mesh::NodeNumber;

/// Raised when a structure here or in reports/report.hpp changes shape, or the list of counters
/// (reports/counters.cpp).
inline constexpr std::uint16_t report_version = 8;

using link::procs_of;
using link::RankRun;
using link::runs_of;

struct FenceName {
  static constexpr auto wire_version = report_version;
  std::vector<RankRun> procs;
  std::uint64_t generation = 0;
  OperationName operation{};
  bool goes_on_smaller = false;  ///< of a question: an operation that leaves lost participants out
  auto operator<=>(const FenceName&) const = default;
};
template <class Archive>
void fields(Archive& archive, FenceName& m) {
  archive(m.procs, m.generation, m.operation, m.goes_on_smaller);
}

/// A rank that a fence waits for. state: store::Local::State.
struct AbsentRank {
  std::string nspace;
  std::uint32_t rank = 0;
  std::int32_t pid = 0;  ///< 0: it never connected
  std::uint8_t state = 0;
};
template <class Archive>
void fields(Archive& archive, AbsentRank& m) {
  archive(m.nspace, m.rank, m.pid, m.state);
}

/// A fence as one node sees it.
struct FencePart {
  static constexpr auto wire_version = report_version;
  enum class State : std::uint8_t {
    absent,   ///< none of its ranks is in it
    waiting,  ///< some are
    entered,  ///< all are: with the other nodes, or over
  };
  FenceName name;
  State state = State::absent;
  std::uint32_t ranks = 0, arrived = 0;  ///< of this node
  std::uint64_t age_ms = 0;              ///< at least
  bool collects = false;
  std::string remark{};               ///< behind the operation's name, for people; empty: nothing to say
  std::string algorithm;              ///< of the collective between the nodes, once it is under way here
  std::vector<NodeNumber> waits_for;  ///< whose message it needs next
  std::vector<AbsentRank> missing;

  void set_age(std::chrono::steady_clock::duration age) {
    age_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  }
};
template <class Archive>
void fields(Archive& archive, FencePart& m) {
  archive(m.name, m.state, m.ranks, m.arrived, m.age_ms, m.collects, m.remark, m.algorithm, m.waits_for,
          m.missing);
}
inline bool is_valid(const FencePart& part) {
  return part.state <= FencePart::State::entered;
}

/// The reply to the requests `fence_part` and `group_part`, whose body is a FenceName.
struct PartReply {
  static constexpr auto wire_version = report_version;
  std::optional<FencePart> part;  ///< nothing: processes, or an operation, that are not known there
};
template <class Archive>
void fields(Archive& archive, PartReply& m) {
  archive(m.part);
}

}  // namespace weft::server
