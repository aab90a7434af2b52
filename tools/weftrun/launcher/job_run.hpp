// SPDX-License-Identifier: BSD-3-Clause
// One job as it runs: tells it what happens to its ranks, here and on other nodes, and to their output, and
// carries out what it wants done (tools/jobs). Everything here runs on the loop.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/cluster/cluster.hpp"
#include "tools/host/server.hpp"
#include "tools/io/input/input.hpp"
#include "tools/io/output.hpp"
#include "tools/jobs/job.hpp"
#include "tools/messages/place_messages.hpp"
#include "tools/node/node.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/grace_timer.hpp"
#include "tools/weftrun/launcher/records/job_records.hpp"
#include "tools/weftrun/launcher/standard_io.hpp"
#include "tools/weftrun/launcher/user_run.hpp"
#include "tools/weftrun/plan/launch_message.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class JobRun;

/// May be called from inside a call of JobRun.
class JobRunWatcher {
 public:
  virtual void on_job_launched(JobRun& job) = 0;  ///< all its ranks run
  virtual void on_job_runs(JobRun& job) = 0;      ///< all its ranks run, and all nodes that are to know it do
  virtual void on_job_known(JobRun& job) = 0;     ///< by a node that has become its witness
  virtual void on_job_stops(JobRun& job) = 0;     ///< its ranks are ended, for exit_code()
  virtual void on_job_ending(JobRun& job) = 0;    ///< no rank runs, and its daemons have been told
  virtual void on_job_over(JobRun& job) = 0;      ///< nothing is left to do for it

 protected:
  ~JobRunWatcher() = default;
};

class JobRun final : cluster::FarRanksWatcher {
 public:
  /// What the process has for its jobs; outlives them.
  struct Place {
    asio::io_context& loop;
    UserRun& run;  ///< that the job is of
    JobRunWatcher& watcher;
    StandardIo& streams;
  };
  /// Throws Stop: its files cannot be made.
  JobRun(const Place& place, const Options& options, const Plan& plan, const JobName& name = {});

  // Set-up, in this order (job_run_setup.cpp). Each throws Stop.
  /// node: null: weftrun has none. cluster: null: there are no other nodes.
  void set_up(node::Node* node, host::Server& server, cluster::Cluster* cluster);
  /// Its standard input; and from now on its time runs.
  void begin();
  /// Starts its ranks; with other nodes when all daemons are connected. needs_contacts: some of these do not
  /// know each other yet.
  void start(bool needs_contacts = true);

  // What happens to the process.
  void on_end_signal(int signal);
  /// SIGQUIT: the user asks where its ranks are; others are for these.
  void on_relayed_signal(int signal);
  void on_written();  ///< the terminal has written all that has come
  void on_reader_lost(job::Stream stream);
  void on_output_lost(const std::string& what, int error);
  /// Its own time, or that of its start: it ends, once its ranks' places are printed.
  void on_time_up(std::chrono::milliseconds limit);
  /// ranks: those that are meant; none: all.
  void control(const job::ControlRequest& request, const std::vector<job::Rank>& ranks);
  /// A job that it is connected with is ended for that.
  void end_with(const JobRun& other);
  /// A node that had no daemon when the job was launched is to know it.
  void add_witness(std::uint32_t node);
  /// All nodes know it that are to know it, or are lost.
  bool is_known_everywhere() const { return far_ == nullptr || far_->is_known_everywhere(); }
  /// Takes the job from its node and its cluster, which stay; after on_job_over(), not inside of it.
  void leave();

  const std::string& nspace() const noexcept { return launch_.nspace; }
  const placement::RankTable& table() const noexcept { return table_; }
  const job::App& app_of(job::Rank rank) const { return launch_.apps[table_.app_of(rank)]; }
  const jobs::Job& job() const noexcept { return job_; }
  /// What it leaves for its user.
  JobRecords& records() noexcept { return records_; }

 private:
  static jobs::Job::Plan plan_of(const Options& options, const Plan& plan,
                                 const channel::order::Launch& launch);
  io::Output::Settings output_settings(const Options& options, const JobName& name) const;
  void plan_here(node::Node& node);
  void register_with(host::Server& server);
  job::NodeKey addresses() const;
  bool is_starting() const noexcept { return job_.state() == jobs::State::starting; }
  bool has_ranks_here() const { return plan_.own && !table_.ranks_on(*plan_.own).empty(); }
  void start_own_ranks();
  void make_input();
  io::PushedInput::Others push_to_others();
  std::optional<std::uint32_t> far_node_of(job::Rank rank) const;
  void tell_if_all_run();
  bool is_before_its_end() const noexcept {
    return job_.state() == jobs::State::starting || job_.state() == jobs::State::running;
  }
  void on_own_rank_ended(const job::RankEnd& ended);

  void end_for_time(std::chrono::milliseconds limit);

  // Where its ranks are (job_run_places.cpp).
  using PlacesOnNodes = std::vector<messages::PlacesOnNode>;
  using PlacesThen = std::function<void(const PlacesOnNodes& nodes)>;
  void look_for_stuck();
  void find_places(bool wants_stacks, PlacesThen then);
  messages::PlacesOnNode places_on(std::uint32_t node, const std::optional<job::Places>& places) const;
  void report_places(std::function<void()> then);

  // Reports of daemons (job_run_nodes.cpp).
  void on_node_started(std::uint32_t node, const channel::report::Started& report) override;
  void on_known_everywhere() override;
  void on_output(channel::report::Output report, channel::Reply written) override;
  void on_ended(const job::RankEnd& ended) override;
  void on_connected_late(job::Rank rank) override;
  void on_aborted(const job::AbortRequest& request) override;
  void on_held(std::uint32_t node, const job::Held& held) override;
  void on_input_unwanted(std::uint32_t node) override;
  void on_node_settled(std::uint32_t node) override;
  void on_start_times(std::uint32_t node, const job::NodeStart& start) override;
  void on_trace(std::uint32_t node, job::NodeTrace trace) override;
  void on_other_pmix(std::uint32_t node, const std::string& file) override;
  void on_node_lost(std::uint32_t node, const std::string& line) override;

  // What the job wants done.
  void carry_out(const jobs::Orders& orders);
  void do_order(const jobs::Say& order);
  void do_order(const jobs::Announce& order);
  void do_order(const jobs::AnnounceHeld& order);
  void do_order(jobs::Action action);
  void do_order(const jobs::EndRanks& order);
  void do_order(const jobs::Hold& order);
  void do_order(const jobs::LookForStrangers&);
  void say_if_library_is_lost();
  void send(int signal, const std::vector<job::Rank>& ranks = {});
  void stop_ranks();
  void abandon();
  void drain();
  void dismiss(const std::optional<job::Ending>& ending);
  void conclude();
  void start_grace(std::chrono::seconds time);

  const Place place_;
  const Plan plan_;
  const std::optional<std::chrono::milliseconds> limit_;        ///< --timeout
  const std::optional<std::chrono::milliseconds> stuck_after_;  ///< --report-stuck
  const bool goes_on_;                                          ///< --on-failure continue
  const bool is_one_of_many_;                                   ///< all nodes are to know it
  const placement::RankTable table_;
  channel::order::Launch launch_;
  jobs::Job job_;
  JobRecords records_;
  io::Output output_;
  node::Node* node_ = nullptr;
  node::LocalRanks* local_ = nullptr;  // of node_; null: weftrun has no node. Perhaps without a rank
  host::Server* server_ = nullptr;
  cluster::Cluster* cluster_ = nullptr;
  cluster::FarRanks* far_ = nullptr;             // of cluster_; null: it runs on this node alone
  std::optional<io::PushedInput> pushed_input_;  // null: its input is weftrun's
  std::optional<io::Input> input_;
  GraceTimer time_, grace_, hold_, stuck_;
  std::vector<job::Interface> interfaces_;  // of the apps, as a daemon sees them
  std::string other_pmix_, other_pmix_host_;
  bool time_is_up_ = false, is_told_ = false, is_stuck_ = false;
  /// For what comes later than this object.
  const std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

}  // namespace weft::weftrun
