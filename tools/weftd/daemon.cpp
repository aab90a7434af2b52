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
#include "tools/messages/stop.hpp"

namespace weft::weftd {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

/// What may take its time once the launcher is gone: the last output, and daemons that this one has started.
constexpr std::chrono::seconds patience{2};

host::ServerIdentity identity_of(const launch::StartMessage& message, const launch::NodeName& self) {
  host::ServerIdentity identity;
  identity.nspace = message.nspace;
  identity.number = self.number;
  identity.servers = message.servers;
  identity.host = self.host;
  identity.key = {reinterpret_cast<const char*>(message.key.data()), message.key.size()};
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
      ranks_(loop_, spawner, message_.nspace, self_.number, true,
             {[this](const ranks::LocalRanks::Ended& ended) { on_rank_ended(ended); },
              [this](Rank rank) { tell(channel::report::ConnectedLate{rank}); },
              [this](const host::AbortRequest& request) { on_abort(request); }, [this] { on_settled(); },
              [this](pid_t pid, int status) {
                if (agents_) agents_->on_child_exit(pid, status);
              }}),
      streams_(
          loop_,
          [this](const channel::report::Output& output, const channel::ServerChannel::Done& done) {
            tell(output, done);
          },
          [this] { leave_when_done(); }),
      input_pipes_(loop_, [this] { tell(channel::report::InputUnwanted{}); }) {
  message_.nodes.erase(message_.nodes.begin() + static_cast<std::ptrdiff_t>(self));
}

int Daemon::run() {
  start_server();
  await_end_of_input();
  await_signal();
  start_subtree();
  say_hello();
  loop_.run();
  ranks_.reap_orphans();  // where patience was too short for an orderly end
  return has_launcher_ ? 0 : exit_status::own_failure;
}

void Daemon::start_server() {
  const auto identity = identity_of(message_, self_);
  server_.emplace(identity, nullptr);
  channel_.emplace(loop_, identity,
                   channel::ServerChannel::Events{
                       [this](std::uint32_t from, channel::MessageType type, const std::string& bytes,
                              const channel::Reply& reply) { receive(from, type, bytes, reply); },
                       [this](std::uint32_t node, const std::string&) { on_node_lost(node); }});
}

/// With a tree of agents a start message names those that its receiver starts, too.
void Daemon::start_subtree() {
  if (message_.audience == launch::StartMessage::Audience::all || message_.nodes.empty()) return;
  agents_.emplace(loop_, spawner_,
                  launch::Agents::Events{[this](const launch::Agents::Failure& failure) {
                                           channel::report::Unreachable report{{}, failure.line, failure.how};
                                           for (const auto& node : failure.nodes)
                                             report.nodes.push_back(node.number);
                                           tell(report);
                                         },
                                         [](const launch::NodeName&, const std::string& line) {
                                           fmt::print(stderr, "{}\n", line);  // and so on, up to weftrun
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
    lose_launcher();
  });
}

void Daemon::await_signal() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals_.add(signal);
  signals_.async_wait([this](const asio::error_code& error, int) {
    if (!error) lose_launcher();
  });
}

void Daemon::say_hello() {
  tell(channel::report::Hello{release_, self_.host, channel_->contact(), ::getpid()});
}

template <class Report>
void Daemon::tell(const Report& report, channel::ServerChannel::Done done) {
  channel_->send({message_.launcher.number}, report, std::move(done));
}

// ---- orders

void Daemon::receive(std::uint32_t, channel::MessageType type, const std::string& bytes,
                     channel::Reply reply) {
  if (type == channel::MessageType::input) {
    const auto order = channel::decode<channel::order::Input>(bytes);
    return order ? give_input(*order, std::move(reply)) : reply();
  }
  reply();
  switch (type) {
    case channel::MessageType::launch:
      if (const auto order = channel::decode<channel::order::Launch>(bytes)) pass_on(*order, bytes);
      return;
    case channel::MessageType::signal:
      return obey(bytes, &Daemon::signal);
    case channel::MessageType::output_unwanted:
      return obey(bytes, &Daemon::close_output);
    case channel::MessageType::end:
      return obey(bytes, &Daemon::end);
    default:
      return;  // reports are the launcher's to read
  }
}

template <class Message>
void Daemon::obey(const std::string& bytes, void (Daemon::*what)(const Message&)) {
  if (const auto message = channel::decode<Message>(bytes)) (this->*what)(*message);
}

/// First to those behind us in the tree, who wait; to reach them takes their contacts, and so do our ranks' fences.
void Daemon::pass_on(const channel::order::Launch& launch, const std::string& bytes) {
  channel_->add_contacts(launch.contacts, [this, launch, bytes](bool) {
    for (const auto child : channel::children_of(self_.number, message_.servers, message_.launcher.number))
      channel_->send({child}, channel::MessageType::launch, bytes);
    this->launch(launch);
  });
}

void Daemon::launch(const channel::order::Launch& launch) {
  if (is_over_ || is_ending_ || has_ranks_) return;
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
    ranks_.register_with(*server_);
    const auto failure = ranks_.start([&](Rank rank) {
      return ranks::LocalRanks::Streams{
          launch.input.includes(rank) ? input_pipes_.connect(rank) : ranks::nothing_to_read(),
          streams_.connect(rank, channel::Stream::out), streams_.connect(rank, channel::Stream::error)};
    });
    for (const Rank rank : ranks_.all())
      if (ranks_.pid(rank) > 0) report.pids.push_back(ranks_.pid(rank));
    if (failure) report.exit_code = failure->exit_code, report.failure = failure->line;
    if (launch.wants_bindings)
      for (auto& line : ranks_.bindings()) report.notes.push_back(std::move(line));
  } catch (const Stop& stop) {
    report.exit_code = stop.exit_code();
    report.failure = stop.what();
  }
  tell(report);
  ranks_.running() != 0 ? ranks_.watch() : on_settled();
}

void Daemon::give_input(const channel::order::Input& order, channel::Reply reply) {
  if (!order.bytes.empty()) return input_pipes_.write(order.bytes, std::move(reply));
  input_pipes_.close();
  reply();
}

void Daemon::signal(const channel::order::Signal& order) {
  const bool is_end = order.number == SIGTERM || order.number == SIGKILL;
  if (!has_ranks_ && is_end && !is_over_ && order.ranks.empty()) {
    is_over_ = true;  // the launch message takes another way and may come later
    return tell(channel::report::Settled{});
  }
  ranks_.send(order.number, order.ranks);
}

void Daemon::close_output(const channel::order::OutputUnwanted& order) {
  streams_.close(order.stream);
}

void Daemon::end(const channel::order::End&) {
  is_ending_ = true;
  input_pipes_.close();
  ranks_.reap_orphans();  // also what keeps the pipes open for writing
  if (agents_) agents_->expect_end();
  leave_when_done();
}

// ---- what happens here

void Daemon::on_rank_ended(const ranks::LocalRanks::Ended& ended) {
  input_pipes_.disconnect(ended.rank);
  // A launcher that has only lost its agent hears of that: ranks that we have killed for it would hide the reason.
  if (!has_launcher_) return;
  tell(channel::report::Ended{ended.rank, ended.wait_status, ended.connected, ended.finalized,
                              streams_.said(ended.rank, channel::Stream::out),
                              streams_.said(ended.rank, channel::Stream::error)});
}

void Daemon::on_abort(const host::AbortRequest& request) {
  tell(channel::report::Aborted{request.from, request.status, request.message, request.named});
}

void Daemon::on_settled() {
  has_ranks_ = false;
  is_over_ = true;
  if (has_launcher_) tell(channel::report::Settled{});
  if (!is_ending_) return;
  ranks_.reap_orphans();
  leave_when_done();
}

void Daemon::on_node_lost(std::uint32_t node) {
  if (node == message_.launcher.number) lose_launcher();
}

/// Nobody is there who could want anything: everything is ended, and what is not done after the patience is left. When
/// the job is over that is how it should be; the order to end takes another way than the end of our input.
void Daemon::lose_launcher() {
  has_launcher_ = is_over_;
  is_ending_ = true;
  ranks_.send(SIGKILL);
  if (!has_ranks_) ranks_.reap_orphans();
  if (agents_) agents_->end(patience);
  patience_.expires_after(patience);
  patience_.async_wait([this](const asio::error_code& error) {
    if (!error) loop_.stop();
  });
  leave_when_done();
}

void Daemon::leave_when_done() {
  if (!is_ending_ || is_leaving_ || has_ranks_ || !streams_.is_drained()) return;
  is_leaving_ = true;
  if (agents_ && agents_->running() != 0)
    agents_->end(patience);  // they would die with us: then all_ended
  else
    asio::post(loop_, [this] { loop_.stop(); });
}

}  // namespace weft::weftd
