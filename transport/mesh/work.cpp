// SPDX-License-Identifier: BSD-3-Clause
// Work for other nodes. A piece of work waits in its node's queue, is begun piece by piece while the endpoint
// has room, and ends with its last piece. A slow node fills its own queue and holds at most most_in_flight of
// the operations that all nodes share.
#include <algorithm>

#include "transport/mesh/flags.hpp"
#include "transport/mesh/mesh.hpp"

namespace weft::mesh {
namespace {

constexpr std::size_t most_operations = 8192;  // of all nodes
constexpr std::size_t text_kept = 1024;        // bytes that a free operation keeps for its next message

}  // namespace

Result<void> Mesh::send(NodeNumber to, std::uint16_t id, Bytes header, Bytes payload, Sending& sending) {
  if (header.size() > Sending::max_header || payload.size() > limits_.assemblies.most_bytes || id >= most_ids)
    return fail(Errc::invalid, "a message that is too large, or of no id");
  const auto node = reachable(to);
  if (!node) return fail(node.error());
  const auto fits = endpoint_.capabilities().max_message - Envelope::bytes - header.size();
  sending.kind_ = Work::Kind::message;
  sending.total_ = payload.size();
  sending.payload_ = payload;
  sending.number_ = payload.size() > fits ? ++(*node)->last_number : 0;
  sending.id_ = id;
  sending.header_bytes_ = static_cast<std::uint8_t>(header.size());
  std::copy(header.begin(), header.end(), sending.header_.begin());
  return open(**node, sending);
}

Result<void> Mesh::read(NodeNumber from, RegionNumber region, std::uint64_t offset, const LocalSlice& into,
                        Reading& reading) {
  const auto node = reachable(from);
  if (!node) return fail(node.error());
  if (region >= (*node)->keys.size()) return fail(Errc::not_found, "that node offers no such region");
  reading.kind_ = Work::Kind::read;
  reading.total_ = into.length;
  reading.region_ = region;
  reading.from_ = offset;
  reading.into_ = &into.region;
  reading.into_offset_ = into.offset;
  return open(**node, reading);
}

Result<void> Mesh::open(Node& node, Work& work) {
  if (node.open_work >= limits_.most_work) return fail(Errc::again, "too much is open with that node");
  ++node.open_work;
  work.next_ = nullptr;
  work.begun_ = 0;
  work.open_pieces_ = 0;
  work.error_.reset();
  work.is_queued_ = true;
  const bool is_alone = node.first == nullptr;
  (is_alone ? node.first : node.last->next_) = &work;
  node.last = &work;
  if (is_alone) start_pending(node);
  return {};
}

/// Begins the node's pending work while there is room. on_complete() and retry_stalled() call it again.
void Mesh::start_pending(Node& node) noexcept {
  while (node.first != nullptr && node.in_flight < limits_.most_in_flight && !is_too_far_ahead(node)) {
    Work& work = *node.first;
    if (!work.error_) {
      Operation* const operation = node.sealed != nullptr ? node.sealed : next_operation(node, work);
      const auto submitted = operation == nullptr ? fail(Errc::again) : submit(node, *operation);
      if (!submitted && submitted.error().code == Errc::again) {
        node.sealed = operation;
        ++counters_.stalls;
        if (!std::exchange(node.is_stalled, true)) stalled_.push_back(&node);
        return;
      }
      node.sealed = nullptr;
      if (!submitted) {
        work.error_ = submitted.error();
        free_operation(*operation);
      }
    }
    const bool is_lost = work.error_ && work.error_->code == Errc::peer_lost;
    if (work.error_ && node.sealed != nullptr) free_operation(*std::exchange(node.sealed, nullptr));
    if (work.error_ || work.begun_ == work.total_) dequeue(node);
    if (is_lost) return lose(node, "it cannot be reached");
  }
}

void Mesh::retry_stalled() noexcept {
  auto stalled = std::exchange(stalled_, {});
  for (Node* node : stalled) {
    node->is_stalled = false;
    if (node->state != NodeState::lost) start_pending(*node);
  }
  // Mostly no node is stalled: the vector keeps its memory then.
  if (stalled_.empty()) {
    stalled.clear();
    stalled_ = std::move(stalled);
  }
}

/// The receiver accepts only the last ReplayWindow::width sequence numbers, so no message may be in flight
/// for longer than that. Half of the window is left for messages that overtake each other in the fabric.
bool Mesh::is_too_far_ahead(const Node& node) const noexcept {
  return node.first_open != nullptr &&
         node.last_sequence - node.first_open->sequence >= ReplayWindow::width / 2;
}

Operation* Mesh::allocate_operation(Node& node, Work* work) noexcept {
  if (free_operations_ == nullptr) {
    if (operations_.size() == most_operations) return nullptr;
    Operation& added = operations_.emplace_back();
    added.mesh = this;
    added.done = [](Completion& self, Result<void> outcome) noexcept {
      auto& operation = static_cast<Operation&>(self);
      operation.mesh->on_complete(operation, outcome);
    };
    free_operations_ = &added;
  }
  Operation& operation = *std::exchange(free_operations_, free_operations_->next);
  operation.node = &node;
  operation.work = work;
  operation.next = operation.previous = nullptr;
  operation.sequence = 0;
  return &operation;
}

void Mesh::free_operation(Operation& operation) noexcept {
  if (operation.text.capacity() > text_kept) operation.text = {};
  operation.text.clear();
  operation.next = free_operations_;
  free_operations_ = &operation;
}

Operation* Mesh::next_operation(Node& node, Work& work) noexcept {
  Operation* const operation = allocate_operation(node, &work);
  if (operation == nullptr) return nullptr;
  operation->offset = work.begun_;
  operation->length = work.total_ - work.begun_;
  if (work.kind_ == Work::Kind::read)
    operation->length = std::min(operation->length, endpoint_.capabilities().max_get);
  else
    build(node, static_cast<Sending&>(work), *operation);
  work.begun_ += operation->length;
  return operation;
}

void Mesh::build(Node& node, Sending& sending, Operation& operation) noexcept {
  constexpr auto piece_bytes = base::fixed_bytes<Piece>;
  static_assert(sizeof operation.header == Envelope::bytes + piece_bytes + Sending::max_header);
  std::byte* at = operation.header.data() + Envelope::bytes;
  if (sending.number_ != 0) {
    const auto overhead = Envelope::bytes + piece_bytes + sending.header_bytes_;
    operation.length = std::min(operation.length, endpoint_.capabilities().max_message - overhead);
    at = base::write_fixed(at, Piece{sending.number_, sending.total_, operation.offset});
  }
  at = std::copy_n(sending.header_.data(), sending.header_bytes_, at);
  operation.header_bytes = static_cast<std::uint8_t>(at - operation.header.data());
  seal_operation(node, operation, sending.number_ != 0 ? flag::piece : std::uint8_t{0}, sending.id_,
                 sending.payload_.subspan(operation.offset, operation.length));
}

void Mesh::seal_operation(Node& node, Operation& operation, std::uint8_t flags, std::uint16_t id,
                          Bytes payload) noexcept {
  static_assert(most_ids <= 256);
  operation.sequence = ++node.last_sequence;
  const Envelope envelope{
      .flags = flags, .id = static_cast<std::uint8_t>(id), .from = self_, .sequence = operation.sequence};
  const std::span<std::byte, Envelope::bytes> in_front(operation.header.data(), Envelope::bytes);
  if (endpoint_.capabilities().seals) return write_unsealed(envelope, in_front);
  // In one piece: the caller's header comes back to its place behind the envelope, the payload stays.
  const MutableBytes header(operation.header.data() + Envelope::bytes,
                            operation.header_bytes - Envelope::bytes);
  auto& text = operation.text;
  text.resize(header.size() + payload.size());
  std::copy(payload.begin(), payload.end(), std::copy(header.begin(), header.end(), text.begin()));
  seal(key_, {node.number, node.incarnation}, envelope, header.size(), text, in_front);
  std::copy_n(text.begin(), header.size(), header.begin());
}

Result<void> Mesh::submit(Node& node, Operation& operation) noexcept {
  const Bytes header(operation.header.data(), operation.header_bytes);
  Result<void> submitted;
  if (operation.work != nullptr && operation.work->kind_ == Work::Kind::read) {
    submitted = submit_read(node, static_cast<Reading&>(*operation.work), operation);
  } else {
    Bytes payload;
    if (!operation.text.empty())
      payload = Bytes(operation.text).subspan(operation.header_bytes - Envelope::bytes);
    else if (operation.work != nullptr)
      payload = static_cast<Sending&>(*operation.work).payload_.subspan(operation.offset, operation.length);
    submitted = endpoint_.send(*node.peer, 0, {header, payload}, operation);
  }
  if (!submitted) return submitted;
  ++node.in_flight;
  if (operation.work != nullptr) ++operation.work->open_pieces_;
  if (operation.sequence == 0) return {};
  operation.previous = node.last_open;
  (node.last_open == nullptr ? node.first_open : node.last_open->next) = &operation;
  node.last_open = &operation;
  return {};
}

Result<void> Mesh::submit_read(Node& node, const Reading& reading, Operation& operation) {
  auto& key = node.keys[reading.region_];
  if (key == nullptr) {
    const auto contact = unpack_contact(node.contact);
    if (!contact) return fail(contact.error());
    if (reading.region_ >= contact->keys.size()) return fail(Errc::not_found, "that region was forgotten");
    auto imported = endpoint_.import_key(*node.peer, contact->keys[reading.region_]);
    if (!imported) return fail(imported.error());
    key = std::move(*imported);
  }
  return endpoint_.get({*key, reading.from_ + operation.offset},
                       {*reading.into_, reading.into_offset_ + operation.offset, operation.length},
                       operation);
}

void Mesh::on_complete(Operation& operation, Result<void> outcome) noexcept {
  Node& node = *operation.node;
  --node.in_flight;
  if (operation.sequence != 0) {
    (operation.previous == nullptr ? node.first_open : operation.previous->next) = operation.next;
    (operation.next == nullptr ? node.last_open : operation.next->previous) = operation.previous;
  }
  if (!outcome && outcome.error().code == Errc::canceled && node.state == NodeState::lost)
    outcome = fail(node.end);
  const bool is_lost = !outcome && outcome.error().code == Errc::peer_lost;
  if (Work* const work = operation.work; work != nullptr) {
    const bool is_read = work->kind_ == Work::Kind::read;
    if (outcome) (is_read ? counters_.bytes_got : counters_.bytes_sent) += operation.length;
    if (outcome) ++(is_read ? counters_.gets : counters_.messages_sent);
    if (!outcome && !work->error_) work->error_ = outcome.error();
    --work->open_pieces_;
    end_if_over(node, *work);
  }
  free_operation(operation);
  if (node.state == NodeState::lost) return;
  if (is_lost) return lose(node, "its connection is gone");
  start_pending(node);
}

void Mesh::dequeue(Node& node) noexcept {
  Work& work = *node.first;
  node.first = work.next_;
  if (node.first == nullptr) node.last = nullptr;
  work.is_queued_ = false;
  end_if_over(node, work);
}

void Mesh::end_if_over(Node& node, Work& work) noexcept {
  if (work.is_queued_ || work.open_pieces_ != 0) return;
  --node.open_work;
  work.next_ = nullptr;
  (last_ended_ == nullptr ? first_ended_ : last_ended_->next_) = &work;
  last_ended_ = &work;
}

/// done() runs from here only: it may open the next work in the same place.
void Mesh::run_ended() noexcept {
  while (first_ended_ != nullptr) {
    Work& work = *first_ended_;
    first_ended_ = work.next_;
    if (first_ended_ == nullptr) last_ended_ = nullptr;
    work.done(work, work.error_ ? Result<void>(fail(*work.error_)) : Result<void>{});
  }
}

}  // namespace weft::mesh
