// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/daemons/daemons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "tools/channel/launch_tree.hpp"
#include "tools/launch/agent_words.hpp"
#include "tools/launch/settings.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
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

Daemons::Daemons(asio::io_context& loop, const process::Spawner& spawner,
                 const host::ServerIdentity& identity, const Plan& plan, const placement::RankTable& table,
                 std::string release, bool continues, DaemonsWatcher& watcher)
    : loop_(loop),
      identity_(identity),
      plan_(plan),
      table_(table),
      release_(std::move(release)),
      continues_(continues),
      watcher_(watcher),
      nodes_(plan.nodes.size()),
      channel_(loop, identity,
               channel::ServerChannel::Events{
                   [this](std::uint32_t from, channel::MessageType type, std::string bytes,
                          channel::Reply reply) { receive(from, type, std::move(bytes), std::move(reply)); },
                   [this](std::uint32_t node, const std::string& why) {
                     if (is_daemon(node))
                       mark_lost({node}, messages::node_lost(nodes_[node].host, why, consequence({node})));
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
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].host = plan.nodes[i].name;
    daemons_ += is_daemon(static_cast<std::uint32_t>(i)) ? 1 : 0;
  }
}

bool Daemons::is_daemon(std::uint32_t number) const noexcept {
  return number < nodes_.size() && (!plan_.own || number != *plan_.own);
}

launch::StartMessage Daemons::start_message() const {
  launch::StartMessage message;
  message.nspace = identity_.nspace;
  message.servers = identity_.servers;
  message.launcher = {identity_.number, identity_.host};
  message.key = identity_.key;
  message.transport = channel_.transport();
  message.contact = channel_.contact();
  message.settings = launch::server_settings(environ);
  message.agent = plan_.agent;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_daemon(i)) message.nodes.push_back({i, nodes_[i].host});
  if (message.agent.kind == launch::Agent::Kind::slurm)
    message.audience = launch::StartMessage::Audience::all;
  return message;
}

void Daemons::start() {
  limit_.expires_after(launch_timeout_);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_launch_timeout();
  });
  const auto message = start_message();
  base::info(base::LogPart::launch, "starts daemons on {} nodes by {}", message.nodes.size(),
             message.agent.words.empty() ? "processes of this machine"
                                         : fmt::format("{}", fmt::join(message.agent.words, " ")));
  if (message.agent.kind == launch::Agent::Kind::slurm)
    base::warn(base::LogPart::launch,
               "the key of this job goes to its nodes through srun, in clear unless Slurm encrypts its "
               "connections (TLS, from "
               "24.11 on): what can read that network can speak for a node of the job. --agent ssh does not "
               "show it");
  agents_.start(message, release_);
}

void Daemons::on_launch_timeout() {
  const double seconds = std::chrono::duration<double>(launch_timeout_).count();
  const auto message = start_message();
  // No node is launched before all daemons have reported: a daemon that has reported waits for the others.
  const bool some_are_missing =
      std::any_of(message.nodes.begin(), message.nodes.end(), [this](const auto& node) {
        return !nodes_[node.number].is_connected && !nodes_[node.number].is_settled;
      });
  for (const auto& node : message.nodes) {
    const auto& state = nodes_[node.number];
    if (state.is_started || state.is_settled || (some_are_missing && state.is_connected)) continue;
    auto single = message;
    single.nodes = {node};
    mark_lost(
        {node.number},
        state.is_connected
            ? messages::node_did_not_start(node.host, seconds, consequence({node.number}))
            : messages::node_did_not_report(
                  node.host, seconds, fmt::format("{}", fmt::join(launch::agent_command(single), " "))));
  }
}

// ---- orders

void Daemons::launch(const channel::order::Launch& launch, std::function<void()> ready) {
  if (is_cancelled_) return;
  is_launched_ = true;
  for (const auto child : channel::children_of(identity_.number, identity_.servers, identity_.number))
    channel_.send({child}, launch);
  ready();
}

void Daemons::signal(int number, const std::vector<Rank>& named, std::function<void()> sent) {
  const bool is_end = number == SIGTERM || number == SIGKILL;
  if (!is_launched_) {
    if (is_end && named.empty()) is_cancelled_ = true;
    for (std::uint32_t i = 0; is_cancelled_ && i < nodes_.size(); ++i)
      asio::post(loop_, [this, i] { settle(i); });
    if (sent) asio::post(loop_, sent);
    return;
  }
  std::map<std::uint32_t, std::vector<Rank>> ranks;
  for (const Rank rank : named)
    if (index(rank) < table_.size()) ranks[table_.node_of(rank)].push_back(rank);
  if (named.empty())
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) ranks[i];
  std::vector<std::uint32_t> all;
  for (const auto& [node, list] : ranks) {
    if (!is_daemon(node) || nodes_[node].is_settled) continue;
    if (named.empty())
      all.push_back(node);
    else
      channel_.send({node}, channel::order::Signal{number, list});
  }
  channel_.send(all, channel::order::Signal{number, {}}, [sent = std::move(sent)](bool) {
    if (sent) sent();
  });
}

void Daemons::send_input(std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
  channel_.send({node}, channel::order::Input{bytes}, [taken = std::move(taken)](bool) { taken(); });
}

void Daemons::close_output(channel::Stream stream) {
  channel_.send(reachable(), channel::order::OutputUnwanted{stream});
}

void Daemons::end(std::optional<job::Ending> ending) {
  is_ending_ = true;
  limit_.cancel();
  agents_.expect_end();
  channel_.send(reachable(), channel::order::End{ending}, [this](bool) { on_order_read(); });
}

void Daemons::on_order_read() {
  if (std::exchange(has_order_been_read_, true)) return;
  limit_.cancel();
  if (end_patience_) agents_.end(*end_patience_);
}

void Daemons::finish(std::chrono::milliseconds patience) {
  if (has_order_been_read_) return agents_.end(patience);
  end_patience_ = patience;
  limit_.expires_after(patience / 2);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_order_read();
  });
}

Daemons::Progress Daemons::progress() const {
  Progress out{.daemons = daemons_, .reported = connected_, .started = started_, .missing = {}};
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto& node = nodes_[i];
    const bool is_there = connected_ < daemons_ ? node.is_connected : node.is_started;
    if (is_daemon(i) && !is_there && !node.is_settled) out.missing.push_back(node.host);
  }
  return out;
}

std::vector<std::string> Daemons::unsettled() const {
  std::vector<std::string> hosts;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_daemon(i) && !nodes_[i].is_settled) hosts.push_back(nodes_[i].host);
  return hosts;
}

std::vector<std::uint32_t> Daemons::reachable() const {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (is_daemon(i) && nodes_[i].is_connected && !nodes_[i].is_lost) numbers.push_back(i);
  return numbers;
}

// ---- reports

void Daemons::receive(std::uint32_t from, channel::MessageType type, std::string bytes,
                      channel::Reply reply) {
  if (!is_daemon(from) || nodes_[from].is_lost) return reply();
  if (type != channel::MessageType::output) {
    reply();
    return take_report(from, type, bytes);
  }
  channel::report::Output output;
  if (!read(bytes, output, from) || !is_rank_of(output.rank, from)) return reply();
  watcher_.on_output(std::move(output), std::move(reply));
}

void Daemons::take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes) {
  switch (type) {
    case channel::MessageType::hello: {
      channel::report::Hello hello;
      if (read(bytes, hello, from)) on_hello(from, hello);
      return;
    }
    case channel::MessageType::unreachable: {
      channel::report::Unreachable unreached;
      if (!read(bytes, unreached, from)) return;
      // A daemon may see one end that it has started before it hears itself that all are to end.
      if (is_ending_) return;
      return on_agent_failed(std::move(unreached.nodes), unreached.line, unreached.how, unreached.exit_code);
    }
    case channel::MessageType::started: {
      channel::report::Started started;
      if (read(bytes, started, from)) on_started(from, started);
      return;
    }
    case channel::MessageType::ended: {
      channel::report::Ended ended;
      if (read(bytes, ended, from) && is_rank_of(ended.end.rank, from)) watcher_.on_ended(ended.end);
      return;
    }
    case channel::MessageType::connected_late: {
      channel::report::ConnectedLate late;
      if (read(bytes, late, from) && is_rank_of(late.rank, from)) watcher_.on_connected_late(late.rank);
      return;
    }
    case channel::MessageType::aborted: {
      channel::report::Aborted aborted;
      if (read(bytes, aborted, from) && is_rank_of(aborted.request.from, from))
        watcher_.on_aborted(aborted.request);
      return;
    }
    case channel::MessageType::input_unwanted:
      return watcher_.on_input_unwanted(from);
    case channel::MessageType::settled: {
      channel::report::Settled settled;
      if (!read(bytes, settled, from)) return;
      if (!settled.other_pmix.empty()) watcher_.on_other_pmix(from, settled.other_pmix);
      return settle(from);
    }
    case channel::MessageType::peer_lost: {
      channel::report::PeerLost peer;
      if (read(bytes, peer, from)) on_peer_lost(from, peer);
      return;
    }
    default:
      return;  // orders go to daemons
  }
}

/// A daemon whose reports cannot be read is marked lost.
template <class Report>
bool Daemons::read(const std::string& bytes, Report& report, std::uint32_t from) {
  auto decoded = channel::decode<Report>(bytes);
  if (!decoded) {
    mark_lost({from}, messages::damaged_report(nodes_[from].host, consequence({from})));
    return false;
  }
  report = std::move(*decoded);
  return true;
}

bool Daemons::is_rank_of(Rank rank, std::uint32_t node) const noexcept {
  return index(rank) < table_.size() && table_.node_of(rank) == node;
}

void Daemons::on_hello(std::uint32_t from, const channel::report::Hello& hello) {
  auto& node = nodes_[from];
  if (node.is_connected) return;
  watcher_.on_detail(fmt::format("weftd {} on {} (pid {}) is there", hello.version, hello.host, hello.pid));
  if (hello.version != release_)
    return mark_lost({from}, messages::other_version(node.host, hello.version, release_));
  base::info(base::LogPart::launch, "the daemon on {} has reported: pid {}", hello.host, hello.pid);
  node.is_connected = true;
  channel_.add_contact(hello.contact, [this, from](bool is_right) {
    if (!is_right) return mark_lost({from}, messages::damaged_report(nodes_[from].host));
    if (++connected_ != daemons_ || is_cancelled_) return;
    watcher_.on_all_connected();
  });
}

void Daemons::on_started(std::uint32_t from, const channel::report::Started& started) {
  auto& node = nodes_[from];
  if (node.is_started || started.pids.size() > table_.ranks_on(from).size()) return;
  base::info(base::LogPart::launch, "{} has started {} processes", node.host, started.pids.size());
  node.is_started = true;
  if (++started_ == daemons_) limit_.cancel();
  watcher_.on_node_started(from, started);
}

/// Each server sees a loss at a time of its own. Where the job ends for it, the first that does decides:
/// ranks that leave because their calls fail would be taken for the reason.
void Daemons::on_peer_lost(std::uint32_t from, const channel::report::PeerLost& peer) {
  if (!is_daemon(peer.node) || continues_ || is_ending_ || nodes_[peer.node].is_settled) return;
  mark_lost({peer.node},
            messages::node_lost(nodes_[peer.node].host, messages::seen_from(nodes_[from].host, peer.why),
                                consequence({peer.node})));
}

void Daemons::settle(std::uint32_t node) {
  if (std::exchange(nodes_[node].is_settled, true)) return;
  watcher_.on_node_settled(node);
}

void Daemons::mark_lost(const std::vector<std::uint32_t>& nodes, const std::string& line) {
  bool is_told = false;
  for (const auto number : nodes) {
    auto& node = nodes_[number];
    if (std::exchange(node.is_lost, true)) continue;
    // Without a descriptor this process hears nothing of a node, whose end looks then as if it came from
    // there.
    watcher_.on_node_lost(number, std::exchange(is_told, true)
                                      ? std::string()
                                      : messages::with_descriptor_limit(line, process::descriptor_limit()));
    if (is_launched_ && !node.is_started) on_started(number, {});  // the job does not wait for its ranks
    settle(number);
  }
}

/// An agent has failed: its daemon, and those that this daemon has started, are lost. The line for a daemon
/// that had reported differs from that for one that never did.
void Daemons::on_agent_failed(std::vector<std::uint32_t> nodes, const std::string& line,
                              const std::string& how, int exit_code) {
  std::erase_if(nodes, [this](auto number) { return !is_daemon(number) || nodes_[number].is_lost; });
  if (nodes.empty()) return;
  const auto& first = nodes_[nodes.front()];
  if (exit_code == exit_status::no_transport && !is_launched_ && is_own_choice(channel_.transport())) {
    wants_another_transport_ = true;
    return mark_lost(nodes, messages::other_transport(first.host, identity_.host, channel_.transport()));
  }
  const bool has_reason = how.find(": weftd: ") != std::string::npos;
  if (!first.is_connected || how.empty() || (has_reason && !is_launched_)) return mark_lost(nodes, line);
  mark_lost(nodes, messages::daemon_ended(first.host, how, consequence(nodes)));
}

std::string Daemons::consequence(const std::vector<std::uint32_t>& lost) const {
  if (!continues_ || !is_launched_) return std::string(messages::end_of_job);
  std::vector<Rank> ranks;
  for (const auto number : lost) {
    const auto here = table_.ranks_on(number);
    ranks.insert(ranks.end(), here.begin(), here.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return messages::others_go_on_without(ranks);
}

}  // namespace weft::weftrun
