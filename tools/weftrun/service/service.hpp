// SPDX-License-Identifier: BSD-3-Clause
// weftrun --dvm: a cluster of daemons, and the jobs that attachers bring. Everything here runs on the thread
// that calls run().
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tools/io/terminal.hpp"
#include "tools/process/fd.hpp"
#include "tools/weftrun/launcher/console.hpp"
#include "tools/weftrun/launcher/ground.hpp"
#include "tools/weftrun/launcher/running_jobs.hpp"
#include "tools/weftrun/launcher/signal_watch.hpp"
#include "tools/weftrun/service/door.hpp"
#include "tools/weftrun/service/link.hpp"
#include "tools/weftrun/service/served_jobs.hpp"

namespace weft::weftrun::service {

class Service final : GroundWatcher, RunningJobsWatcher, io::TerminalWatcher {
 public:
  /// The others outlive this object. release, transport: as for Ground. ready: once, when the nodes are
  /// there.
  Service(const process::Spawner& spawner, const Options& options, Plan& plan, std::string release,
          std::string transport, std::function<void()> ready);

  /// Returns weftrun's exit status. Throws Stop if the service cannot be set up; no process is left then.
  int run();
  /// After run(): as for Ground.
  bool wants_tcp() const noexcept { return ground_ && ground_->wants_tcp(); }

 private:
  struct Visitor {
    std::unique_ptr<Link> link;
    std::uint64_t job = 0;  ///< that it has brought
    job::Attacher who;      ///< whether detached: of the job that it has brought
  };
  // Attachers.
  void welcome(base::Fd socket);
  void take(std::uint64_t visitor, Link::Message message);
  void on_relayed_signal(int signal);
  bool take_run(std::uint64_t visitor, Link::Message message);
  void dismiss_visitor(std::uint64_t visitor);
  template <class Message>
  void tell(std::uint64_t job, const Message& message);

  // The end.
  void close();
  void finish_if_over();
  bool has_nodes();
  void check_nodes();

  void on_daemon_connected(std::uint32_t) override {}
  void on_all_connected() override;
  void on_agent_line(const std::string& line) override { console_.pass_on(line); }
  void on_detail(const std::string& text) override { console_.print_detail(text); }
  void on_unused_node_lost(const std::string& line) override;
  void on_names_lost(const std::string& line) override { console_.print_result(line); }
  void on_all_exited() override;
  void on_run_launched(UserRun& run, const JobRun& first) override { served_.on_launched(run, first); }
  std::shared_ptr<UserRun> run_of_tools() override;
  void on_nodes_added() override { served_.start_waiting(); }
  void on_run_ending(UserRun& run) override { served_.on_ending(run); }
  void on_run_over(UserRun& run, int exit_code) override;
  void on_written() override {}
  void on_reader_lost(job::Stream) override {}
  void on_write_failed(job::Stream, int) override {}

  const process::Spawner& spawner_;
  const Options& options_;
  const Plan& plan_;
  const std::string release_, transport_;
  const std::function<void()> ready_;
  asio::io_context loop_{1};
  io::Terminal terminal_;
  Console console_;
  RunningJobs jobs_;
  ServedJobs served_;
  process::Fd nothing_;
  std::shared_ptr<UserRun> tools_;  ///< null: no tool has asked for a job yet
  std::optional<Ground> ground_;
  std::optional<Door> door_;
  std::optional<SignalWatch> signals_;
  std::map<std::uint64_t, Visitor> visitors_;  ///< as they came
  std::uint64_t last_visitor_ = 0, last_job_ = 0;
  bool is_closing_ = false, is_finishing_ = false;
  int exit_code_ = 0;
};

}  // namespace weft::weftrun::service
