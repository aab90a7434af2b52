// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "tools/channel/launch_tree.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"

namespace weft::weftd {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

/// Time for the last output, and for daemons that this daemon has started, once the launcher is lost.
constexpr std::chrono::seconds patience{2};

host::ServerIdentity identity_of(const launch::StartMessage& message, const launch::NodeName& self) {
  host::ServerIdentity identity;
  identity.nspace = message.nspace;
  identity.number = self.number;
  identity.servers = message.servers;
  identity.host = self.host;
  identity.key = message.key;
  identity.transport = message.transport;
  identity.contact = message.contact;
  return identity;
}

void change_directory(const std::string& directory) {
  if (::chdir(directory.c_str()) == 0) return;
  throw Stop(exit_status::own_failure, messages::no_directory_here(directory, errno));
}

}  // namespace

Daemon::Daemon(const process::Spawner& spawner, launch::StartMessage message, std::size_t self,
               std::string release)
    : spawner_(spawner),
      message_(std::move(message)),
      self_(message_.nodes.at(self)),
      release_(std::move(release)),
      ranks_(
          loop_, spawner, message_.nspace, self_.number, true,
          {[this](const job::RankEnd& ended) { on_rank_ended(ended); },
           [this](Rank rank) { send_report(channel::report::ConnectedLate{rank}); },
           [this](const job::AbortRequest& request) { on_abort_called(request); }, [this] { on_settled(); },
           [this](pid_t pid, int status) {
             if (agents_) agents_->on_child_exit(pid, status);
           }}),
      streams_(
          loop_,
          [this](const channel::report::Output& output, const channel::ServerChannel::Done& done) {
            send_report(output, done);
          },
          [this] { exit_when_done(); }),
      input_pipes_(loop_, [this] { send_report(channel::report::InputUnwanted{}); }) {
  message_.nodes.erase(message_.nodes.begin() + static_cast<std::ptrdiff_t>(self));
}

int Daemon::run() {
  process::keep_crashes_deadly();
  process::HeldSignals held;
  start_server();
  await_end_of_input();
  held.restore_dispositions();
  await_signal();
  held.release();
  start_subtree();
  send_hello();
  beat();
  loop_.run();
  ranks_.guard().rest();  // clean-up of ranks' files may take long
  ranks_.reap_orphans();  // in case `patience` was too short for an orderly end
  if (has_launcher_) return 0;
  return has_heard_launcher_ ? exit_status::own_failure : exit_status::no_transport;
}

void Daemon::start_server() {
  const auto identity = identity_of(message_, self_);
  server_.emplace(identity, nullptr);
  channel_.emplace(loop_, identity,
                   channel::ServerChannel::Events{
                       [this](std::uint32_t from, channel::MessageType type, const std::string& bytes,
                              const channel::Reply& reply) { receive(from, type, bytes, reply); },
                       [this](std::uint32_t node, const std::string& why) { on_node_lost(node, why); }});
}

/// In a tree of agents the start message also names the nodes whose daemons its receiver starts.
void Daemon::start_subtree() {
  if (message_.audience == launch::StartMessage::Audience::all || message_.nodes.empty()) return;
  agents_.emplace(loop_, spawner_,
                  launch::Agents::Events{
                      [this](const launch::Agents::Failure& failure) {
                        channel::report::Unreachable report{{}, failure.line, failure.how, failure.exit_code};
                        for (const auto& node : failure.nodes) report.nodes.push_back(node.number);
                        send_report(report);
                      },
                      [](const launch::NodeName&, const std::string& line) {
                        fmt::print(stderr, "{}\n",
                                   line);  // to the agent, and so up to weftrun
                      },
                      [this] { loop_.stop(); }},
                  self_.host);
  agents_->start(message_, release_);
}

void Daemon::await_end_of_input() {
  if (!input_.is_open()) input_.assign(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  input_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (error == asio::error::operation_aborted) return;
    std::array<char, 512> ignored;
    const auto length = ::read(input_.native_handle(), ignored.data(), ignored.size());
    if (length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN))) return await_end_of_input();
    on_launcher_lost();
  });
}

void Daemon::await_signal() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals_.add(signal);
  signals_.async_wait([this](const asio::error_code& error, int) {
    if (!error) on_launcher_lost();
  });
}

/// On a node without the launcher's input (ssh holds it open) a daemon that hangs would keep its ranks for
/// ever.
void Daemon::beat() {
  ranks_.guard().beat();
  beat_.expires_after(std::chrono::seconds(1));
  beat_.async_wait([this](const asio::error_code& error) {
    if (!error) beat();
  });
}

void Daemon::send_hello() {
  send_report(channel::report::Hello{release_, self_.host, channel_->contact(), ::getpid()});
}

template <class Report>
void Daemon::send_report(const Report& report, channel::ServerChannel::Done done) {
  channel_->send({message_.launcher.number}, report, std::move(done));
}

// ---- orders

/// Obeys the launcher, and for the launch message the server above this one in the tree; another server's
/// order is replied to and has no effect.
void Daemon::receive(std::uint32_t from, channel::MessageType type, const std::string& bytes,
                     channel::Reply reply) {
  const auto superior = type == channel::MessageType::launch
                            ? channel::parent_of(self_.number, message_.launcher.number)
                            : message_.launcher.number;
  if (from != superior) return reply();
  has_heard_launcher_ = true;
  if (type == channel::MessageType::input) {
    const auto order = channel::decode<channel::order::Input>(bytes);
    return order ? write_input(*order, std::move(reply)) : reply();
  }
  reply();
  switch (type) {
    case channel::MessageType::launch:
      if (const auto order = channel::decode<channel::order::Launch>(bytes)) pass_on(*order, bytes);
      return;
    case channel::MessageType::signal:
      return decode_and_call(bytes, &Daemon::signal);
    case channel::MessageType::output_unwanted:
      return decode_and_call(bytes, &Daemon::close_output);
    case channel::MessageType::end:
      return decode_and_call(bytes, &Daemon::end);
    default:
      return;  // reports go to the launcher
  }
}

template <class Message>
void Daemon::decode_and_call(const std::string& bytes, void (Daemon::*what)(const Message&)) {
  if (const auto message = channel::decode<Message>(bytes)) (this->*what)(*message);
}

/// First to the daemons below this one in the tree, which wait for it. Sending needs their contacts, which
/// the launch information brings: so the server gets it before the job is registered.
void Daemon::pass_on(const channel::order::Launch& launch, const std::string& bytes) {
  try {
    host::take_launch_info(launch.nspace, launch.launch_info);
  } catch (const Stop& stop) {
    return refuse_launch(stop);
  }
  for (const auto child : channel::children_of(self_.number, message_.servers, message_.launcher.number))
    channel_->send({child}, channel::MessageType::launch, bytes);
  this->launch(launch);
}

void Daemon::refuse_launch(const Stop& stop) {
  if (has_settled_ || is_ending_ || has_ranks_) return;
  channel::report::Started report;
  report.exit_code = stop.exit_code();
  report.failure = stop.what();
  send_report(report);
  on_settled();
}

void Daemon::launch(const channel::order::Launch& launch) {
  if (has_settled_ || is_ending_ || has_ranks_) return;
  channel::report::Started report;
  has_ranks_ = true;
  try {
    const auto distribution = placement::decode_distribution(
        launch.distribution, static_cast<std::uint32_t>(launch.hosts.size()), job::most_ranks);
    const placement::RankTable table(distribution);
    if (launch.hosts.size() != table.nodes() || self_.number >= table.nodes() || launch.apps.empty())
      throw Stop(exit_status::own_failure, messages::damaged_order());
    change_directory(launch.directory);
    ranks_.plan(launch, table, report.notes);
    ranks_.register_with(*server_, launch.pmi);
    report.interfaces = ranks_.interfaces();
    const auto failure = ranks_.start([&](Rank rank) {
      return ranks::LocalRanks::Streams{
          launch.input.includes(rank) ? input_pipes_.connect(rank) : ranks::nothing_to_read(),
          streams_.connect(rank, channel::Stream::out), streams_.connect(rank, channel::Stream::error)};
    });
    for (const Rank rank : ranks_.all())
      if (ranks_.pid(rank) > 0) report.pids.push_back(ranks_.pid(rank));
    if (!failure || !report.pids.empty()) server_->announce_job(PMIX_EVENT_JOB_START, launch.nspace);
    if (failure) report.exit_code = failure->exit_code, report.failure = failure->line;
    if (launch.wants_bindings)
      for (auto& line : ranks_.bindings()) report.notes.push_back(std::move(line));
  } catch (const Stop& stop) {
    report.exit_code = stop.exit_code();
    report.failure = stop.what();
  }
  send_report(report);
  ranks_.running() != 0 ? ranks_.watch() : on_settled();
}

void Daemon::write_input(const channel::order::Input& order, channel::Reply reply) {
  if (!order.bytes.empty()) return input_pipes_.write(order.bytes, std::move(reply));
  input_pipes_.close();
  reply();
}

void Daemon::signal(const channel::order::Signal& order) {
  const bool is_end = order.number == SIGTERM || order.number == SIGKILL;
  if (!has_ranks_ && is_end && !has_settled_ && order.ranks.empty()) {
    has_settled_ = true;  // the launch message comes down the tree and may arrive later
    return send_report(channel::report::Settled{});
  }
  ranks_.send(order.number, order.ranks);
}

void Daemon::close_output(const channel::order::OutputUnwanted& order) {
  streams_.close(order.stream);
}

void Daemon::end(const channel::order::End& order) {
  is_ending_ = true;
  if (order.ending) server_->announce_end_of_job(ranks_.map().nspace, *order.ending);
  input_pipes_.close();
  // Orphans may hold the output pipes open. Ranks that still run are no orphans: on_settled() goes on when
  // they have ended.
  has_ranks_ ? ranks_.send(SIGKILL) : ranks_.reap_orphans();
  if (agents_) agents_->expect_end();
  exit_when_done();
}

// ---- events of this node

void Daemon::on_rank_ended(const job::RankEnd& ended) {
  input_pipes_.disconnect(ended.rank);
  // A launcher that has only lost its agent still reads reports: ends of ranks that we kill for that would
  // hide the reason.
  if (!has_launcher_) return;
  channel::report::Ended report{ended};
  report.end.written = {streams_.written_bytes(ended.rank, channel::Stream::out),
                        streams_.written_bytes(ended.rank, channel::Stream::error)};
  send_report(report);
}

void Daemon::on_abort_called(const job::AbortRequest& request) {
  send_report(channel::report::Aborted{request});
}

void Daemon::on_settled() {
  has_ranks_ = false;
  has_settled_ = true;
  if (has_launcher_) send_report(channel::report::Settled{ranks_.other_pmix()});
  if (!is_ending_) return;
  ranks_.reap_orphans();
  exit_when_done();
}

/// Standard error leads to the launcher by another way than the network that was lost: over the agent.
void Daemon::on_node_lost(std::uint32_t node, const std::string& why) {
  if (node != message_.launcher.number) {
    if (has_launcher_ && !is_ending_) send_report(channel::report::PeerLost{node, why});
    return;
  }
  if (!is_ending_ && !has_settled_)
    (void)std::fputs(messages::launcher_lost(self_.host, message_.launcher.host, why).c_str(), stderr);
  on_launcher_lost();
}

/// Kills all ranks, and exits after `patience` even if output is left. If the ranks had ended before, this is
/// a normal exit, because standard input may close before the order to end arrives.
void Daemon::on_launcher_lost() {
  has_launcher_ = has_settled_;
  is_ending_ = true;
  ranks_.send(SIGKILL);
  if (!has_ranks_) ranks_.reap_orphans();
  if (agents_) agents_->end(patience);
  patience_.expires_after(patience);
  patience_.async_wait([this](const asio::error_code& error) {
    if (!error) loop_.stop();
  });
  exit_when_done();
}

void Daemon::exit_when_done() {
  if (!is_ending_ || is_exiting_ || has_ranks_ || !streams_.is_drained()) return;
  is_exiting_ = true;
  if (agents_ && agents_->running() != 0)
    agents_->end(patience);  // they end with this process; all_ended stops the loop
  else
    asio::post(loop_, [this] { loop_.stop(); });
}

}  // namespace weft::weftd
