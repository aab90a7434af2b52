// SPDX-License-Identifier: BSD-3-Clause
// What a server reports of itself to observers, and the reports of all servers merged into one of the
// cluster. Pure data: own_report.cpp fills it in, survey.hpp gathers it. docs/design/report.md.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/server/fences/fence_part.hpp"
#include "core/server/reports/counters.hpp"
#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::server {

struct JobReport {
  std::string nspace;
  std::uint32_t ranks = 0, nodes = 0;
  std::array<std::uint32_t, 4> states{};  ///< local ranks by store::Local::State
  std::uint64_t fences = 0;               ///< of the whole job that have ended
  /// The process that has spawned it; without a namespace: none has.
  std::string parent_nspace{};
  std::uint32_t parent_rank = 0;
  std::uint32_t attacher_pid = 0;  ///< that has brought it to a service of the launcher's; 0: none has
  std::uint32_t attacher_user = 0;
  bool is_detached = false;  ///< it goes on without its attacher
};
template <class Archive>
void fields(Archive& archive, JobReport& m) {
  archive(m.nspace, m.ranks, m.nodes, m.fences, m.states, m.parent_nspace, m.parent_rank, m.attacher_pid,
          m.attacher_user, m.is_detached);
}

/// A group that has members on the node, or a process set that its server knows.
struct GroupEntry {
  std::string name;
  link::RankRuns members;  ///< by group rank
};
template <class Archive>
void fields(Archive& archive, GroupEntry& m) {
  archive(m.name, m.members);
}

/// A published name that the node's server keeps, without its value.
struct NameEntry {
  std::string key, nspace;  ///< of the publisher, as is the rank
  std::uint32_t rank = 0;
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  pmix_persistence_t persistence = PMIX_PERSIST_INVALID;
  std::uint64_t bytes = 0;  ///< of its value
};
template <class Archive>
void fields(Archive& archive, NameEntry& m) {
  archive(m.key, m.nspace, m.rank, m.range, m.persistence, m.bytes);
}

/// A part of the node segment, of all jobs together, in bytes.
struct RegionEntry {
  std::string name;
  std::uint64_t used = 0;  ///< that hold something
  std::uint64_t size = 0;  ///< addresses: what was never written takes no memory
};
template <class Archive>
void fields(Archive& archive, RegionEntry& m) {
  archive(m.name, m.used, m.size);
}

/// In memory now, in KiB.
struct MemoryReport {
  std::uint64_t server = 0, clients = 0;
  std::uint32_t count = 0;  ///< of clients

  double average_of_clients() const noexcept {
    return count == 0 ? 0 : static_cast<double>(clients) / static_cast<double>(count);
  }
};
template <class Archive>
void fields(Archive& archive, MemoryReport& m) {
  archive(m.server, m.clients, m.count);
}

struct NodeReport {
  static constexpr auto wire_version = report_version;
  std::string host;
  std::int32_t pid = 0;   ///< of the server
  std::string transport;  ///< empty: no fabric is open
  std::uint64_t age_ms = 0;
  std::vector<JobReport> jobs;
  std::vector<FencePart> fences;
  std::vector<GroupEntry> groups{};
  std::vector<GroupEntry> sets{};
  static constexpr std::size_t most_names = 256;
  std::vector<NameEntry> names{};  ///< at most so many, by key
  std::uint64_t all_names = 0;     ///< that the server's user may see
  std::vector<RegionEntry> regions{};
  MemoryReport memory{};
  std::vector<std::uint64_t> counters = std::vector<std::uint64_t>(count_of_counters());  ///< as counts_of()
};
template <class Archive>
void fields(Archive& archive, NodeReport& m) {
  archive(m.host, m.pid, m.transport, m.age_ms, m.jobs, m.fences, m.groups, m.sets, m.names, m.all_names,
          m.regions, m.memory, m.counters);
}
inline bool is_valid(const NodeReport& report) {
  return report.counters.size() == count_of_counters();
}

/// The request for a report: everything, or only its part in these fences.
struct ReportRequest {
  static constexpr auto wire_version = report_version;
  std::uint8_t everything = 1;
  std::vector<FenceName> fences;
};
template <class Archive>
void fields(Archive& archive, ReportRequest& m) {
  archive(m.everything, m.fences);
}

struct NodeEntry {
  enum class State : std::uint8_t {
    here,        ///< it has answered
    silent,      ///< it has not
    lost,        ///< it was lost
    left,        ///< it has ended
    unknown,     ///< the server that was asked does not know where it is
    unreadable,  ///< its answer is of another release
  };
  NodeNumber node = 0;
  std::string host;
  State state = State::unknown;
  NodeReport report;
};

/// A fence as all nodes together see it.
struct FenceReport {
  struct OnNode {
    NodeNumber node;
    std::vector<AbsentRank> ranks;
  };
  FenceName name;
  std::string remark;  ///< as FencePart
  std::uint64_t age_ms = 0;
  bool collects = false;
  std::string algorithm;
  std::uint32_t nodes = 0, entered = 0;  ///< that take part; that are in it with all their ranks
  std::uint64_t ranks = 0, arrived = 0;  ///< on nodes that have answered
  std::vector<OnNode> missing;
  std::vector<NodeNumber> silent;     ///< take part, but have said nothing
  std::vector<NodeNumber> waits_for;  ///< where all ranks are in it: nodes whose message another needs
};

/// What collectives of all nodes take, by the costs of messages that the server that was asked has.
struct ChoiceEntry {
  std::uint64_t bytes = 0;       ///< of each node's contribution; 0: a barrier
  std::string algorithm, other;  ///< other: the cheapest of the rest
  std::uint64_t cost_ns = 0, other_cost_ns = 0;
};

struct ClusterReport {
  std::string nspace;
  NodeNumber asked = 0;    ///< the node that merged it
  std::uint32_t size = 0;  ///< nodes of the cluster, whether they stand below or not
  std::vector<NodeEntry> nodes;
  std::vector<JobReport> jobs;
  std::vector<FenceReport> fences;
  std::vector<GroupEntry> groups{}, sets{};  ///< by name
  std::vector<ChoiceEntry> choices{};        ///< empty: of one node
  std::string costs{};                       ///< of messages between the nodes; empty: of one node
};

/// The nodes that take part in a fence, ascending; empty: not known.
using MembersOf = std::function<std::vector<NodeNumber>(const FenceName&)>;
/// Fences that some node has told of, and for each node those of them that it belongs to and was silent
/// about.
std::vector<std::vector<FenceName>> unanswered(const std::vector<NodeEntry>& nodes, const MembersOf& members);
ClusterReport merged(std::string nspace, NodeNumber asked, std::vector<NodeEntry> nodes,
                     const MembersOf& members);

/// The value of the key `weft.cluster`.
inline constexpr const char* report_key = "weft.cluster";
Result<data::Value> to_value(const ClusterReport& report);

}  // namespace weft::server
