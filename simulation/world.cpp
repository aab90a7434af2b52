// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/world.hpp"

#include <algorithm>
#include <iterator>

#include "simulation/require.hpp"

namespace weft::simulation {
namespace {

using std::chrono::nanoseconds;

sim::Parameters driven(sim::Parameters parameters, std::uint64_t seed) {
  parameters.passes_alone = false;
  parameters.seed = seed;
  return parameters;
}

/// The first time of a run: no clock is near its origin, and ages are not negative.
constexpr std::chrono::hours first_time{1};
/// By then what a server that leaves has said is on its way.
constexpr std::chrono::microseconds length_of_goodbye{100};

}  // namespace

World::World(const Shape& shape)
    : now_(first_time),
      network_(driven(shape.network, shape.seed)),
      places_(shape.places()),
      random_(shape.seed),
      clients_(places_.count()),
      local_(shape.nodes),
      spawned_(places_.jobs(), shape.nodes, ~shape.seed),
      printed_(shape.nodes, ~shape.seed + 1) {
  for (NodeNumber number = 0; number < shape.nodes; ++number)
    nodes_.push_back(std::make_unique<Node>(
        network_, now_,
        Node::Place{number, shape.nodes, shape.limits, shape.width_of_ends,
                    shape.is_one_machine ? 1 : std::uint64_t{number} + 1, shape.costs}));
  for (const auto& to : nodes_)
    for (const auto& from : nodes_)
      if (to != from) to->add(from->contact());
  for (const auto& node : nodes_) {
    node->register_job({nspace, shape.nodes, places_.nodes_of(0)});
    awake_.insert(node->self());
  }
  for (std::uint32_t rank = 0; rank < places_.end_of(0); ++rank) begin_process(rank);
  const auto is_let_in = [&] {
    return std::all_of(clients_.begin(), clients_.begin() + places_.end_of(0),
                       [](const auto& each) { return each->is_welcome(); });
  };
  while (!is_let_in()) require(step(now() + std::chrono::seconds(1)), "a way in for the clients");
  begin_ = now_;
}

World::~World() {
  for (const auto& client : clients_)
    if (client) client->remove();
  for (NodeNumber number = 0; number < nodes(); ++number)
    if (nodes_[number]) lose(number);
}

void World::begin_process(std::uint32_t rank) {
  const auto node = node_of(rank);
  clients_[rank] = std::make_unique<Client>(*nodes_[node], places_.proc_of(rank));
  local_[node].push_back(rank);
  wake(node);
}

bool World::step(nanoseconds until) {
  if (carry_out_orders() || bring_printed()) return true;
  if (awake_.empty()) return pass_time(until);
  auto next = awake_.begin();
  std::advance(next, static_cast<std::ptrdiff_t>(random_() % awake_.size()));
  round(*next);
  return true;
}

void World::round(NodeNumber number) {
  bool has_moved = nodes_[number]->round();
  for (const auto rank : local_[number]) has_moved |= clients_[rank]->look();
  if (!has_moved) awake_.erase(number);
}

/// To what happens next: an event of the network, or a timer of a node.
bool World::pass_time(nanoseconds until) {
  auto when = begin_ + until;
  const auto virtual_time = [this](sim::Time time) {
    return Loop::TimePoint(first_time) + nanoseconds(time);
  };
  if (const auto event = network_.next()) when = std::min(when, virtual_time(*event));
  for (const auto& node : nodes_)
    if (node && !is_paused(node->self())) when = std::min(when, std::max(now_, node->deadline()));
  when = std::min(when, std::max(now_, next_letter()));
  for (const auto& client : clients_)
    if (client && !client->is_gone() && !is_paused(client->node()))
      when = std::min(when, std::max(now_, client->deadline()));
  for (const auto* ends : {&paused_until_, &leaves_at_})
    for (const auto& [node, end] : *ends) when = std::min(when, end);
  const bool has_come = when >= begin_ + until;
  now_ = std::max(now_, when);
  const auto in_network = (now_ - Loop::TimePoint(first_time)).count();
  if (network_.next() == in_network) {
    network_.advance();
    for (const auto node : network_.reached()) wake(node);
  }
  network_.pass_to(in_network);
  std::erase_if(paused_until_, [&](const auto& pause) {
    if (pause.second > now_) return false;
    if (nodes_[pause.first]) awake_.insert(pause.first);
    return true;
  });
  for (NodeNumber number = 0; number < nodes(); ++number)
    if (const auto leaves = leaves_at_.find(number); leaves != leaves_at_.end() && leaves->second <= now_)
      forget(number);
  for (const auto& node : nodes_)
    if (node && node->deadline() <= now_) wake(node->self());
  for (const auto& client : clients_)
    if (client && !client->is_gone() && client->deadline() <= now_) wake(client->node());
  return !has_come || !awake_.empty() || next_letter() <= now_;
}

void World::end_process(std::uint32_t rank) {
  if (is_gone(rank)) return;
  clients_[rank]->remove();
  wake(node_of(rank));
}

void World::lose(NodeNumber number) {
  if (!nodes_[number]) return;
  end_clients(number);
  network_.drop(number, network_.now());
  forget(number);
}

/// What it has sent before comes.
void World::leave(NodeNumber number) {
  if (!nodes_[number]) return;
  end_clients(number);
  nodes_[number]->say_goodbye();
  wake(number);
  leaves_at_.emplace(number, now_ + length_of_goodbye);
}

void World::end_clients(NodeNumber number) {
  for (const auto rank : local_[number]) clients_[rank]->remove();
}

void World::forget(NodeNumber number) {
  awake_.erase(number);
  paused_until_.erase(number);
  leaves_at_.erase(number);
  nodes_[number].reset();
}

Loop::TimePoint World::next_letter() {
  return std::min(spawned_.orders().next(), printed_.texts().next());
}

/// Calls act(letter, whether its node is there) for those that have come; true: any has.
template <class Letter, class Act>
bool World::each_letter(Mail<Letter>& mail, Act&& act) {
  bool has_come = false;
  while (auto letter = mail.take(now_)) {
    const auto node = letter->node;
    if (const auto pause = paused_until_.find(node); pause != paused_until_.end()) {
      mail.put_off(std::move(*letter), pause->second);
      continue;
    }
    act(*letter, nodes_[node] && leaves_at_.count(node) == 0);
    has_come = true;
  }
  return has_come;
}

// ---- jobs that are started later

void World::start(JobNumber job) {
  spawned_.start(job, live_nodes(), now_);
}

std::optional<nanoseconds> World::end_of(JobNumber job) const {
  const auto found = ends_of_jobs_.find(job);
  return found == ends_of_jobs_.end() ? std::nullopt : std::optional<nanoseconds>(found->second - begin_);
}

/// A node that leaves is told nothing more.
std::vector<NodeNumber> World::live_nodes() const {
  std::vector<NodeNumber> out;
  for (NodeNumber node = 0; node < nodes(); ++node)
    if (nodes_[node] && leaves_at_.count(node) == 0) out.push_back(node);
  return out;
}

bool World::carry_out_orders() {
  // A node may have been lost since.
  bool has_moved = end_what_is_over();
  has_moved |= each_letter(spawned_.orders(), [this](const SpawnedJobs::Order& order, bool is_there) {
    if (is_there) carry_out(order);
    spawned_.is_done(order);
  });
  has_moved |= end_what_is_over();
  changes_of_jobs_ += has_moved ? 1 : 0;
  return has_moved;
}

void World::carry_out(const SpawnedJobs::Order& order) {
  auto& node = *nodes_[order.node];
  wake(order.node);
  if (order.is_end) return node.end_job(Places::nspace_of(order.job));
  node.register_job({Places::nspace_of(order.job), nodes(), places_.nodes_of(order.job), true});
  if (state_of(order.job) != SpawnedJobs::State::starting) return;
  for (auto rank = places_.first_of(order.job); rank < places_.end_of(order.job); ++rank)
    if (node_of(rank) == order.node) begin_process(rank);
}

bool World::end_what_is_over() {
  bool has_ended = false;
  for (JobNumber job = 1; job < places_.jobs(); ++job) has_ended |= end_if_over(job);
  return has_ended;
}

/// A job with a process on a node that is gone before all nodes know of it has failed: its processes are
/// killed.
bool World::end_if_over(JobNumber job) {
  using State = SpawnedJobs::State;
  if (state_of(job) == State::unknown || ends_of_jobs_.count(job) != 0) return false;
  bool is_over = true;
  for (auto rank = places_.first_of(job); rank < places_.end_of(job); ++rank) {
    const bool has_node = nodes_[node_of(rank)] && leaves_at_.count(node_of(rank)) == 0;
    if (!has_node && state_of(job) == State::starting) spawned_.has_failed(job);
    const bool is_coming = has_node && !has_started(rank);
    is_over &= !is_coming && (is_gone(rank) || clients_[rank]->has_hung_up());
  }
  if (!is_over && state_of(job) != State::failed) return false;
  for (auto rank = places_.first_of(job); rank < places_.end_of(job); ++rank)
    if (has_started(rank) && !clients_[rank]->has_hung_up()) end_process(rank);
  ends_of_jobs_.emplace(job, now_);
  spawned_.end(job, live_nodes(), now_);
  return true;
}

// ---- what processes print

void World::print(std::uint32_t rank, std::vector<std::byte> bytes) {
  printed_.print(live_nodes(), {0, places_.proc_of(rank), std::move(bytes)}, now_);
}

bool World::bring_printed() {
  return each_letter(printed_.texts(), [this](Printed::Text& text, bool is_there) {
    if (!is_there) return;
    nodes_[text.node]->deliver(text.source, std::move(text.bytes));
    wake(text.node);
  });
}

void World::pause(NodeNumber number, nanoseconds time) {
  if (!nodes_[number]) return;
  awake_.erase(number);
  auto& end = paused_until_[number];
  end = std::max(end, now_ + time);
}

}  // namespace weft::simulation
