// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
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
  jobs_->first().print_plan();
  jobs_->first().begin();
  held.restore_dispositions();
  signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { jobs_->on_end_signal(signal); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  held.release();
  if (cluster_) {
    cluster_->start();
    constexpr std::chrono::seconds short_start{3};
    if (::isatty(STDERR_FILENO) == 1) show_progress(short_start);
  } else {
    jobs_->first().start();
  }
  loop_.run();
  if (node_) node_->reap_orphans();
  print_times();
  jobs_->first().print_end();
  return jobs_->exit_code();
}

// ---- set-up

void Launcher::make_job() {
  io::TerminalWatcher& terminal_watcher = *this;  // bases that emplace may not see
  RunningJobsWatcher& jobs_watcher = *this;
  terminal_.emplace(loop_, terminal_watcher);
  console_.emplace(*terminal_, options_.quiet, options_.verbose);
  streams_.emplace(loop_, *console_, [this] { on_written(); });
  jobs_.emplace(RunningJobs::Place{loop_, *console_, *terminal_, options_, plan_, jobs_watcher, *streams_});
  // UCX prints its complaints on standard output, which is the ranks'. The job has copied their environment
  // before.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  if (!plan_.own) return;
  // While there is one thread.
  node_ = std::make_unique<node::Node>(loop_, spawner_, jobs_->first().nspace(), *plan_.own, !plan_.alone,
                                       [this](pid_t pid, int status) {
                                         if (cluster_) cluster_->on_child_exit(pid, status);
                                       });
  jobs_->first().plan_here(*node_);
}

void Launcher::start_server() {
  host::ServerIdentity identity;
  identity.nspace = jobs_->first().nspace() + "-weftrun";
  identity.number = plan_.alone ? 0 : plan_.launcher_number();
  identity.servers = plan_.alone ? 1 : plan_.servers();
  identity.host = plan_.own ? plan_.nodes[*plan_.own].name : allocation::OwnNames::here().host;
  identity.is_on_one_host = plan_.one_machine;
  identity.transport = transport_;
  if (!plan_.alone) identity.key = new_key();
  server_ = std::make_unique<host::Server>(identity, events_of_server());
  jobs_->first().register_with(*server_);
  if (!plan_.alone) start_daemons(std::move(identity));
  jobs_->serve(*server_, node_.get(), cluster_.get());
  streams_->serve(cluster_.get());
}

host::Server::Events Launcher::events_of_server() {
  host::Server::Events events;
  events.spawn = [this](job::SpawnRequest request, RunningJobs::Reply reply) {
    asio::post(loop_, [this, request = std::move(request), reply = std::move(reply)] {
      jobs_->spawn(plan_.own, request, reply);
    });
  };
  events.control = [this](job::ControlRequest request, RunningJobs::Reply reply) {
    asio::post(loop_, [this, request = std::move(request), reply = std::move(reply)] {
      reply(jobs_->control(request));
    });
  };
  streams_->take_calls(events);
  events.connected = [this](std::vector<std::string> nspaces, bool are_connected) {
    asio::post(loop_,
               [this, nspaces = std::move(nspaces), are_connected] { on_connected(nspaces, are_connected); });
  };
  return events;
}

void Launcher::start_daemons(host::ServerIdentity identity) {
  cluster::Cluster::Setup setup{std::move(identity), {},          plan_.spares.size(),
                                plan_.own,           plan_.agent, release_};
  for (std::uint32_t i = 0; i < plan_.all_nodes(); ++i) setup.hosts.push_back(plan_.node(i).name);
  cluster::ClusterWatcher& watcher = *this;  // a base that make_unique may not see
  cluster_ = std::make_unique<cluster::Cluster>(loop_, spawner_, std::move(setup), watcher);
  jobs_->first().add_to(*cluster_);
}

/// With daemons weftrun itself is not stopped: a launcher that does not answer would be lost to them.
void Launcher::on_relayed_signal(int signal) {
  jobs_->on_relayed_signal(signal);
  if (signal == SIGTSTP && !cluster_) ::kill(::getpid(), SIGSTOP);
}

// ---- the cluster

void Launcher::on_all_connected() {
  jobs_->first().start();
}

/// For a terminal only: a pipe or a file gets what has happened, not what has not yet.
void Launcher::show_progress(std::chrono::seconds after) {
  progress_.start(after, [this] {
    if (!jobs_->first().is_starting()) return;
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

void Launcher::on_spawn(std::uint32_t node, std::uint64_t number, const job::SpawnRequest& request) {
  jobs_->spawn(node, request, answer_to(node, number));
}

void Launcher::on_control(std::uint32_t node, std::uint64_t number, const job::ControlRequest& request) {
  cluster_->answer(node, number, jobs_->control(request));
}

void Launcher::on_connected(const std::vector<std::string>& nspaces, bool are_connected) {
  jobs_->on_connected(nspaces, are_connected);
}

void Launcher::on_pull(std::uint32_t node, std::uint64_t number, const job::PullRequest& request) {
  streams_->pull(node, request, answer_to(node, number));
}

void Launcher::on_push(std::uint32_t node, std::uint64_t number, const job::PushRequest& request) {
  streams_->push(node, request, answer_to(node, number));
}

std::function<void(const job::Result&)> Launcher::answer_to(std::uint32_t node, std::uint64_t number) {
  return [this, node, number](const job::Result& result) { cluster_->answer(node, number, result); };
}

void Launcher::on_all_exited() {
  loop_.stop();
}

// ---- the terminal

void Launcher::on_written() {
  jobs_->on_written();
}

/// The ranks' ends of the stream are closed, so that all is as without weftrun: a rank that writes to a
/// stream without a reader gets SIGPIPE, and decides.
void Launcher::on_reader_lost(job::Stream stream) {
  jobs_->on_reader_lost(stream);
  console_->print_detail(messages::reader_gone(name_of(stream)));
}

void Launcher::on_write_failed(job::Stream stream, int error) {
  jobs_->on_output_lost(name_of(stream), error);
}

// ---- the end

/// A daemon with readers of output stays until the output is written.
void Launcher::on_all_ending() {
  if (cluster_ && !streams_->has_far_readers()) cluster_->dismiss();
}

void Launcher::on_all_over() {
  if (!cluster_) return loop_.stop();
  if (streams_->has_far_readers()) cluster_->dismiss();
  cluster_->finish(leaving_time);
}

void Launcher::print_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  console_->print_detail(
      fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                  since(served_), since(jobs_->first().all_started()), since(Clock::now())));
}

}  // namespace weft::weftrun
