// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this node: planned, started, signalled, collected, and what they leave behind ended. The same for
// weftrun, with the ranks beside it, and for a daemon.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/host/job_info.hpp"
#include "tools/host/server.hpp"
#include "tools/messages/messages.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/process/fd.hpp"
#include "tools/ranks/environment.hpp"
#include "tools/ranks/processes.hpp"
#include "tools/ranks/remains.hpp"
#include "tools/ranks/shared_files.hpp"

namespace weft::ranks {

class LocalRanks {
 public:
  struct Streams {
    process::Fd input, output, error;
  };
  struct Ended {
    job::Rank rank;
    int wait_status;  ///< as waitpid tells it
    bool connected, finalized;
  };
  /// On the loop.
  struct Events {
    std::function<void(const Ended&)> ended;
    std::function<void(job::Rank)> connected_late;  ///< as Server::Events
    std::function<void(const host::AbortRequest&)> abort;
    std::function<void()> settled;  ///< none lives, and nothing more is to be told of them; once
    /// A child that is no rank has ended: was it known? May be empty.
    std::function<void(pid_t, int wait_status)> other_child;
  };

  /// While the process has one thread. session: the launch's name, the same on all nodes; it and the number tell the
  /// node's processes from those of others on the same machine. spawner: outlives this object.
  LocalRanks(asio::io_context& loop, const process::Spawner& spawner, const std::string& session,
             std::uint32_t node, bool has_other_children, Events events);

  /// Decides where each rank goes and finds the programs. notes: receives what the user should know. Throws Stop.
  void plan(const channel::order::Launch& launch, const placement::RankTable& table,
            std::vector<std::string>& notes);

  /// NULL unless ranks are bound; for the PMIx server.
  hwloc_topology_t topology() const noexcept { return topology_.get(); }

  /// The PMIx server learns of the job. Throws Stop. It must end before this does.
  void admit(host::Server& server);

  /// Starts them all, or up to the first that cannot be: then what to say and weftrun's exit status.
  struct Failure {
    int exit_code;
    std::string line;
  };
  std::optional<Failure> start(const std::function<Streams(job::Rank)>& connect);
  /// Those that have been started are all there will be: settled() may come. After start().
  void watch();

  /// To the process groups of those named that live; none named: of all.
  void send(int signal, const std::vector<job::Rank>& ranks = {}) const;
  /// What they left behind: when none lives.
  void end_orphans();

  const host::JobMap& map() const noexcept { return map_; }
  const std::vector<job::Rank>& all() const noexcept { return ranks_; }
  pid_t pid(job::Rank rank) const noexcept { return processes_->pid(rank); }
  std::uint32_t living() const noexcept { return processes_ ? processes_->living() : 0; }
  std::uint32_t count_connected() const noexcept;
  std::vector<std::string> bindings() const;  ///< a line for each rank
  /// For --verbose: policy, and what the first rank has in its environment beside `inherited`.
  std::vector<std::string> description(const Variables& inherited) const;

 private:
  process::SpawnResult start_rank(std::size_t index_here, const std::function<Streams(job::Rank)>& connect,
                                  unsigned long descriptor_limit);
  RankIdentity identity_of(std::size_t index_here) const;
  messages::Where where(job::Rank rank) const;
  void await_child();
  void collect();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  std::uint32_t node_;
  Events events_;
  std::string mark_;  // "NAME=VALUE" that each of their processes has in its environment
  std::string shared_files_path_;
  Guard guard_;
  std::optional<SharedFiles> shared_files_;  // of a virtual node; it goes before the guard does
  Orphans orphans_;
  asio::signal_set child_signals_;
  placement::Topology topology_;
  host::JobMap map_;
  std::vector<job::Rank> ranks_;         // of this node, ascending
  std::vector<Variables> environments_;  // one an app
  std::vector<std::string> programs_;    // one an app: the path to execute
  std::unique_ptr<Processes> processes_;
  host::Server* server_ = nullptr;
  bool is_watched_ = false, is_settling_ = false;
};

}  // namespace weft::ranks
