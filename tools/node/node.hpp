// SPDX-License-Identifier: BSD-3-Clause
// What this process is to the jobs that have ranks on this node: the parent of their processes, which hears
// of each end, ends what they leave behind, and has a guard for its own end. Once a process, for any number
// of jobs; weftrun uses it for the ranks beside it, and a daemon for its own. On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/node/descriptor_limit.hpp"
#include "tools/node/folders/node_folders.hpp"
#include "tools/node/guard.hpp"
#include "tools/node/local_ranks.hpp"
#include "tools/node/orphan_reaper.hpp"
#include "tools/node/places/place_search.hpp"

namespace weft::node {

class Node {
 public:
  /// A child that is no rank has ended. May be empty.
  using OtherChild = std::function<void(pid_t, int wait_status)>;
  /// While the process has one thread. launch: its name, the same on all nodes; with the node's number it
  /// tells the node's processes from those of other virtual nodes on the machine. spawner: outlives this
  /// object. has_other_children: more that are no ranks will come (agents). Throws Stop (own_failure).
  Node(asio::io_context& loop, const process::Spawner& spawner, std::string launch, std::uint32_t number,
       bool has_other_children, OtherChild other_child);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// The ranks of one more job; valid until remove().
  LocalRanks& add(LocalRanks::Events events);
  /// When none of its ranks runs: with what they have left behind. Not inside one of its events.
  void remove(LocalRanks& job);
  /// Watches the ranks that the job has started: from now on its settled() may come.
  void watch(LocalRanks& job);
  /// Ends what the ranks of this job have left behind. When none of them runs.
  void reap_orphans(const LocalRanks& job);
  /// The same of all jobs, at the end of the process.
  void reap_orphans();

  /// Where the job's ranks that run here are. done: once, not inside of this call, after
  /// PlaceSearch::server_limit and stack_limit at the latest; not after remove().
  void find_places(const LocalRanks& job, bool wants_stacks, PlaceSearch::Done done);

  std::uint32_t number() const noexcept { return number_; }
  const Guard& guard() const noexcept { return guard_; }

 private:
  void await_child();
  void reap();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  const std::string launch_;
  const std::uint32_t number_;
  OtherChild other_child_;
  NodeFolders folders_;  // removed before the guard ends
  DescriptorLimit descriptor_limit_;
  Guard guard_;
  OrphanReaper orphan_reaper_;
  asio::signal_set child_signals_;
  bool is_watching_ = false;
  std::uint32_t last_job_ = 0;
  std::vector<std::unique_ptr<LocalRanks>> jobs_;
  std::multimap<const LocalRanks*, std::shared_ptr<PlaceSearch>> searches_;  ///< by job
};

}  // namespace weft::node
