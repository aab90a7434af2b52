// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftd/daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "tools/allocation/own_addresses.hpp"
#include "tools/channel/launch_tree.hpp"
#include "tools/channel/pass_on.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/host/output_delivery.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/distribution.hpp"
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
  identity.first_servers = message.first_servers;
  if (message.are_names_at_launcher) identity.names_keeper = message.launcher.number;
  identity.host = self.host;
  identity.key = message.key;
  identity.transport = message.transport;
  identity.contact = message.contact;
  return identity;
}

}  // namespace

Daemon::Daemon(const process::Spawner& spawner, launch::StartMessage message, std::size_t self,
               std::string release)
    : spawner_(spawner),
      message_(std::move(message)),
      self_(message_.nodes.at(self)),
      release_(std::move(release)),
      node_(loop_, spawner, message_.nspace, self_.number, true, [this](pid_t pid, int status) {
        if (agents_) agents_->on_child_exit(pid, status);
      }) {
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
  node_.guard().rest();  // clean-up of ranks' files may take long
  node_.reap_orphans();  // in case `patience` was too short for an orderly end
  if (place_->has_launcher) return 0;
  return has_heard_launcher_ ? exit_status::own_failure : exit_status::no_transport;
}

void Daemon::start_server() {
  const auto identity = identity_of(message_, self_);
  host::Server::Events events;
  events.spawn = [this](job::SpawnRequest request, Asked::Reply reply) {
    asked_.ask<channel::report::Spawn>(std::move(request), std::move(reply), channel_);
  };
  events.control = [this](job::ControlRequest request, Asked::Reply reply) {
    asked_.ask<channel::report::Control>(std::move(request), std::move(reply), channel_);
  };
  events.pull = [this](job::PullRequest request, Asked::Reply reply) {
    asked_.ask<channel::report::Pull>(std::move(request), std::move(reply), channel_);
  };
  events.push = [this](job::PushRequest request, Asked::Reply reply) {
    asked_.ask<channel::report::Push>(std::move(request), std::move(reply), channel_);
  };
  events.connected = [this](std::vector<std::string> nspaces, bool are_connected) {
    asio::post(loop_, [this, report = channel::report::Connected{std::move(nspaces), are_connected}] {
      send_report(report);
    });
  };
  server_.emplace(identity, std::move(events));
  channel_.emplace(loop_, identity,
                   channel::ServerChannel::Events{
                       [this](std::uint32_t from, channel::MessageType type, const std::string& bytes,
                              const channel::Reply& reply) { receive(from, type, bytes, reply); },
                       [this](std::uint32_t node, const std::string& why) { on_node_lost(node, why); }});
  hellos_.emplace(*channel_, message_.launcher.number,
                  message_.above ? message_.above->number : message_.launcher.number);
  if (message_.above)
    channel_->add_contact(message_.above->contact, [this](bool is_right) { hellos_->begin(is_right); });
  else
    hellos_->begin(true);
  place_.emplace(JobHere::Place{loop_, node_, *server_, *channel_, message_.launcher.number});
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
  auto message = message_;
  message.above = {self_.number, channel_->contact()};
  agents_->start(message, release_);
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
  node_.guard().beat();
  beat_.expires_after(std::chrono::seconds(1));
  beat_.async_wait([this](const asio::error_code& error) {
    if (!error) beat();
  });
}

void Daemon::send_hello() {
  hellos_->add(
      {{self_.number, release_, self_.host, channel_->contact(), ::getpid(), allocation::own_addresses()}});
}

/// Of a daemon that this one has started: of its own, and of those below it.
void Daemon::pass_on_hello(std::uint32_t from, const std::string& bytes) {
  const auto is_below = [this](std::uint32_t number) {
    return std::any_of(message_.nodes.begin(), message_.nodes.end(),
                       [number](const auto& node) { return node.number == number; });
  };
  auto hello = channel::decode<channel::report::Hello>(bytes);
  if (!hello || !is_below(from)) return;
  // The reply goes out when the contact is known here.
  for (const auto& daemon : hello->daemons)
    if (daemon.node == from) channel_->add_contact(daemon.contact, [](bool) {});
  hellos_->add(std::move(hello->daemons));
}

template <class Report>
void Daemon::send_report(const Report& report, channel::ServerChannel::Done done) {
  channel_->send({message_.launcher.number}, report, std::move(done));
}

// ---- orders

/// Obeys the launcher, and in what goes down a tree the servers above; the order of another server is replied
/// to and has no effect.
void Daemon::receive(std::uint32_t from, channel::MessageType type, const std::string& bytes,
                     channel::Reply reply) {
  switch (type) {
    case channel::MessageType::launch:
      return launch(from, bytes, reply);
    case channel::MessageType::broadcast:
      return receive_broadcast(from, bytes, reply);
    case channel::MessageType::gathered:
      return pass_on_reports(from, bytes, reply);
    case channel::MessageType::hello:
      reply();
      return pass_on_hello(from, bytes);
    default:
      break;
  }
  if (from != message_.launcher.number) return reply();
  has_heard_launcher_ = true;
  if (type == channel::MessageType::leave) {
    reply();
    return step(DaemonEvent::dismissed);
  }
  if (type == channel::MessageType::outcome) {
    reply();
    if (const auto read = channel::decode<channel::order::Outcome>(bytes))
      asked_.end(read->number, read->result);
    return;
  }
  if (channel::is_of_job(type)) return receive_for_job(type, bytes, std::move(reply));
  receive_for_reader(type, bytes, std::move(reply));
}

/// What a process or tool of this node pulls.
void Daemon::receive_for_reader(channel::MessageType type, const std::string& bytes, channel::Reply reply) {
  if (type == channel::MessageType::pulled) {
    if (const auto read = channel::decode<channel::order::Pulled>(bytes))
      host::deliver_output({read->to, read->source, read->stream}, read->bytes,
                           [reply = std::move(reply)] { reply(); });
    return;
  }
  reply();  // reports go to the launcher
  if (type != channel::MessageType::pull_dropped) return;
  if (const auto read = channel::decode<channel::order::PullDropped>(bytes)) host::tell_dropped(read->name);
}

/// For all nodes of a job. The reply goes out when those below have replied, too.
void Daemon::receive_broadcast(std::uint32_t from, const std::string& bytes, const channel::Reply& reply) {
  const auto read = channel::decode<channel::order::Broadcast>(bytes);
  if (!read) return;
  const bool is_signal = read->order == channel::MessageType::signal;
  // Of a job that is not here only the launcher itself can say more: the launch message goes before on all
  // other ways.
  if (find_job(read->nspace) == nullptr && !(is_signal && from == message_.launcher.number)) return;
  auto* const job = job_at(read->nspace);
  if (job == nullptr || !job->tree().takes_orders_of(from)) return;
  has_heard_launcher_ = true;
  const bool is_first = job->tree().take_order(from, read->number);
  job->tree().pass_on(channel::MessageType::broadcast, bytes, reply);
  const bool is_end = read->order == channel::MessageType::end_job;
  if (is_first) receive_for_job(read->order, read->bytes, is_end ? reply : channel::Reply());
}

/// Orders that come straight, and those that a broadcast brings. An order whose reply says more than that it
/// has come keeps the reply.
void Daemon::receive_for_job(channel::MessageType type, const std::string& bytes, channel::Reply reply) {
  namespace order = channel::order;
  const auto nspace = channel::job_of(bytes);
  if (!nspace) return;
  auto* const job = type == channel::MessageType::find_places ? find_job(*nspace) : job_at(*nspace);
  if (job == nullptr) return;
  switch (type) {
    case channel::MessageType::input:
      if (const auto read = channel::decode<order::Input>(bytes))
        job->write_input(read->bytes, std::move(reply));
      return;
    case channel::MessageType::pushed:
      if (const auto read = channel::decode<order::Pushed>(bytes)) job->push_input(*read, std::move(reply));
      return;
    case channel::MessageType::signal:
      reply();
      if (const auto read = channel::decode<order::Signal>(bytes)) job->signal(read->number, read->ranks);
      return;
    case channel::MessageType::output_unwanted:
      reply();
      if (const auto read = channel::decode<order::OutputUnwanted>(bytes)) job->close_output(read->stream);
      return;
    case channel::MessageType::find_places:
      reply();
      if (const auto read = channel::decode<order::FindPlaces>(bytes))
        job->tell_places(read->number, read->wants_stacks);
      return;
    case channel::MessageType::end_job:
      if (const auto read = channel::decode<order::EndJob>(bytes)) job->end(read->ending, std::move(reply));
      return;
    default:
      return;
  }
}

JobHere* Daemon::find_job(const std::string& nspace) const {
  const auto at = jobs_.find(nspace);
  return at == jobs_.end() ? nullptr : at->second.get();
}

/// An order may come straight before the launch message, which comes down the tree. Null: the job is over
/// here.
JobHere* Daemon::job_at(const std::string& nspace) {
  if (auto* const job = find_job(nspace)) return job;
  if (ended_.has(nspace)) return nullptr;
  auto& job = jobs_[nspace];
  job = std::make_unique<JobHere>(*place_, nspace, [this, nspace] { on_job_over(nspace); });
  step(DaemonEvent::job_came);
  return job.get();
}

/// Of a server above this one in the tree. First to the daemons below, which wait for it. Sending needs
/// their contacts, which the launch information brings: so the server gets it before the job is registered.
/// The reply goes out when those below have replied, too.
void Daemon::launch(std::uint32_t from, const std::string& bytes, const channel::Reply& reply) {
  const auto launch = channel::decode<channel::order::Launch>(bytes);
  if (!launch) return;
  std::shared_ptr<const channel::LaunchTree> tree;
  std::optional<Stop> refusal;
  try {
    const auto distribution = placement::decode_distribution(
        launch->distribution, static_cast<std::uint32_t>(launch->hosts.size()), job::most_ranks);
    if (launch->late_host.empty())
      tree = std::make_shared<channel::LaunchTree>(distribution.nodes_with_ranks(), message_.launcher.number,
                                                   launch->witnesses);
    if (from != message_.launcher.number && !(tree && tree->is_above(from, self_.number))) return;
    has_heard_launcher_ = true;
    host::take_launch_info(launch->nspace, launch->launch_info);
  } catch (const Stop& stop) {
    refusal = stop;
  }
  auto* const job =
      takes_jobs(state_) || find_job(launch->nspace) != nullptr ? job_at(launch->nspace) : nullptr;
  if (job != nullptr) {
    job->tree().join(tree, from);
    job->tree().pass_on(channel::MessageType::launch, bytes, reply);
    if (job->awaits_launch()) job->launch(*launch, refusal);
  } else if (tree && !ended_.has(launch->nspace)) {
    channel::PassOn::below(*channel_, tree, self_.number, {channel::MessageType::launch, bytes}, reply);
  }
  if (message_.above && !std::exchange(is_watched_, true)) send_report(channel::report::Watch{});
}

/// Where the job is over here by the launcher's word, that has what it needs. A daemon that ends for another
/// reason leaves it to those below to report once more when it has gone.
void Daemon::pass_on_reports(std::uint32_t from, const std::string& bytes, const channel::Reply& reply) {
  auto read = channel::decode<channel::report::Gathered>(bytes);
  if (!read) return;
  auto* const job = find_job(read->nspace);
  if (job == nullptr) {
    if (!takes_jobs(state_)) reply.refuse();
    return;
  }
  if (job->tree().are_of_below(from, *read)) job->tree().reports().pass_on(std::move(*read), reply);
}

// ---- events of this node

/// Not inside a call of the job.
void Daemon::on_job_over(const std::string& nspace) {
  asio::post(loop_, [this, nspace] {
    const auto job = jobs_.find(nspace);
    if (job == jobs_.end()) return;
    ended_.add(nspace);
    jobs_.erase(job);
    if (jobs_.empty()) step(DaemonEvent::all_over);
  });
}

/// Standard error leads to the launcher by another way than the network that was lost: over the agent.
void Daemon::on_node_lost(std::uint32_t node, const std::string& why) {
  if (node != message_.launcher.number) {
    if (takes_jobs(state_)) send_report(channel::report::PeerLost{node, why});
    return;
  }
  if (takes_jobs(state_) && !is_at_rest())
    (void)std::fputs(messages::launcher_lost(self_.host, message_.launcher.host, why).c_str(), stderr);
  on_launcher_lost();
}

/// If the ranks had ended before, this is a normal end, because standard input may close before the order to
/// leave arrives.
void Daemon::on_launcher_lost() {
  step(is_at_rest() ? DaemonEvent::launcher_gone : DaemonEvent::launcher_lost);
}

/// Jobs have been here, and no rank runs.
bool Daemon::is_at_rest() const {
  return state_ != DaemonState::idle && std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) {
           return job.second->state() >= JobState::settled && !has_ranks(job.second->state());
         });
}

// ---- its life

void Daemon::step(DaemonEvent event) {
  const auto [action, next] = daemon_step(state_, event);
  state_ = next;
  switch (action) {
    case DaemonAction::none:
      return;
    case DaemonAction::end_jobs:
      if (agents_) agents_->expect_end();
      return end_jobs();
    case DaemonAction::end_jobs_soon:
      place_->has_launcher = next != DaemonState::orphaned;
      if (agents_) agents_->end(patience);
      patience_.expires_after(patience);
      patience_.async_wait([this](const asio::error_code& error) {
        if (!error) step(DaemonEvent::patience_over);
      });
      return end_jobs();
    case DaemonAction::exit:
      if (agents_ && agents_->running() != 0) return agents_->end(patience);  // all_ended stops the loop
      [[fallthrough]];
    case DaemonAction::exit_now:
      return asio::post(loop_, [this] { loop_.stop(); });
  }
}

void Daemon::end_jobs() {
  for (const auto& [nspace, job] : jobs_) job->end();
  if (jobs_.empty()) step(DaemonEvent::all_over);
}

}  // namespace weft::weftd
