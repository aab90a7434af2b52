// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "tools/launch/agent_words.hpp"
#include "tools/launch/settings.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::cluster {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// Throws Stop (usage).
std::chrono::milliseconds launch_timeout() {
  const auto& setting = base::setting_of(base::Variable::launch_timeout);
  const char* value = std::getenv(setting.name);
  const auto timeout = base::read(setting, value);
  if (timeout.source == base::Reading::Source::refused)
    throw Stop(exit_status::usage, messages::bad_launch_timeout(value));
  return std::chrono::milliseconds(timeout.number);
}

/// Chosen for a card of this node, and not by the user: every node has the others.
bool is_own_choice(std::string_view transport) {
  return base::read(base::Variable::transport).text.empty() && transport != "tcp" && transport != "shm";
}

}  // namespace

Cluster::Cluster(asio::io_context& loop, const process::Spawner& spawner, Setup setup,
                 ClusterWatcher& watcher)
    : loop_(loop),
      setup_(std::move(setup)),
      watcher_(watcher),
      nodes_(setup_.hosts, setup_.own, setup_.spares, setup_.room),
      channel_(loop, setup_.identity,
               channel::ServerChannel::Events{
                   [this](std::uint32_t from, channel::MessageType type, const std::string& bytes,
                          channel::Reply reply) { receive(from, type, bytes, std::move(reply)); },
                   [this](std::uint32_t node, const std::string& why) {
                     if (!nodes_.is_daemon(node)) return;
                     mark_lost({node}, [this, node, why](std::string_view consequence) {
                       return messages::node_lost(nodes_.host(node), why, consequence);
                     });
                   }}),
      agents_(loop, spawner,
              launch::Agents::Events{
                  [this](const launch::Agents::Failure& failure) {
                    std::vector<std::uint32_t> numbers;
                    for (const auto& node : failure.nodes) numbers.push_back(node.number);
                    on_agent_failed(std::move(numbers), failure.line, failure.how, failure.exit_code);
                  },
                  [this](const launch::NodeName& node, const std::string& line) {
                    const bool has_sender = line.rfind("weft", 0) == 0;
                    watcher_.on_agent_line(has_sender ? line : fmt::format("[{}] {}", node.host, line));
                  },
                  [this] { watcher_.on_all_exited(); }}),
      limit_(loop),
      launch_timeout_(launch_timeout()) {
  if (channel_.transport().rfind("tcp", 0) == 0 && base::read(base::Variable::ports).text == "none")
    throw Stop(exit_status::usage, messages::listens_nowhere());
}

FarRanks& Cluster::add(FarRanks::Job job, FarRanksWatcher& watcher) {
  const JobOrders::Way way{channel_, setup_.identity.number};
  return *jobs_.emplace_back(std::make_unique<FarRanks>(loop_, nodes_, way, std::move(job), watcher));
}

void Cluster::remove(FarRanks& job) {
  std::erase_if(jobs_, [&](const auto& each) { return each.get() == &job; });
}

// ---- the start

launch::StartMessage Cluster::start_message(const std::vector<std::uint32_t>& nodes) const {
  const auto& identity = setup_.identity;
  launch::StartMessage message;
  message.nspace = identity.nspace;
  message.servers = identity.servers;
  message.first_servers = identity.first_servers;
  message.are_names_at_launcher = identity.names_keeper.has_value();
  message.launcher = {identity.number, identity.host};
  message.key = identity.key;
  message.transport = channel_.transport();
  message.contact = channel_.contact();
  message.settings = launch::server_settings(environ);
  message.agent = setup_.agent;
  for (const auto number : nodes) message.nodes.push_back({number, nodes_.host(number)});
  if (message.agent.kind == launch::Agent::Kind::slurm)
    message.audience = launch::StartMessage::Audience::all;
  return message;
}

void Cluster::start() {
  const auto nodes = nodes_.daemons();
  if (!nodes.empty()) return start_daemons(nodes);
  is_connected_ = true;
  asio::post(loop_, [this] { watcher_.on_all_connected(); });
}

void Cluster::want(const std::vector<std::uint32_t>& nodes, std::function<void()> done) {
  std::vector<std::uint32_t> fresh;
  for (const auto node : nodes)
    if (nodes_.step(node, NodeEvent::wanted)) fresh.push_back(node);
  wanted_.push_back({nodes, std::move(done)});
  if (!fresh.empty()) start_daemons(fresh);
  asio::post(loop_, [this] { tell_wanted(); });
}

void Cluster::start_daemons(const std::vector<std::uint32_t>& nodes) {
  arm_limit();
  const auto message = start_message(nodes);
  base::info(base::LogPart::launch, "starts daemons on {} nodes by {}", message.nodes.size(),
             message.agent.words.empty() ? "processes of this machine"
                                         : fmt::format("{}", fmt::join(message.agent.words, " ")));
  if (message.agent.kind == launch::Agent::Kind::slurm)
    base::warn(base::LogPart::launch,
               "the key of this job goes to its nodes through srun, in clear unless Slurm encrypts its "
               "connections (TLS, from "
               "24.11 on): what can read that network can speak for a node of the job. --agent ssh does not "
               "show it");
  agents_.start(message, setup_.release);
}

void Cluster::launch(FarRanks& job, const channel::order::Launch& launch,
                     const std::function<void()>& ready) {
  if (job.is_canceled()) return;
  arm_limit();
  job.launch(launch, ready);
}

/// Of a launch before that is not over it goes on.
void Cluster::arm_limit() {
  if (std::exchange(is_limited_, true)) return;
  limit_.expires_after(launch_timeout_);
  limit_.async_wait([this, round = limit_round_](const asio::error_code& error) {
    if (error || round != limit_round_) return;  // one that is queued is too late for cancel()
    lift_limit();
    on_launch_timeout();
  });
}

void Cluster::lift_limit() {
  is_limited_ = false;
  ++limit_round_;
  limit_.cancel();
}

/// The start waits for this daemon: to connect, or to start its ranks of a job.
bool Cluster::waits_for(std::uint32_t node) const {
  if (nodes_.is_lost(node)) return false;
  std::size_t jobs = 0, settled = 0, starting = 0;
  for (const auto& job : jobs_) {
    const auto state = job->state_on(node);
    jobs += state != FarRanks::State::without_ranks ? 1 : 0;
    settled += state == FarRanks::State::settled ? 1 : 0;
    starting += state == FarRanks::State::starting ? 1 : 0;
  }
  const bool is_of_no_use = jobs != 0 && settled == jobs;  // what was to run there was canceled
  return starting != 0 || (nodes_.state(node) == NodeState::starting && !is_of_no_use);
}

void Cluster::on_launch_timeout() {
  const double seconds = std::chrono::duration<double>(launch_timeout_).count();
  const auto message = start_message(nodes_.daemons());
  // No node is launched before all daemons have reported: a daemon that has reported waits for the others.
  for (const auto& node : message.nodes) {
    if (!waits_for(node.number)) continue;
    auto single = message;
    single.nodes = {node};
    if (nodes_.has_reported(node.number))
      mark_lost({node.number}, [&](std::string_view consequence) {
        return messages::node_did_not_start(node.host, seconds, consequence);
      });
    else
      mark_lost({node.number},
                messages::node_did_not_report(
                    node.host, seconds, fmt::format("{}", fmt::join(launch::agent_command(single), " "))));
  }
}

Cluster::Progress Cluster::progress() const {
  Progress out;
  const auto connected = nodes_.count(NodeState::connected);
  for (const auto number : nodes_.daemons()) {
    ++out.daemons;
    out.reported += nodes_.has_reported(number) ? 1 : 0;
  }
  for (const auto& job : jobs_) out.started = std::max(out.started, job->started());
  for (const auto number : nodes_.daemons())
    if (connected < out.daemons ? nodes_.state(number) == NodeState::starting : waits_for(number))
      out.missing.push_back(nodes_.host(number));
  return out;
}

bool Cluster::is_launched() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->is_launched(); });
}

void Cluster::answer(std::uint32_t node, std::uint64_t number, const job::Result& result) {
  if (!nodes_.is_lost(node)) channel_.send({node}, channel::order::Outcome{number, result});
}

void Cluster::deliver(std::uint32_t node, const channel::order::Pulled& output,
                      std::function<void(bool)> done) {
  if (!nodes_.is_lost(node)) return channel_.send({node}, output, std::move(done));
  asio::post(loop_, [done = std::move(done)] { done(false); });
}

void Cluster::tell_dropped(std::uint32_t node, const job::PullName& pull) {
  if (!nodes_.is_lost(node)) channel_.send({node}, channel::order::PullDropped{pull});
}

// ---- the end

void Cluster::end(FarRanks& job, const std::optional<job::Ending>& ending, std::function<void()> gone) {
  ++open_ends_;
  job.end(ending, [this, gone = std::move(gone)] {
    if (gone) gone();
    if (--open_ends_ == 0 && is_leaving_) send_leave();
  });
}

void Cluster::dismiss() {
  is_leaving_ = true;
  lift_limit();
  agents_.expect_end();
  for (const auto number : nodes_.reachable()) nodes_.step(number, NodeEvent::dismissed);
  if (open_ends_ == 0) send_leave();
}

/// It goes straight, and would overtake an order to end a job.
void Cluster::send_leave() {
  channel_.send(nodes_.reachable(), channel::order::Leave{}, [this](bool) { on_order_read(); });
}

void Cluster::on_order_read() {
  if (std::exchange(has_order_been_read_, true)) return;
  lift_limit();
  if (end_patience_) agents_.end(*end_patience_);
}

void Cluster::finish(std::chrono::milliseconds patience) {
  if (has_order_been_read_) return agents_.end(patience);
  end_patience_ = patience;
  limit_.expires_after(patience / 2);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_order_read();
  });
}

// ---- reports

void Cluster::receive(std::uint32_t from, channel::MessageType type, const std::string& bytes,
                      channel::Reply reply) {
  // What a lost node passes on is of others.
  const bool is_lost = nodes_.is_daemon(from) && nodes_.is_lost(from);
  if (!nodes_.is_daemon(from) || (is_lost && type != channel::MessageType::gathered)) return reply();
  if (!channel::is_of_job(type)) {
    reply();
    return take_report(from, type, bytes);
  }
  if (type != channel::MessageType::output) reply();
  const auto nspace = channel::job_of(bytes);
  const auto job = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return each->is_launched() && each->nspace() == nspace;
  });
  if (!nspace) return mark_damaged(from);
  if (job == jobs_.end()) return;  // it is over here
  if (type != channel::MessageType::gathered) {
    if (!(*job)->take_report(from, type, bytes, std::move(reply))) mark_damaged(from);
    return;
  }
  const auto gathered = channel::decode<channel::report::Gathered>(bytes);
  if (!gathered) return mark_damaged(from);
  receive_gathered(**job, from, *gathered);
}

/// Of the sender, and of nodes below it in the job's tree.
void Cluster::receive_gathered(FarRanks& job, std::uint32_t from, const channel::report::Gathered& gathered) {
  for (const auto& item : gathered.items) {
    if (!nodes_.is_daemon(item.node) || nodes_.is_lost(item.node)) continue;
    const auto admission = job.orders().admit(from, item.node, item.number);
    if (admission == JobOrders::Admission::wrong) return mark_damaged(from);
    if (admission == JobOrders::Admission::fresh && !job.take_report(item.node, item.report, item.bytes, {}))
      mark_damaged(item.node);
  }
  if (!is_limited_) return;
  const auto all = nodes_.daemons();
  if (std::none_of(all.begin(), all.end(), [this](auto node) { return waits_for(node); })) lift_limit();
}

void Cluster::take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes) {
  namespace report = channel::report;
  switch (type) {
    case channel::MessageType::hello: {
      const auto hello = channel::decode<report::Hello>(bytes);
      if (!hello) return mark_damaged(from);
      for (const auto& daemon : hello->daemons) on_hello(daemon);
      return;
    }
    case channel::MessageType::unreachable: {
      const auto unreached = channel::decode<report::Unreachable>(bytes);
      if (!unreached) return mark_damaged(from);
      // A daemon may see one end that it has started before it hears itself that all are to end.
      if (!is_leaving_)
        on_agent_failed(unreached->nodes, unreached->line, unreached->how, unreached->exit_code);
      return;
    }
    case channel::MessageType::spawn: {
      const auto spawn = channel::decode<report::Spawn>(bytes);
      return spawn ? watcher_.on_spawn(from, spawn->number, spawn->request) : mark_damaged(from);
    }
    case channel::MessageType::control: {
      const auto control = channel::decode<report::Control>(bytes);
      return control ? watcher_.on_control(from, control->number, control->request) : mark_damaged(from);
    }
    case channel::MessageType::pull: {
      const auto pull = channel::decode<report::Pull>(bytes);
      return pull ? watcher_.on_pull(from, pull->number, pull->request) : mark_damaged(from);
    }
    case channel::MessageType::push: {
      const auto push = channel::decode<report::Push>(bytes);
      return push ? watcher_.on_push(from, push->number, push->request) : mark_damaged(from);
    }
    case channel::MessageType::connected: {
      const auto connected = channel::decode<report::Connected>(bytes);
      return connected ? watcher_.on_connected(connected->nspaces, connected->are_connected)
                       : mark_damaged(from);
    }
    case channel::MessageType::peer_lost: {
      const auto peer = channel::decode<report::PeerLost>(bytes);
      return peer ? on_peer_lost(from, *peer) : mark_damaged(from);
    }
    default:
      return;  // orders go to daemons
  }
}

/// A daemon speaks for those that it has started, too.
void Cluster::on_hello(const channel::report::Hello::Daemon& hello) {
  const auto from = hello.node;
  if (!nodes_.is_daemon(from) || nodes_.is_lost(from) || nodes_.has_reported(from)) return;
  watcher_.on_detail(fmt::format("weftd {} on {} (pid {}) is there", hello.version, hello.host, hello.pid));
  if (hello.version != setup_.release)
    return mark_lost({from}, messages::other_version(nodes_.host(from), hello.version, setup_.release));
  base::info(base::LogPart::launch, "the daemon on {} has reported: pid {}", hello.host, hello.pid);
  nodes_.step(from, NodeEvent::hello);
  nodes_.set_addresses(from, hello.addresses);
  channel_.add_contact(hello.contact, [this, from](bool is_right) {
    if (!is_right) return mark_damaged(from);
    nodes_.step(from, NodeEvent::contact_taken);
    watcher_.on_daemon_connected(from);
    tell_if_connected();
  });
}

void Cluster::tell_wanted() {
  std::vector<std::function<void()>> ready;
  std::erase_if(wanted_, [&](Wanted& wanted) {
    const bool is_over = std::all_of(wanted.nodes.begin(), wanted.nodes.end(), [this](auto node) {
      return nodes_.state(node) == NodeState::connected || nodes_.is_lost(node);
    });
    if (is_over) ready.push_back(std::move(wanted.done));
    return is_over;
  });
  for (const auto& done : ready) done();
}

/// Once: when each daemon is connected, or lost, and nothing that waits for the lost ones goes on.
void Cluster::tell_if_connected() {
  if (!wanted_.empty()) asio::post(loop_, [this] { tell_wanted(); });
  const auto there = nodes_.count(NodeState::connected), lost = nodes_.count(NodeState::lost);
  if (is_connected_ || there == 0 || there + lost != nodes_.count()) return;
  is_connected_ = true;
  watcher_.on_all_connected();
}

/// Each server sees a loss at a time of its own. Where the job ends for it, the first that does decides:
/// ranks that leave because their calls fail would be taken for the reason.
void Cluster::on_peer_lost(std::uint32_t from, const channel::report::PeerLost& peer) {
  if (!nodes_.is_daemon(peer.node) || is_leaving_) return;
  const bool ends_a_job = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    const auto state = job->state_on(peer.node);
    return state != FarRanks::State::without_ranks && state != FarRanks::State::settled && !job->continues();
  });
  if (!ends_a_job) return;
  mark_lost({peer.node}, [&](std::string_view consequence) {
    return messages::node_lost(nodes_.host(peer.node), messages::seen_from(nodes_.host(from), peer.why),
                               consequence);
  });
}

// ---- losses

void Cluster::mark_lost(std::vector<std::uint32_t> nodes, const FarRanks::LineOf& line_of) {
  std::erase_if(nodes, [this](auto number) { return !nodes_.step(number, NodeEvent::lost); });
  if (nodes.empty()) return;
  for (const auto& job : jobs_) job->lose(nodes, line_of);
  const bool is_spare = std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](auto node) { return job->state_on(node) != FarRanks::State::without_ranks; });
  });
  if (is_spare && !is_leaving_) watcher_.on_unused_node_lost(line_of(messages::no_job_is_touched));
  tell_if_connected();
}

/// line: of a daemon that no job has come to.
void Cluster::mark_lost(const std::vector<std::uint32_t>& nodes, const std::string& line) {
  mark_lost(nodes, [&line](std::string_view) { return line; });
}

/// What it says cannot be read.
void Cluster::mark_damaged(std::uint32_t node) {
  mark_lost({node}, [this, node](std::string_view consequence) {
    return messages::damaged_report(nodes_.host(node), consequence);
  });
}

/// An agent has failed: its daemon, and those that this daemon has started, are lost. The line for a daemon
/// that had reported differs from that for one that never did.
void Cluster::on_agent_failed(std::vector<std::uint32_t> nodes, const std::string& line,
                              const std::string& how, int exit_code) {
  std::erase_if(nodes, [this](auto number) { return !nodes_.is_daemon(number) || nodes_.is_lost(number); });
  if (nodes.empty()) return;
  const auto first = nodes.front();
  const auto& host = nodes_.host(first);
  if (exit_code == exit_status::no_transport && !is_launched() && is_own_choice(channel_.transport())) {
    wants_another_transport_ = true;
    return mark_lost(nodes, messages::other_transport(host, setup_.identity.host, channel_.transport()));
  }
  const bool has_reason = how.find(": weftd: ") != std::string::npos;
  if (!nodes_.has_reported(first) || how.empty() || (has_reason && !is_launched()))
    return mark_lost(nodes, line);
  mark_lost(nodes,
            [&](std::string_view consequence) { return messages::daemon_ended(host, how, consequence); });
}

}  // namespace weft::cluster
