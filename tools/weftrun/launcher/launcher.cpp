// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// For daemons to exit when everything is over; then they get SIGTERM and, as much later, SIGKILL.
constexpr std::chrono::seconds leaving_time{2};

base::Secret new_key() try {
  return base::Secret::random(launch::StartMessage::key_bytes);
} catch (const std::system_error& error) {
  throw Stop(exit_status::own_failure, messages::no_key(error.code().value()));
}

}  // namespace

Launcher::Launcher(const process::Spawner& spawner, const Options& options, const Plan& plan,
                   std::string release, std::string transport)
    : spawner_(spawner),
      options_(options),
      plan_(plan),
      release_(std::move(release)),
      transport_(std::move(transport)) {}

int Launcher::run() {
  process::keep_crashes_deadly();
  process::HeldSignals held;
  make_job();
  start_server();
  served_ = Clock::now();
  if (cluster_) console_->print_detail(fmt::format("other nodes are reached by {}", cluster_->way()));
  job_->print_plan();
  job_->begin();
  held.restore_dispositions();
  signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { job_->on_end_signal(signal); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  held.release();
  if (cluster_) {
    cluster_->start();
    constexpr std::chrono::seconds short_start{3};
    if (::isatty(STDERR_FILENO) == 1) show_progress(short_start);
  } else {
    job_->start();
  }
  loop_.run();
  if (node_) node_->reap_orphans();
  print_times();
  job_->print_end();
  return job_->exit_code();
}

// ---- set-up

void Launcher::make_job() {
  io::TerminalWatcher& terminal_watcher = *this;  // bases that emplace may not see
  JobRunWatcher& job_watcher = *this;
  terminal_.emplace(loop_, terminal_watcher);
  console_.emplace(*terminal_, options_.quiet, options_.verbose);
  job_.emplace(JobRun::Place{loop_, *console_, *terminal_, job_watcher}, options_, plan_);
  // UCX prints its complaints on standard output, which is the ranks'. The job has copied their environment
  // before.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  if (!plan_.own) return;
  // While there is one thread.
  node_ = std::make_unique<node::Node>(loop_, spawner_, job_->nspace(), *plan_.own, !plan_.alone,
                                       [this](pid_t pid, int status) {
                                         if (cluster_) cluster_->on_child_exit(pid, status);
                                       });
  job_->plan_here(*node_);
}

void Launcher::start_server() {
  host::ServerIdentity identity;
  identity.nspace = job_->nspace() + "-weftrun";
  identity.number = plan_.alone ? 0 : plan_.launcher_number();
  identity.servers = plan_.alone ? 1 : plan_.servers();
  identity.host = plan_.own ? plan_.nodes[*plan_.own].name : allocation::OwnNames::here().host;
  identity.is_on_one_host = plan_.one_machine;
  identity.transport = transport_;
  if (!plan_.alone) identity.key = new_key();
  server_ = std::make_unique<host::Server>(identity);
  job_->register_with(*server_);
  if (!plan_.alone) start_daemons(std::move(identity));
}

void Launcher::start_daemons(host::ServerIdentity identity) {
  cluster::Cluster::Setup setup{std::move(identity), {}, plan_.own, plan_.agent, release_};
  for (const auto& node : plan_.nodes) setup.hosts.push_back(node.name);
  cluster::ClusterWatcher& watcher = *this;  // a base that make_unique may not see
  cluster_ = std::make_unique<cluster::Cluster>(loop_, spawner_, std::move(setup), watcher);
  job_->add_to(*cluster_);
}

/// With daemons weftrun itself is not stopped: a launcher that does not answer would be lost to them.
void Launcher::on_relayed_signal(int signal) {
  job_->on_relayed_signal(signal);
  if (signal == SIGTSTP && !cluster_) ::kill(::getpid(), SIGSTOP);
}

// ---- the cluster

void Launcher::on_all_connected() {
  job_->start();
}

/// For a terminal only: a pipe or a file gets what has happened, not what has not yet.
void Launcher::show_progress(std::chrono::seconds after) {
  progress_.start(after, [this] {
    if (!job_->is_starting()) return;
    const std::chrono::duration<double> waited = Clock::now() - served_;
    const auto now = cluster_->progress();
    console_->print_result(
        messages::still_starting(now.daemons, now.reported, now.started, now.missing, waited.count()));
    constexpr std::chrono::seconds pause{10};
    show_progress(pause);
  });
}

void Launcher::on_agent_line(const std::string& line) {
  console_->pass_on(line);
}

void Launcher::on_detail(const std::string& text) {
  console_->print_detail(text);
}

void Launcher::on_unused_node_lost(const std::string& line) {
  console_->print_result(line);
}

void Launcher::on_all_exited() {
  loop_.stop();
}

// ---- the terminal

void Launcher::on_written() {
  job_->on_written();
}

/// The ranks' ends of the stream are closed, so that all is as without weftrun: a rank that writes to a
/// stream without a reader gets SIGPIPE, and decides.
void Launcher::on_reader_lost(job::Stream stream) {
  job_->on_reader_lost(stream);
  console_->print_detail(messages::reader_gone(name_of(stream)));
}

void Launcher::on_write_failed(job::Stream stream, int error) {
  job_->on_output_lost(name_of(stream), error);
}

// ---- the end

void Launcher::on_job_ending() {
  if (cluster_) cluster_->dismiss();
}

void Launcher::on_job_over() {
  cluster_ ? cluster_->finish(leaving_time) : loop_.stop();
}

void Launcher::print_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  console_->print_detail(
      fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                  since(served_), since(job_->all_started()), since(Clock::now())));
}

}  // namespace weft::weftrun
