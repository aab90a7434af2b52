// SPDX-License-Identifier: BSD-3-Clause
// A cluster as weftinfo shows it, read out of what the server answered (docs/design/report.md).
#pragma once

#include <pmix_common.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::weftinfo {

/// Numbers of ranks: not yet in PMIx_Init, in the job, finalized, gone without finalize.
using States = std::array<std::uint32_t, 4>;
inline constexpr std::array<const char*, 4> state_names{"starting", "connected", "finalized", "gone"};

/// What a counter is, as the servers number it: things that have happened, or how many there are now.
enum class Measure : std::uint8_t { events, bytes, things_now, bytes_now };

/// A published name, without its value.
struct Name {
  std::string key, nspace;  ///< of the publisher, as is the rank
  std::uint32_t rank = 0;
  std::uint32_t range = 0, persistence = 0;  ///< as the Standard numbers them
  std::uint64_t bytes = 0;                   ///< of its value
};

/// A part of the node segment, in bytes. size: addresses, of which only what is used takes memory.
struct Region {
  std::string name;
  std::uint64_t used = 0, size = 0;
};

struct Node {
  std::uint32_t number = 0;
  std::string host, state;  ///< state "here": what follows is told
  std::int64_t pid = 0;     ///< of its server
  std::string transport;
  std::uint64_t age_ms = 0;
  States ranks{};
  std::vector<std::uint64_t> counters;
  std::vector<Name> names{};    ///< that its server keeps; of many the first
  std::uint64_t all_names = 0;  ///< how many
  std::vector<Region> regions{};
  std::uint64_t server_kib = 0, clients_kib = 0;  ///< in memory now
};

struct Job {
  std::string nspace;
  std::uint32_t ranks = 0, nodes = 0;
  States states{};
  std::uint64_t fences = 0;
  std::string parent{};  ///< namespace of the process that has spawned it; empty: none has
  std::uint32_t parent_rank = 0;
  std::uint32_t attacher = 0, attacher_user = 0;  ///< process and user that have brought it; 0: none has
  bool is_detached = false;
};

struct RankRun {
  std::string nspace;
  bool is_all = true;
  std::uint32_t first = 0, last = 0;
};

struct MissingRank {
  std::uint32_t node = 0;
  std::string nspace;
  std::uint32_t rank = 0;
  std::int64_t pid = 0;
  std::uint32_t state = 0;  ///< index into States
};

struct Fence {
  std::string operation;  ///< empty: a fence; else of a group
  std::vector<RankRun> procs;
  std::uint64_t generation = 0, age_ms = 0;
  bool collects = false;
  std::string algorithm;
  std::uint32_t nodes = 0, entered = 0;
  std::uint64_t ranks = 0, arrived = 0;
  std::vector<MissingRank> missing;
  std::vector<std::uint32_t> silent, waits_for;
};

/// A group or a process set.
struct Group {
  std::string name;
  std::vector<RankRun> members;
};

/// Which algorithm a collective of all nodes takes, and the cheapest of the others. Times as the servers'
/// cost model has them.
struct Collective {
  std::uint64_t bytes = 0;  ///< of each node; 0: a barrier
  std::string algorithm;
  std::uint64_t cost_ns = 0;
  std::string other;
  std::uint64_t other_cost_ns = 0;
};

struct Cluster {
  std::string nspace;
  std::uint32_t asked = 0, size = 0;
  std::vector<std::string> counter_names;
  std::vector<Node> nodes;
  std::vector<Job> jobs;
  std::vector<Fence> fences;
  std::vector<Group> groups{}, sets{};
  std::vector<std::string> counter_texts{};       ///< what each counter counts
  std::vector<std::uint32_t> counter_measures{};  ///< the Measure of each
  std::vector<Collective> collectives{};          ///< empty: of one node
  std::string costs{};                            ///< of messages between its nodes

  const Node* node(std::uint32_t number) const;
  std::string host_of(std::uint32_t number) const;
  /// Of the counter at that place; of one that the server has not described: its name, events.
  const std::string& counter_text(std::size_t at) const;
  Measure counter_measure(std::size_t at) const;
};

/// "session", "namespace"; of a number that the Standard does not have: empty.
const char* range_name(std::uint32_t range) noexcept;
const char* persistence_name(std::uint32_t persistence) noexcept;

/// A field that the value lacks stays as it is above: another release may say less or more. Nothing: it is no
/// report at all.
std::optional<Cluster> read_cluster(const pmix_value_t& value);

}  // namespace weft::weftinfo
