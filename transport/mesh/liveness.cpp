// SPDX-License-Identifier: BSD-3-Clause
// Probes for silent nodes, and the end of lost ones.
#include <algorithm>

#include "transport/mesh/flags.hpp"
#include "transport/mesh/mesh.hpp"

namespace weft::mesh {

/// No caller waits for a probe: where the endpoint has no room now, the next probe serves as well.
void Mesh::send_probe(Node& node, std::uint8_t flags) noexcept {
  Operation* const operation = allocate_operation(node, nullptr);
  if (operation == nullptr) return;
  operation->offset = operation->length = 0;
  operation->header_bytes = Envelope::bytes;
  seal_operation(node, *operation, flags, 0, {});
  const auto submitted = submit(node, *operation);
  if (submitted) return;
  --node.last_sequence;
  free_operation(*operation);
  if (submitted.error().code == Errc::peer_lost) lose(node, "it cannot be reached");
}

/// Where packets of the card's own size do not get through, short messages arrive, and a long one is tried
/// until its sender gives up.
const char* Mesh::why_silent(const Node& node) noexcept {
  constexpr std::size_t fits_any_packet = 1024;
  for (const auto* open = node.first_open; open != nullptr; open = open->next)
    if (open->length > fits_any_packet)
      return "nothing was heard of it for too long, with a long message under way to it: where short ones "
             "arrive, compare the MTUs of the cards and of what is between them";
  return "nothing was heard of it for too long";
}

void Mesh::check_liveness(TimePoint now) noexcept {
  if (now < next_check_) return;
  // This process itself was stopped or suspended if its last check is long ago: every node gets its time
  // again.
  const bool was_away = now - last_check_ > limits_.lost_after / 2;
  last_check_ = now;
  next_check_ = TimePoint::max();
  for (const auto& entry : nodes_) {
    if (entry == nullptr) continue;
    Node& node = *entry;
    if (node.state != NodeState::reached && !node.is_postponed) continue;
    if (was_away) node.heard = now;
    const auto silent = now - node.heard;
    if (silent >= limits_.lost_after) {
      lose(node, node.is_postponed ? "this node has no descriptor or memory left to reach it with"
                                   : why_silent(node));
      continue;
    }
    if (node.is_postponed && !reachable(node.number)) continue;  // which says when to try again
    next_check_ = std::min(next_check_, now + limits_.probe_after / 2);
    if (silent >= limits_.probe_after) send_probe(node, flag::probe);
  }
}

/// Moves the node to lost_; reap_lost() frees it later, because this may run inside one of its completions.
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

/// Not where the loss is found: a node that ended in good order says so in the last of the messages that may
/// still lie here.
void Mesh::lose_gone() noexcept {
  for (const auto number : std::exchange(gone_, {}))
    if (Node* const node = find(number); node != nullptr && node->is_gone)
      lose(*node, "it cannot be reached");
}

void Mesh::reap_lost() noexcept {
  while (!lost_.empty()) {
    const auto node = std::move(lost_.back());
    lost_.pop_back();
    end_work(*node);
    run_ended();
    watcher_.node_lost(node->number, node->end.what);
  }
}

/// Ends all work of a lost node.
void Mesh::end_work(Node& node) noexcept {
  if (node.sealed != nullptr) free_operation(*std::exchange(node.sealed, nullptr));
  while (node.first != nullptr) {
    if (!node.first->error_) node.first->error_ = node.end;
    dequeue(node);
  }
  node.keys.clear();
  node.peer.reset();  // its open operations end in on_complete()
}

}  // namespace weft::mesh
