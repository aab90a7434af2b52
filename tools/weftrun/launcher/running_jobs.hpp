// SPDX-License-Identifier: BSD-3-Clause
// The jobs of a run: the one that the user started, and those that processes have asked for (PMIx_Spawn).
// They share nodes, terminal, signals and the run's time; each has a life of its own. Everything here runs on
// the loop.
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
#include "tools/weftrun/plan/spawn_plan.hpp"

namespace weft::weftrun {

class RunningJobsWatcher {
 public:
  virtual void on_all_ending() = 0;  ///< no process of any job runs
  virtual void on_all_over() = 0;    ///< nothing is left to do; no job comes any more

 protected:
  ~RunningJobsWatcher() = default;
};

class RunningJobs final : JobRunWatcher {
 public:
  /// What the jobs are made of and go to; outlives them.
  struct Place {
    asio::io_context& loop;
    Console& console;
    io::Terminal& terminal;
    const Options& options;  ///< of the job that the user started
    const Plan& plan;        ///< the same
    RunningJobsWatcher& watcher;
    StandardIo& streams;
  };
  /// Makes the first job. Throws Stop.
  explicit RunningJobs(const Place& place);

  JobRun& first() noexcept { return *runs_.front().job; }
  /// Where jobs that are asked for go to; null: there is none.
  void serve(host::Server& server, node::Node* node, cluster::Cluster* cluster);

  /// REQUIRES: serve(). node: that of the parent. reply: once, perhaps at once.
  using Reply = std::function<void(const job::Result&)>;
  void spawn(std::optional<std::uint32_t> node, const job::SpawnRequest& request, const Reply& reply);
  job::Result control(const job::ControlRequest& request);
  /// Processes of these jobs: an end of one that fails is the others', too.
  void on_connected(const std::vector<std::string>& nspaces, bool are_connected);

  // What happens to the process.
  void on_end_signal(int signal);
  void on_relayed_signal(int signal);
  void on_written();
  void on_reader_lost(job::Stream stream);
  void on_output_lost(const std::string& what, int error);

  /// The first job's, or that of the first other that has failed.
  int exit_code() const noexcept;

 private:
  struct Run {
    std::unique_ptr<JobRun> job;
    std::optional<job::ProcessName> parent{};
    bool tells_start = false;    ///< the parent
    bool is_controlled = false;  ///< ended by a process's wish, which is no failure of the run
    Reply reply{};               ///< of PMIx_Spawn; empty: it has been replied to
    std::unique_ptr<GraceTimer> start_limit{};
    bool is_ending = false, is_over = false;
  };
  void on_job_launched(JobRun& job) override;
  void on_job_runs(JobRun& job) override;
  void on_job_known(JobRun&) override { serve_waiting(); }
  void on_job_stops(JobRun& job) override;
  void on_job_ending(JobRun& job) override;
  void on_job_over(JobRun& job) override;

  JobRun* job_named(const std::string& nspace);
  Run& run_of(const JobRun& job);
  template <class Act>
  void each(Act&& act);
  Options options_for(const job::SpawnRequest& request, const JobRun& parent) const;
  std::vector<NodeNow> nodes_now() const;
  std::vector<std::uint32_t> spares_in(const Plan& plan) const;
  struct Waiting {
    std::optional<std::uint32_t> node;
    job::SpawnRequest request;
    Reply reply;
  };
  void bring_in(const std::vector<std::uint32_t>& spares, Waiting waiting);
  void serve_waiting();
  void start(const job::SpawnRequest& request, const Options& options, const Plan& plan, const Reply& reply);
  bool is_here(const job::ProcessName& process);
  void limit_start(Run& run, std::chrono::seconds time);
  bool are_connected(const std::string& one, const std::string& other) const;
  void forget(const std::string& nspace);

  const Place place_;
  host::Server* server_ = nullptr;
  node::Node* node_ = nullptr;
  cluster::Cluster* cluster_ = nullptr;
  std::vector<Run> runs_;                              ///< the first job is the first
  std::multiset<std::vector<std::string>> connected_;  ///< namespaces of each PMIx_Connect
  std::vector<Waiting> waiting_;                       ///< for nodes that have come to know all jobs
  bool has_new_nodes_ = false;                         ///< the others do not know them yet
  std::uint32_t last_number_ = 0;
  int first_failure_ = 0;  ///< of a job that was asked for and ran
  bool is_over_ = false;
  const JobRun::Clock::time_point begun_ = JobRun::Clock::now();
};

}  // namespace weft::weftrun
