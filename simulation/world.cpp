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
      ranks_a_node_(shape.ranks_a_node),
      random_(shape.seed) {
  for (NodeNumber number = 0; number < shape.nodes; ++number)
    nodes_.push_back(std::make_unique<Node>(
        network_, now_, Node::Place{number, shape.nodes, shape.limits, shape.width_of_ends}));
  for (const auto& to : nodes_)
    for (const auto& from : nodes_)
      if (to != from) to->add(from->contact());
  for (const auto& node : nodes_) {
    node->register_job({nspace, shape.nodes, shape.ranks_a_node});
    awake_.insert(node->self());
  }
  for (std::uint32_t rank = 0; rank < shape.nodes * shape.ranks_a_node; ++rank)
    clients_.push_back(std::make_unique<Client>(*nodes_[node_of(rank)], link::make_proc(nspace, rank)));
  const auto is_let_in = [&] {
    return std::all_of(clients_.begin(), clients_.end(), [](const auto& each) { return each->is_welcome(); });
  };
  while (!is_let_in()) require(step(now() + std::chrono::seconds(1)), "a way in for the clients");
  begin_ = now_;
}

World::~World() {
  for (const auto& client : clients_) client->remove();
  for (NodeNumber number = 0; number < nodes(); ++number)
    if (nodes_[number]) lose(number);
}

bool World::step(nanoseconds until) {
  if (awake_.empty()) return pass_time(until);
  auto next = awake_.begin();
  std::advance(next, static_cast<std::ptrdiff_t>(random_() % awake_.size()));
  round(*next);
  return true;
}

void World::round(NodeNumber number) {
  bool has_moved = nodes_[number]->round();
  for (std::uint32_t i = 0; i < ranks_a_node_; ++i) has_moved |= clients_[number * ranks_a_node_ + i]->look();
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
  for (const auto& client : clients_)
    if (!client->is_gone() && !is_paused(client->node()))
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
    if (!client->is_gone() && client->deadline() <= now_) wake(client->node());
  return !has_come || !awake_.empty();
}

void World::end_process(std::uint32_t rank) {
  if (clients_[rank]->is_gone()) return;
  clients_[rank]->remove();
  wake(node_of(rank));
}

void World::lose(NodeNumber number) {
  if (!nodes_[number]) return;
  for (std::uint32_t i = 0; i < ranks_a_node_; ++i) clients_[number * ranks_a_node_ + i]->remove();
  network_.drop(number, network_.now());
  forget(number);
}

/// What it has sent before comes.
void World::leave(NodeNumber number) {
  if (!nodes_[number]) return;
  for (std::uint32_t i = 0; i < ranks_a_node_; ++i) clients_[number * ranks_a_node_ + i]->remove();
  nodes_[number]->say_goodbye();
  wake(number);
  leaves_at_.emplace(number, now_ + length_of_goodbye);
}

void World::forget(NodeNumber number) {
  awake_.erase(number);
  paused_until_.erase(number);
  leaves_at_.erase(number);
  nodes_[number].reset();
}

void World::pause(NodeNumber number, nanoseconds time) {
  if (!nodes_[number]) return;
  awake_.erase(number);
  auto& end = paused_until_[number];
  end = std::max(end, now_ + time);
}

}  // namespace weft::simulation
