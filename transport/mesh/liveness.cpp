// SPDX-License-Identifier: BSD-3-Clause
// Who still lives: signs of life for those that are silent, and the end of those that are lost.
#include <algorithm>

#include "transport/mesh/flags.hpp"
#include "transport/mesh/mesh.hpp"

namespace weft::mesh {

/// Nobody waits for it: where the endpoint has no room now, the next one will do.
void Mesh::say(Node& node, std::uint8_t flags) noexcept {
  Flight* const flight = take_flight(node, nullptr);
  if (flight == nullptr) return;
  flight->offset = flight->length = 0;
  flight->header_bytes = Envelope::bytes;
  seal_flight(node, *flight, flags, 0, {});
  const auto launched = launch(node, *flight);
  if (launched) return;
  --node.last_sequence;
  put_flight(*flight);
  if (launched.error().code == Errc::peer_lost) lose(node, "it cannot be reached");
}

void Mesh::look(TimePoint now) noexcept {
  if (now < next_look_) return;
  // Who has not looked for long was asleep itself (stopped, suspended): the others get their time again.
  const bool was_away = now - last_look_ > limits_.lost_after / 2;
  last_look_ = now;
  next_look_ = TimePoint::max();
  for (const auto& entry : nodes_) {
    if (entry == nullptr || entry->state != NodeState::reached) continue;
    Node& node = *entry;
    if (was_away) node.heard = now;
    const auto silent = now - node.heard;
    if (silent >= limits_.lost_after) {
      lose(node, "nothing was heard of it for too long");
      continue;
    }
    next_look_ = now + limits_.ping_after / 2;
    if (silent >= limits_.ping_after) say(node, flag::ping);
  }
}

/// Its life goes where bury() finds it: this may be called from within its own completions.
void Mesh::lose(Node& node, const char* why) noexcept {
  auto& entry = nodes_[node.number];
  node.state = NodeState::lost;
  node.end.what = why;
  if (std::exchange(node.is_stalled, false)) std::erase(stalled_, &node);
  auto rest = std::make_unique<Node>(node.number);
  rest->state = NodeState::lost;
  rest->incarnation = node.incarnation;
  rest->is_reported = node.is_reported;
  lost_.push_back(std::move(entry));
  entry = std::move(rest);
  ++counters_.nodes_lost;
}

void Mesh::bury() noexcept {
  while (!lost_.empty()) {
    const auto node = std::move(lost_.back());
    lost_.pop_back();
    end_all(*node);
    run_ended();
    watcher_.node_lost(node->number, node->end.what);
  }
}

/// Of a node that is lost.
void Mesh::end_all(Node& node) noexcept {
  if (node.sealed != nullptr) put_flight(*std::exchange(node.sealed, nullptr));
  while (node.first != nullptr) {
    if (!node.first->error_) node.first->error_ = node.end;
    pop(node);
  }
  node.keys.clear();
  node.peer.reset();  // what the endpoint has of it ends in land()
}

}  // namespace weft::mesh
