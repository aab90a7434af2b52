// SPDX-License-Identifier: BSD-3-Clause
// The jobs of this process: those that users have started, and those that processes of these have asked for
// (PMIx_Spawn). They share nodes; those of one run (user_run.hpp) share streams, signals, time and an end.
// Each has a life of its own. Everything here runs on the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/weftrun/launcher/job_run.hpp"
#include "tools/weftrun/launcher/standard_io.hpp"
#include "tools/weftrun/launcher/user_run.hpp"
#include "tools/weftrun/plan/spawn_plan.hpp"

namespace weft::weftrun {

/// May be called from inside a call of RunningJobs.
class RunningJobsWatcher {
 public:
  virtual void on_run_launched(UserRun& run, const JobRun& first) = 0;  ///< all ranks of its first job run
  /// That the jobs which tools ask for are of; null: there is none.
  virtual std::shared_ptr<UserRun> run_of_tools() = 0;
  virtual void on_nodes_added() = 0;                          ///< that start() has waited for
  virtual void on_run_ending(UserRun& run) = 0;               ///< no process of it runs
  virtual void on_run_over(UserRun& run, int exit_code) = 0;  ///< nothing is left to do for it

 protected:
  ~RunningJobsWatcher() = default;
};

class RunningJobs final : public UserRunWatcher, JobRunWatcher {
 public:
  /// What the jobs go to; outlives them.
  struct Place {
    asio::io_context& loop;
    Plan& plan;  ///< of all nodes, and those that jobs add; with ranks: of the first job
    RunningJobsWatcher& watcher;
    std::function<void(const std::string& line)> say;  ///< about no run
  };
  explicit RunningJobs(const Place& place);

  /// The standard streams of all jobs, for processes and tools that want them.
  StandardIo& streams() noexcept { return streams_; }

  /// The job that the process was started for; its caller sets it up. Throws Stop.
  JobRun& add_first(std::shared_ptr<UserRun> run);
  /// Where all others go to; null: there is none.
  void serve(host::Server& server, node::Node* node, cluster::Cluster* cluster);

  // REQUIRES: serve().
  /// The nodes that this job's options add (--add-host). Throws Stop (usage).
  void add_nodes(const Options& options);
  /// On the slots that are free. Null: there is no room now, or nodes are to come. Throws Stop: there never
  /// is, or the job cannot be set up; nothing runs.
  const JobRun* start(const std::shared_ptr<UserRun>& run);
  /// Takes all that is left of a run; after on_run_over(), not inside of it.
  void forget(const UserRun& run);

  bool is_empty() const noexcept { return jobs_.empty(); }

  /// node: that of the parent, a process of a job or a tool. reply: once, perhaps at once.
  using Reply = std::function<void(const job::Result&)>;
  void spawn(std::optional<std::uint32_t> node, const job::SpawnRequest& request, const Reply& reply);
  job::Result control(const job::ControlRequest& request);
  /// Processes of these jobs: an end of one that fails is the others', too.
  void on_connected(const std::vector<std::string>& nspaces, bool are_connected);

  // What the user of a run does.
  void on_end_signal(const UserRun& run, int signal);
  void on_relayed_signal(const UserRun& run, int signal);

 private:
  struct Entry {
    std::shared_ptr<UserRun> run;
    std::unique_ptr<JobRun> job;
    std::optional<job::ProcessName> parent{};
    bool tells_start = false;    ///< the parent
    bool are_daemons = false;    ///< of a debugger: they take no slots, and their failure is none of the run
    bool is_controlled = false;  ///< ended by a process's wish, which is no failure of the run
    Reply reply{};               ///< of PMIx_Spawn; empty: it has been replied to
    std::unique_ptr<GraceTimer> start_limit{};
    bool is_ending = false, is_over = false;
  };
  void on_written(UserRun& run) override;
  void on_reader_lost(UserRun& run, job::Stream stream) override;
  void on_write_failed(UserRun& run, job::Stream stream, int error) override;

  void on_job_launched(JobRun& job) override;
  void on_job_runs(JobRun& job) override;
  void on_job_known(JobRun&) override { serve_waiting(); }
  void on_job_stops(JobRun& job) override;
  void on_job_ending(JobRun& job) override;
  void on_job_over(JobRun& job) override;

  JobRun* job_named(const std::string& nspace);
  Entry& entry_of(const JobRun& job);
  template <class Act>
  void each(const UserRun& run, Act&& act);
  Options options_for(const job::SpawnRequest& request, const UserRun& run, const JobRun* parent) const;
  std::shared_ptr<UserRun> run_of(const job::ProcessName& process, std::optional<std::uint32_t> node);
  std::vector<NodeNow> nodes_now() const;
  std::optional<Plan> plan_now(Options options) const;
  bool is_lost(std::uint32_t node) const;
  /// Nodes of its ranks that no order reaches yet.
  std::vector<std::uint32_t> awaited_in(const Plan& plan) const;
  /// Waits for nodes: what it does when they are there, or lost, and know all jobs.
  using Waiting = std::function<void()>;
  void bring_in(const std::vector<std::uint32_t>& nodes, Waiting waiting);
  void spawn_others(std::optional<std::uint32_t> node, std::vector<job::SpawnRequest> others,
                    const job::Result& first, const Reply& reply);
  void spawn_job(std::optional<std::uint32_t> node, const job::SpawnRequest& request, const Reply& reply,
                 bool adds_nodes = true);
  Plan plan_for(const job::SpawnRequest& request, const Options& options);
  void serve_waiting();
  void start_spawned(const std::shared_ptr<UserRun>& run, const job::SpawnRequest& request,
                     const Options& options, const Plan& plan, const Reply& reply);
  Entry make(const std::shared_ptr<UserRun>& run, const Options& options, const Plan& plan, JobName name);
  JobRun& add(Entry entry);
  bool is_here(const job::ProcessName& process);
  void limit_start(Entry& entry, std::chrono::seconds time);
  bool are_connected(const std::string& one, const std::string& other) const;
  void forget(const std::string& nspace);

  const Place place_;
  StandardIo streams_;
  host::Server* server_ = nullptr;
  node::Node* node_ = nullptr;
  cluster::Cluster* cluster_ = nullptr;
  std::vector<Entry> jobs_;                            ///< of a run: the user's is the first
  std::multiset<std::vector<std::string>> connected_;  ///< namespaces of each PMIx_Connect
  std::vector<Waiting> waiting_;                       ///< for nodes that have come to know all jobs
  bool has_new_nodes_ = true;                          ///< the others do not know them yet
  std::uint32_t last_number_ = 0;
};

}  // namespace weft::weftrun
