// SPDX-License-Identifier: BSD-3-Clause
// The table of nodes, and what arrives from them.
#include "transport/mesh/mesh.hpp"

#include <algorithm>
#include <limits>

#include "transport/mesh/flags.hpp"

namespace weft::mesh {
namespace {

/// An error of reach() that may be gone another time.
bool is_lack(Errc code) noexcept {
  return code == Errc::os || code == Errc::no_memory || code == Errc::no_space || code == Errc::again;
}

}  // namespace

const char* to_text(Refusal why) noexcept {
  switch (why) {
    case Refusal::unknown_sender:
      return "a sender that is no node of this job";
    case Refusal::not_authentic:
      return "its tag is not right: it is not of this job, or was changed on its way";
    case Refusal::stale_incarnation:
      return "it comes from an earlier incarnation of that node, or from one that is lost";
    case Refusal::replayed:
      return "it was received before";
    case Refusal::malformed:
      return "it has no envelope";
    case Refusal::unknown_id:
      return "no handler here takes messages of that id";
    case Refusal::other_version:
      return "it speaks another version; all servers of a cluster have to be of one release";
  }
  return "";
}

Mesh::Mesh(Endpoint& endpoint, const JobKey& key, NodeIncarnation self, NodeNumber nodes, Watcher& watcher,
           const Limits& limits)
    : endpoint_(endpoint), key_(key), self_(self), watcher_(watcher), limits_(limits), nodes_(nodes) {
  endpoint_.on_message([](void* mesh, std::uint16_t,
                          const Message& message) noexcept { static_cast<Mesh*>(mesh)->receive(message); },
                       this);
}

Mesh::~Mesh() {
  endpoint_.on_message([](void*, std::uint16_t, const Message&) noexcept {}, nullptr);
  // From here on a done() that calls this mesh finds no node.
  auto nodes = std::exchange(nodes_, {});
  for (auto* table : {&nodes, &lost_}) {
    for (const auto& node : *table) {
      if (node == nullptr) continue;
      node->state = NodeState::lost;
      node->end = {Errc::canceled};
      end_work(*node);
    }
  }
  run_ended();
}

void Mesh::on(std::uint16_t id, MessageHandler handler, void* self) {
  handlers_.at(id) = {handler, self};
}

RegionNumber Mesh::offer(const MemoryRegion& region) {
  offered_.push_back(&region);
  return static_cast<RegionNumber>(offered_.size() - 1);
}

Contact Mesh::contact() const {
  Contact out{.incarnation = self_.incarnation, .address = endpoint_.address(), .keys = {}};
  for (const auto* region : offered_) {
    const Bytes key = region->packed_key();
    out.keys.emplace_back(key.begin(), key.end());
  }
  return out;
}

Node* Mesh::find(NodeNumber number) const noexcept {
  return number < nodes_.size() ? nodes_[number].get() : nullptr;
}

NodeState Mesh::state(NodeNumber number) const noexcept {
  const Node* node = find(number);
  return node == nullptr ? NodeState::expected : node->state;
}

Result<void> Mesh::expect(NodeNumber number) {
  if (number >= nodes_.size() || number == self_.node)
    return fail(Errc::invalid, "no other node of this job");
  auto& node = nodes_[number];
  if (node == nullptr) node = std::make_unique<Node>(number);
  if (node->state == NodeState::lost) node->state = NodeState::expected;
  return {};
}

Result<void> Mesh::add_peer(NodeNumber number, const Contact& contact) {
  if (contact.incarnation == 0) return fail(Errc::invalid, "a contact without an incarnation");
  if (const auto known = expect_earlier(number, contact.incarnation); !known) return known;
  Node& node = *nodes_[number];
  node.incarnation = contact.incarnation;
  if (node.state == NodeState::reached) return {};
  node.state = NodeState::known;
  node.contact = pack(contact);
  // Messages of that node may wait for a connection that only this node can make.
  return endpoint_.capabilities().is_reachable ? Result<void>() : connect(number);
}

Result<void> Mesh::exclude(NodeNumber number, const char* why) {
  if (find(number) == nullptr)
    if (const auto expected = expect(number); !expected) return expected;
  if (nodes_[number]->state != NodeState::lost) lose(*nodes_[number], why);
  return {};
}

/// Ensures an entry for this incarnation; an older incarnation is declared lost first. Errors: denied (a
/// stale incarnation).
Result<void> Mesh::expect_earlier(NodeNumber number, std::uint64_t incarnation) {
  if (number >= nodes_.size() || number == self_.node)
    return fail(Errc::invalid, "no other node of this job");
  const Node* node = find(number);
  if (node == nullptr) return expect(number);
  const bool has_lived = node->state == NodeState::lost || node->state == NodeState::expected;
  if (incarnation < node->incarnation || (has_lived && incarnation == node->incarnation))
    return fail(Errc::denied, "an earlier incarnation of that node, or one that was lost");
  if (incarnation == node->incarnation) return {};
  if (!has_lived) lose(*nodes_[number], "it was started again");
  return expect(number);
}

/// This process has nothing left to reach the node with, for now: the caller and check_liveness() try again,
/// until the latter gives the node up.
Error Mesh::postpone(Node& node) noexcept {
  if (!std::exchange(node.is_postponed, true)) node.heard = now_;
  next_check_ = std::min(next_check_, now_ + reach_pause);
  return {Errc::again, 0, "no descriptor or memory is left to reach that node with"};
}

Result<Node*> Mesh::reachable(NodeNumber number) {
  Node* node = find(number);
  if (node == nullptr) return fail(Errc::not_found, "nothing is known of that node");
  switch (node->state) {
    case NodeState::reached:
      return node;
    case NodeState::lost:
      return fail(Errc::peer_lost, "that node is lost");
    case NodeState::expected:
    case NodeState::heard:
      return fail(Errc::not_found, "where that node is reached is not known");
    case NodeState::known:
      if (node->is_gone) return fail(Errc::peer_lost, "it cannot be reached");
      break;
  }
  const auto contact = unpack_contact(node->contact);
  if (!contact) return fail(contact.error());
  auto peer = endpoint_.reach(contact->address);
  if (!peer && peer.error().code == Errc::peer_lost) {
    if (gone_.empty()) passes_with_gone_ = 0;
    node->is_gone = true;
    gone_.push_back(number);
  }
  if (!peer) return fail(is_lack(peer.error().code) ? postpone(*node) : peer.error());
  node->peer = std::move(*peer);
  node->is_postponed = false;
  node->keys.resize(contact->keys.size());
  node->state = NodeState::reached;
  node->heard = now_;
  if (next_check_ == TimePoint::max()) next_check_ = now_ + limits_.probe_after / 2;
  return node;
}

Result<RegionNumber> Mesh::import_region(NodeNumber number, Bytes packed) {
  const auto reached = reachable(number);
  if (!reached) return fail(reached.error());
  Node& node = **reached;
  const auto contact = unpack_contact(node.contact);
  if (!contact) return fail(contact.error());
  auto imported = endpoint_.import_key(*node.peer, packed);
  if (!imported) return fail(imported.error());
  std::size_t at = contact->keys.size();
  while (at < node.keys.size() && node.keys[at] != nullptr) ++at;
  if (at > std::numeric_limits<RegionNumber>::max())
    return fail(Errc::no_space, "too many regions of one node");
  if (at == node.keys.size()) node.keys.emplace_back();
  node.keys[at] = std::move(*imported);
  return static_cast<RegionNumber>(at);
}

void Mesh::release_region(NodeNumber number, RegionNumber region) noexcept {
  Node* const node = find(number);
  if (node != nullptr && region < node->keys.size()) node->keys[region].reset();
}

Result<void> Mesh::connect(NodeNumber number) {
  if (state(number) == NodeState::reached) return {};  // collectives connect in each phase
  const auto node = reachable(number);
  if (!node) return fail(node.error());
  send_probe(**node, flag::probe);
  return {};
}

void Mesh::receive(const Message& message) noexcept {
  const auto claim = claim_of(message.header);
  if (!claim)
    return refuse(nullptr, {.version = protocol_version, .from = ~NodeNumber{0}}, Refusal::malformed);
  Node* const node = find(claim->from);
  if (claim->version != protocol_version) return refuse(node, *claim, Refusal::other_version);
  if (node == nullptr) return refuse(nullptr, *claim, Refusal::unknown_sender);
  const auto opened =
      endpoint_.capabilities().seals ? open_unsealed(message) : mesh::open(key_, self_, message, text_);
  if (!opened) return refuse(node, *claim, Refusal::not_authentic);
  const Envelope& envelope = opened->envelope;
  const auto incarnation = envelope.from.incarnation;
  if (node->state == NodeState::expected && incarnation > node->incarnation) {
    node->state = NodeState::heard;
    node->incarnation = incarnation;
  } else if (node->state == NodeState::expected || node->state == NodeState::lost ||
             incarnation != node->incarnation) {
    return refuse(node, *claim, Refusal::stale_incarnation);
  }
  if (!node->window.accept(envelope.sequence)) return refuse(node, *claim, Refusal::replayed);
  node->heard = now_;
  // The sender's contact may not be known yet: it will probe again.
  if ((envelope.flags & flag::probe) != 0 && reachable(claim->from)) send_probe(*node, flag::probe_reply);
  if ((envelope.flags & flag::liveness) != 0) return;
  if ((envelope.flags & flag::piece) != 0)
    return receive_piece(*node, envelope, opened->header, opened->payload);
  dispatch(*node, envelope.id, opened->header, opened->payload);
}

void Mesh::receive_piece(Node& node, const Envelope& envelope, Bytes header, Bytes payload) noexcept {
  base::Reader in(header);
  Piece piece;
  in(piece);
  const Bytes rest = in.rest();
  if (!in.ok()) return lose(node, "it sent a piece of a message without its place");
  if (node.assemblies == nullptr) node.assemblies = std::make_unique<Assemblies>();
  const auto whole = node.assemblies->add(piece, payload, limits_.assemblies);
  if (!whole) return lose(node, whole.error().what);
  if (node.assemblies->empty()) node.assemblies.reset();
  if (!whole->empty()) dispatch(node, envelope.id, rest, *whole);
}

void Mesh::dispatch(Node& node, std::uint16_t id, Bytes header, Bytes payload) noexcept {
  if (id >= most_ids || handlers_[id].handler == nullptr)
    return refuse(&node, {.version = protocol_version, .from = node.number}, Refusal::unknown_id);
  ++counters_.messages_received;
  counters_.bytes_received += header.size() + payload.size();
  handlers_[id].handler(handlers_[id].self, node.number, header, payload);
}

void Mesh::refuse(Node* node, const Claim& claim, Refusal why) noexcept {
  ++counters_.refused[static_cast<std::size_t>(why)];
  bool& is_reported = node == nullptr ? stranger_is_reported_ : node->is_reported;
  if (!std::exchange(is_reported, true)) watcher_.message_refused(claim.from, why, claim.version);
}

std::size_t Mesh::progress(TimePoint now) noexcept {
  now_ = now;
  const auto handled = endpoint_.progress();
  retry_stalled();
  check_liveness(now);
  if (!gone_.empty() && (handled == 0 || ++passes_with_gone_ == most_passes_with_gone)) lose_gone();
  reap_lost();
  run_ended();
  return handled;
}

Result<void> Mesh::arm() noexcept {
  if (first_ended_ != nullptr || !lost_.empty() || !gone_.empty()) return fail(Errc::again);
  return endpoint_.arm();
}

}  // namespace weft::mesh
