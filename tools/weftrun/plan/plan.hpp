// SPDX-License-Identifier: BSD-3-Clause
// All that is decided before anything is started: which nodes, which ranks on each, how daemons get there.
// The plan follows from the options, the environment (Slurm, WEFT_SSH, WEFT_WEFTD) and this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/allocation/hosts.hpp"
#include "tools/launch/agent.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun {

struct PlannedNode {
  std::string name;
  std::uint32_t slots = 1;
  bool here = false;      ///< this machine itself, no virtual node: weftrun serves it
  job::KeyValues keys{};  ///< its own, which go before those of all nodes
};

struct Plan {
  std::vector<PlannedNode> nodes;        ///< those that get ranks; their numbers are their bindings here
  std::vector<std::uint32_t> ranks;      ///< of each app, final
  placement::Distribution distribution;  ///< over `nodes`
  std::optional<std::uint32_t> own;      ///< the node that weftrun serves
  bool alone = false;                    ///< one node, and it is this one: no daemon, no fabric, no key
  bool one_machine = false;              ///< virtual nodes: all share the processors of this machine
  bool oversubscribed = false;           ///< a node has more ranks than slots
  bool may_oversubscribe = false;        ///< by an option, or since the slots are this program's own count
  launch::Agent agent;                   ///< for the nodes but `own`; not filled in when `alone`
  std::vector<std::string> unused;       ///< nodes of the host list that get no rank
  std::vector<PlannedNode> spares;       ///< of these, those that a spawned job may go to: behind `nodes`
  std::vector<PlannedNode> allocation;   ///< all nodes, those without ranks too
  std::vector<std::string> core_lists;   ///< with a rank file: of each rank, what it says after slot=
  std::vector<std::string> because;      ///< one sentence a decision, for --explain
  job::KeyValues node_keys;              ///< of all nodes

  std::uint32_t universe = 0;  ///< slots of all nodes, the spares too
  std::uint32_t room = 0;      ///< so many nodes may be added: their numbers are kept for them
  /// The launcher's number: that of the node that it serves, or the next after the nodes'.
  std::uint32_t launcher_number() const noexcept { return own ? *own : most_nodes(); }
  std::uint32_t servers() const noexcept { return most_nodes() + (own ? 0 : 1); }
  /// With those that may be added.
  std::uint32_t most_nodes() const noexcept { return all_nodes() + room; }
  /// With the spares.
  std::uint32_t all_nodes() const noexcept {
    return static_cast<std::uint32_t>(nodes.size() + spares.size());
  }
  const PlannedNode& node(std::size_t number) const {
    return number < nodes.size() ? nodes[number] : spares[number - nodes.size()];
  }
};

/// Nodes of a running plan, the last of its spares; those that it has are left as they are. is_lost: tells of
/// a node, by number. Throws Stop (usage): there is no room, it can be no node of this run, or all nodes have
/// too much of keys then.
void add_nodes(Plan& plan, const allocation::Hosts& hosts, const std::function<bool(std::uint32_t)>& is_lost,
               const std::function<bool(const std::string&)>& is_here);

/// The surroundings that a plan depends on beside the options.
struct PlanContext {
  std::function<std::optional<std::string>(const char*)> variable;  ///< of the environment
  std::string host;                                                 ///< this machine's name
  std::uint32_t cores = 1;                                          ///< of this machine that weftrun may use
  std::uint32_t threads = 1;                                        ///< the same, of hardware threads
  std::string program_directory;                                    ///< of weftrun itself
  std::function<bool(const std::string&)> is_here;                  ///< does this name mean this machine?
  /// processors: those of this machine that may be used, by --cpu-list; empty: all.
  static PlanContext real(const std::vector<unsigned>& processors = {});
};

/// Throws Stop (usage) with one line that says what does not fit and what to do.
Plan make_plan(const Options& options, const PlanContext& plan_context);
/// The same of a service: all nodes are there, and no rank.
Plan make_service_plan(const Options& options, const PlanContext& plan_context);

}  // namespace weft::weftrun
