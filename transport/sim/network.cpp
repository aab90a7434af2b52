// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sim/network.hpp"

#include <algorithm>
#include <utility>

#include "transport/sim/endpoint.hpp"

namespace weft::sim {

Result<std::unique_ptr<Endpoint>> SimTransport::open(const Opening& opening) {
  if (!opening.options.empty()) return fail(Errc::not_found, "the simulated network has no providers");
  return std::make_unique<SimEndpoint>(network_);
}

Node Network::join(SimEndpoint& endpoint) {
  nodes_.push_back({.endpoint = &endpoint});
  wires_.add_node();
  return static_cast<Node>(nodes_.size() - 1);
}

void Network::drop(Node node, Time at) {
  if (at <= now_) {
    nodes_[node].dropped = true;
    return;
  }
  schedule(new_event(Kind::drop, node, node), std::max(at, now_));
}

std::uint32_t Network::new_event(Kind kind, Node from, Node to) {
  std::uint32_t index = free_events_;
  if (index == none) {
    index = static_cast<std::uint32_t>(events_.size());
    events_.emplace_back();
  } else {
    free_events_ = events_[index].next;
  }
  Event& event = events_[index];
  auto bytes = std::move(event.bytes);
  bytes.clear();
  event = Event{};
  event.bytes = std::move(bytes);
  event.kind = kind;
  event.from = from;
  event.to = to;
  return index;
}

void Network::free_event(std::uint32_t index) {
  constexpr std::size_t most_kept_bytes =
      4096;  // so that a burst of large messages does not keep its memory for ever
  Event& event = events_[index];
  if (event.bytes.capacity() > most_kept_bytes) std::vector<std::byte>().swap(event.bytes);
  event.next = free_events_;
  free_events_ = index;
}

Network::Delivery Network::plan_delivery(const LogGP& cost, Node from, Node to, std::size_t bytes) {
  Time late = 0;
  if (const auto extra = extra_.find(pair(from, to)); extra != extra_.end()) late += extra->second;
  if (parameters_.jitter > 0)
    late += static_cast<Time>(random_() % static_cast<std::uint64_t>(parameters_.jitter + 1));
  auto [sent, arrived] = wires_.plan(cost, now_, from, to, bytes, late);
  if (parameters_.jitter > 0 || !extra_.empty()) {
    Time& last = last_arrival_[pair(from, to)];
    arrived = last = std::max(arrived, last);
  }
  return {sent, arrived + cost.overhead};
}

bool Network::step() {
  if (!advance()) return false;
  const auto reached = std::exchange(reached_, {});
  for (const Node node : reached)
    if (is_up(node)) nodes_[node].endpoint->progress_if_any();
  reached_.clear();
  return true;
}

bool Network::advance() {
  reached_.clear();
  if (heap_.empty()) return false;
  now_ = heap_.top().at;
  while (!heap_.empty() && heap_.top().at == now_) {
    const auto event = heap_.top().event;
    heap_.pop();
    execute(event);
  }
  return true;
}

void Network::execute(std::uint32_t index) {
  const Event& event = events_[index];
  if (event.kind == Kind::drop) {
    nodes_[event.to].dropped = true;
    return free_event(index);
  }
  if (event.kind == Kind::get_request) return serve_get(index);
  // Operations that this ends are ended by events of their own
  if (!is_up(event.to)) return free_event(index);
  reached_.push_back(event.to);
  nodes_[event.to].endpoint->receive(index);
}

/// Executed by the network card of the target: needs neither its progress nor its processor.
void Network::serve_get(std::uint32_t index) {
  Event& event = events_[index];
  const Node target = event.to, reader = event.from;
  event.from = target;
  event.to = reader;
  if (!is_up(target)) {
    event.kind = Kind::lost;
    return schedule(index, now_ + parameters_.get.latency);
  }
  event.kind = Kind::get_reply;
  const auto& regions = nodes_[target].endpoint->regions_;
  const SimRegion* region = event.region < regions.size() ? regions[event.region] : nullptr;
  const std::size_t room = region == nullptr ? 0 : region->memory().size();
  event.failed = region == nullptr || event.offset > room || event.length > room - event.offset;
  event.error = Errc::invalid;
  if (!event.failed) {
    const auto bytes = region->memory().subspan(event.offset, event.length);
    event.bytes.assign(bytes.begin(), bytes.end());
  }
  schedule(index, plan_delivery(parameters_.get, target, reader, event.failed ? 0 : event.length).arrived);
}

}  // namespace weft::sim
