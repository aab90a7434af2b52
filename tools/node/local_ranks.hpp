// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one job on this node: planned, started, signalled, and told of when they have ended. Node has
// them.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/host/job_info.hpp"
#include "tools/host/namespace.hpp"
#include "tools/host/server.hpp"
#include "tools/job/events.hpp"
#include "tools/job/interface.hpp"
#include "tools/job/node_start.hpp"
#include "tools/job/node_trace.hpp"
#include "tools/libraries/open_watch.hpp"
#include "tools/messages/messages.hpp"
#include "tools/node/descriptor_limit.hpp"
#include "tools/node/folders/node_folders.hpp"
#include "tools/node/held_ranks.hpp"
#include "tools/node/places/place_search.hpp"
#include "tools/node/processes.hpp"
#include "tools/node/program/environment.hpp"
#include "tools/node/program/program.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/placement/mapping.hpp"
#include "tools/placement/topology.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {

class LocalRanks {
 public:
  struct Streams {
    process::Fd input, output, error;
  };
  /// On the loop.
  struct Events {
    std::function<void(const job::RankEnd&)> ended;
    std::function<void(job::Rank)> connected_late;  ///< see host::Namespace::Events
    std::function<void(const job::AbortRequest&)> abort;
    std::function<void()> settled;  ///< no rank runs, and no event about one follows; once
    /// All ranks that are to stop there for a debugger have, or have ended. Once a point; after start().
    std::function<void(const job::Held&)> held{};
  };
  /// What all jobs of this process have in common, which outlives this object; and the job's mark.
  struct Home {
    const process::Spawner& spawner;
    std::uint32_t node;
    std::string mark;  ///< "NAME=VALUE", in the environment of all the job's processes here
    NodeFolders& folders;
    DescriptorLimit& limit;
  };

  LocalRanks(asio::io_context& loop, Home home, Events events);
  ~LocalRanks();  ///< with the job's folders, and its namespace at the PMIx server
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  /// Binds each rank. notes: receives lines for the user. Throws Stop.
  void plan(const channel::order::Launch& launch, const placement::RankTable& table,
            std::vector<std::string>& notes);

  /// Registers the job with the PMIx server, which has its launch information, and finds the programs, for
  /// which the ranks' environment has to be known. Throws Stop.
  void register_with(host::Server& server, job::Pmi pmi);

  /// Starts all ranks, or those before the first that cannot be started: then the line and the exit status
  /// for that.
  struct Failure {
    int exit_code;
    std::string line;
  };
  std::optional<Failure> start(const std::function<Streams(job::Rank)>& connect);

  /// Signals the process groups of these ranks; empty: of all.
  void send(int signal, const std::vector<job::Rank>& ranks = {}) const;

  // For Node.
  const std::string& mark() const noexcept { return home_.mark; }
  std::vector<PlaceSearch::Process> running_processes() const;
  /// The rank whose process had this pid, and has been reaped; nothing: it is none of these.
  std::optional<job::Rank> take_end(pid_t pid);
  void tell_end(const Processes::Ended& end);
  /// settled() comes, if no rank runs.
  void settle_if_over();
  bool is_watched = false;

  const host::JobMap& map() const noexcept { return map_; }
  const std::vector<job::Rank>& all() const noexcept { return ranks_; }
  pid_t pid(job::Rank rank) const noexcept { return processes_->pid(rank); }
  std::uint32_t running() const noexcept { return processes_ ? processes_->running() : 0; }
  std::uint32_t count_connected() const noexcept;
  /// The process manager that each app looks for, as this node's files tell.
  const std::vector<job::Interface>& interfaces() const noexcept { return interfaces_; }
  std::vector<std::string> bindings() const;  ///< a line for each rank
  /// How long the start took here; with what ranks did once settled() has come, where the order asks for it.
  const job::NodeStart& start_times() const noexcept { return start_times_; }
  /// The calls of the ranks, once settled() has come, where the order asks for them; else nothing.
  const std::optional<job::NodeTrace>& trace() const noexcept { return trace_; }
  /// Another PMIx library that was opened on this node while ranks ran; empty: none.
  std::string other_pmix() { return libraries_ ? libraries_->opened() : std::string(); }
  /// For --verbose: policy, and of the first rank of each app here the variables that weftrun does not have
  /// as well.
  std::vector<std::string> description() const;

 private:
  void read_processors(const std::string& list);
  placement::Topology load_topology() const;
  std::vector<placement::Binding> listed_bindings(hwloc_topology_t topology,
                                                  const std::vector<std::string>& core_lists) const;
  void name_session_folder(std::vector<std::string>& notes);
  void plan_app(std::size_t app, const std::string& library_path, job::Pmi pmi);
  Variables own_variables(std::size_t index_here) const;
  process::SpawnResult start_rank(std::size_t index_here, const std::function<Streams(job::Rank)>& connect,
                                  unsigned long descriptor_limit);
  RankIdentity identity_of(std::size_t index_here) const;
  messages::Where where(job::Rank rank) const;
  std::optional<Failure> start_all(const std::function<Streams(job::Rank)>& connect);
  void tell_settled();
  void ask_for_account(std::function<void()> then);
  void ask_for_trace(std::function<void()> then);
  bool stops_at(job::StopPoint point, job::Rank rank) const {
    return map_.apps[map_.app_of(rank)].stops.at(point).includes(rank);
  }
  void note_stopped(job::Rank rank);
  void take_held(job::Rank rank, const std::string& breakpoint);
  void release(std::vector<job::Rank> ranks);

  asio::io_context& loop_;
  const Home home_;
  Events events_;
  std::string shared_files_;          // of a virtual node: their folder
  std::string session_folder_;        // PMIX_NSDIR, if it can be made
  std::vector<unsigned> processors_;  // --cpu-list; empty: all
  host::JobMap map_;
  std::string binding_reason_;              // for the user
  std::uint32_t openmp_threads_ = 0;        // of each rank; 0: variables of OpenMP stay as they are
  bool merges_errors_ = false;              // standard error of ranks goes where their standard output goes
  std::vector<job::Rank> ranks_;            // of this node, ascending
  Variables inherited_;                     // weftrun's, as far as ranks get it
  std::vector<Variables> additions_;        // one an app: beyond what the server makes of inherited_
  std::vector<job::Interface> interfaces_;  // one an app
  std::vector<Command> commands_;           // one an app
  bool may_lose_library_ =
      false;  // an app may, so that it is watched: the kernel takes milliseconds to end that
  std::optional<libraries::OpenWatch> libraries_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<host::Namespace> namespace_;
  HeldRanks held_;
  std::set<job::Rank> stopped_;  ///< before their first instruction, and not released
  bool is_settling_ = false;
  job::NodeStart start_times_;
  std::uint64_t ordered_ = 0, started_ = 0;  ///< as job::NodeTrace
  std::uint64_t all_started_ = 0;            ///< as add_to() has it
  std::optional<job::NodeTrace> trace_;
  const std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

}  // namespace weft::node
