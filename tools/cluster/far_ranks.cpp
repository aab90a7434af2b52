// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cluster/far_ranks.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <map>
#include <utility>

#include "base/log_format.hpp"
#include "tools/messages/messages.hpp"
#include "tools/process/fd.hpp"

namespace weft::cluster {

using job::Rank;

namespace {

/// An order goes down a tree of a hundred thousand nodes within it. From SIGTERM to SIGKILL it is twice that.
constexpr std::chrono::seconds time_for_orders{1};

}  // namespace

FarRanks::FarRanks(asio::io_context& loop, const Nodes& nodes, const JobOrders::Way& way, Job job,
                   FarRanksWatcher& watcher)
    : loop_(loop),
      nodes_(nodes),
      channel_(way.channel),
      job_(std::move(job)),
      orders_(way, nodes, job_.nspace),
      watcher_(watcher),
      nodes_here_(nodes.size()),
      straight_(loop) {}

// ---- orders

void FarRanks::launch(channel::order::Launch launch, const std::function<void()>& ready) {
  if (is_canceled_) return;
  is_launched_ = true;
  if (job_.has_witnesses)
    for (const auto node : nodes_.reachable())
      if (nodes_.is_daemon(node) && !has_ranks_on(node)) witnesses_.insert(node);
  unaware_ = witnesses_;
  launch.witnesses.assign(witnesses_.begin(), witnesses_.end());
  orders_.launch(job_nodes(), launch);
  ready();
}

void FarRanks::add_witness(std::uint32_t node, channel::order::Launch launch) {
  if (is_over_ || nodes_.is_lost(node) || has_ranks_on(node) || !witnesses_.insert(node).second) return;
  unaware_.insert(node);
  launch.late_host = nodes_.host(node);
  orders_.add_late(node);
  channel_.send({node}, launch);
}

void FarRanks::signal(int number, const std::vector<Rank>& named) {
  const bool is_end = number == SIGTERM || number == SIGKILL;
  if (!is_launched_) {
    if (is_end && named.empty()) is_canceled_ = true;
    for (const auto node : is_canceled_ ? job_nodes() : std::vector<std::uint32_t>())
      asio::post(loop_, [this, node] { settle(node); });
    return;
  }
  if (is_over_) return;
  if (named.empty()) {
    if (!unsettled_nodes().empty()) give(channel::order::Signal{job_.nspace, number, {}});
    return;
  }
  std::map<std::uint32_t, std::vector<Rank>> ranks;
  for (const Rank rank : named)
    if (index(rank) < job_.table.size()) ranks[job_.table.node_of(rank)].push_back(rank);
  for (const auto& [node, list] : ranks) {
    if (!nodes_.is_daemon(node) || nodes_here_[node].is_settled) continue;
    orders_.go_straight(node);  // behind signals for all ranks, and before those that follow
    channel_.send({node}, channel::order::Signal{job_.nspace, number, list});
  }
}

/// A daemon that stands still, and is not lost yet, has the orders of all below it.
template <class Order>
void FarRanks::give(const Order& order) {
  orders_.give(order);
  if (std::exchange(looks_after_orders_, true)) return;
  straight_.expires_after(time_for_orders);
  straight_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    looks_after_orders_ = false;
    if (is_over_ || orders_.are_taken()) return;
    for (const auto node : unsettled_nodes()) orders_.go_straight(node);
  });
}

void FarRanks::send_input(std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
  if (is_over_) {
    asio::post(loop_, std::move(taken));
    return;
  }
  channel_.send({node}, channel::order::Input{job_.nspace, bytes},
                [taken = std::move(taken)](bool) { taken(); });
}

void FarRanks::push_input(std::uint32_t node, const channel::order::Pushed& input,
                          std::function<void()> taken) {
  if (!is_launched_ || is_over_ || nodes_.is_lost(node)) return asio::post(loop_, std::move(taken));
  channel_.send({node}, input, [taken = std::move(taken)](bool) { taken(); });
}

void FarRanks::close_output(job::Stream stream) {
  if (is_launched_ && !is_over_) give(channel::order::OutputUnwanted{job_.nspace, stream});
}

void FarRanks::find_places(bool wants_stacks, std::chrono::milliseconds limit, PlacesFound done) {
  const auto number = ++last_question_;
  PlaceQuestion question{{}, 0, asio::steady_timer(loop_), std::move(done)};
  std::vector<std::uint32_t> asked;
  for (const auto node : job_nodes()) {
    if (!nodes_.is_daemon(node) || nodes_here_[node].is_settled) continue;
    question.nodes.push_back({node});
    if (is_launched_ && !is_over_ && !nodes_.is_lost(node)) asked.push_back(node);
  }
  question.awaited = asked.size();
  auto& open = questions_.emplace(number, std::move(question)).first->second;
  open.limit.expires_after(asked.empty() ? std::chrono::milliseconds(0) : limit);
  open.limit.async_wait([this, number](const asio::error_code& error) {
    if (!error) end_places(number);
  });
  channel_.send(asked, channel::order::FindPlaces{job_.nspace, number, wants_stacks});
}

/// Perhaps from a node that was not asked, or too late.
void FarRanks::take_places(std::uint32_t from, channel::report::PlacesHere report) {
  const auto open = questions_.find(report.number);
  if (open == questions_.end()) return;
  std::erase_if(report.places.ranks, [&](const auto& place) { return !is_rank_of(place.rank, from); });
  for (auto& node : open->second.nodes) {
    if (node.node != from || node.places) continue;
    node.places = std::move(report.places);
    if (--open->second.awaited == 0) return end_places(report.number);
  }
}

void FarRanks::end_places(std::uint64_t number) {
  auto open = questions_.extract(number);
  if (open) open.mapped().done(std::move(open.mapped().nodes));
}

void FarRanks::end(const std::optional<job::Ending>& ending, std::function<void()> gone) {
  is_over_ = true;
  if (is_launched_) return orders_.end(channel::order::EndJob{job_.nspace, ending}, std::move(gone));
  if (gone) asio::post(loop_, std::move(gone));
}

std::vector<std::uint32_t> FarRanks::unsettled_nodes() const {
  auto out = job_nodes();
  std::erase_if(out, [this](auto node) { return !nodes_.is_daemon(node) || nodes_here_[node].is_settled; });
  return out;
}

std::vector<std::string> FarRanks::unsettled() const {
  std::vector<std::string> hosts;
  for (const auto node : unsettled_nodes()) hosts.push_back(nodes_.host(node));
  return hosts;
}

std::vector<std::uint32_t> FarRanks::job_nodes() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    if (has_ranks_on(node)) out.push_back(node);
  return out;
}

// ---- reports

bool FarRanks::take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes,
                           channel::Reply reply) {
  namespace report = channel::report;
  if (type == channel::MessageType::output) {
    auto output = channel::decode<report::Output>(bytes);
    if (output && is_rank_of(output->rank, from)) take_output(from, std::move(*output), std::move(reply));
    return output.has_value();
  }
  switch (type) {
    case channel::MessageType::started: {
      const auto started = channel::decode<report::Started>(bytes);
      if (started) on_started(from, *started);
      return started.has_value();
    }
    case channel::MessageType::ended: {
      const auto ended = channel::decode<report::Ended>(bytes);
      if (!ended) return false;
      for (const auto& end : ended->ends)
        if (is_rank_of(end.rank, from)) watcher_.on_ended(end);
      return true;
    }
    case channel::MessageType::connected_late: {
      const auto late = channel::decode<report::ConnectedLate>(bytes);
      if (late && is_rank_of(late->rank, from)) watcher_.on_connected_late(late->rank);
      return late.has_value();
    }
    case channel::MessageType::aborted: {
      const auto aborted = channel::decode<report::Aborted>(bytes);
      if (aborted && is_rank_of(aborted->request.from, from)) watcher_.on_aborted(aborted->request);
      return aborted.has_value();
    }
    case channel::MessageType::held: {
      const auto held = channel::decode<report::HeldHere>(bytes);
      if (held) watcher_.on_held(from, held->held);
      return held.has_value();
    }
    case channel::MessageType::places: {
      auto places = channel::decode<report::PlacesHere>(bytes);
      if (places) take_places(from, std::move(*places));
      return places.has_value();
    }
    case channel::MessageType::input_unwanted:
      watcher_.on_input_unwanted(from);
      return true;
    case channel::MessageType::settled: {
      auto settled = channel::decode<report::Settled>(bytes);
      if (!settled) return false;
      if (!settled->other_pmix.empty()) watcher_.on_other_pmix(from, settled->other_pmix);
      if (settled->start && has_ranks_on(from)) watcher_.on_start_times(from, *settled->start);
      if (settled->trace && has_ranks_on(from)) watcher_.on_trace(from, std::move(*settled->trace));
      settle(from);
      return true;
    }
    default:
      return true;  // orders go to daemons
  }
}

/// Output comes straight, and `started` up the tree: what comes first waits for it.
void FarRanks::take_output(std::uint32_t from, channel::report::Output output, channel::Reply written) {
  if (nodes_here_[from].is_started) return watcher_.on_output(std::move(output), std::move(written));
  early_[from].push_back({std::move(output), std::move(written)});
}

bool FarRanks::is_rank_of(Rank rank, std::uint32_t node) const noexcept {
  return index(rank) < job_.table.size() && job_.table.node_of(rank) == node;
}

void FarRanks::take_witness(std::uint32_t node) {
  if (unaware_.erase(node) != 0 && unaware_.empty()) watcher_.on_known_everywhere();
}

void FarRanks::on_started(std::uint32_t from, const channel::report::Started& started) {
  if (witnesses_.count(from) != 0) {
    if (!started.failure.empty())
      base::warn(base::LogPart::launch, "processes on {} do not know job {}: {}", nodes_.host(from),
                 job_.nspace, started.failure);
    return take_witness(from);
  }
  if (nodes_here_[from].is_started || started.pids.size() > job_.table.ranks_on(from).size()) return;
  base::info(base::LogPart::launch, "{} has started {} processes of {}", nodes_.host(from),
             started.pids.size(), job_.nspace);
  nodes_here_[from].is_started = true;
  ++started_;
  watcher_.on_node_started(from, started);
  if (auto early = early_.extract(from))
    for (auto& [output, written] : early.mapped()) watcher_.on_output(std::move(output), std::move(written));
}

FarRanks::State FarRanks::state_on(std::uint32_t node) const {
  if (!has_ranks_on(node)) return State::without_ranks;
  if (nodes_here_[node].is_settled) return State::settled;
  if (nodes_here_[node].is_started) return State::started;
  return is_launched_ ? State::starting : State::planned;
}

void FarRanks::settle(std::uint32_t node) {
  if (!has_ranks_on(node)) return;
  if (std::exchange(nodes_here_[node].is_settled, true)) return;
  watcher_.on_node_settled(node);
}

// ---- losses

void FarRanks::lose(const std::vector<std::uint32_t>& nodes, const LineOf& line_of) {
  bool is_told = false;
  for (const auto node : nodes) {
    take_witness(node);
    if (!has_ranks_on(node)) continue;
    early_.erase(node);
    // Without a descriptor this process hears nothing of a node, whose end looks then as if it came from
    // there.
    watcher_.on_node_lost(node, std::exchange(is_told, true)
                                    ? std::string()
                                    : messages::with_descriptor_limit(line_of(consequence(nodes)),
                                                                      process::descriptor_limit()));
    if (is_launched_ && !nodes_here_[node].is_started)
      on_started(node, {});  // it does not wait for its ranks
    settle(node);
  }
}

std::string FarRanks::consequence(const std::vector<std::uint32_t>& lost) const {
  if (!job_.continues || !is_launched_) return std::string(messages::end_of_job);
  std::vector<Rank> ranks;
  for (const auto node : lost) {
    const auto here = job_.table.ranks_on(node);
    ranks.insert(ranks.end(), here.begin(), here.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return messages::others_go_on_without(ranks);
}

}  // namespace weft::cluster
