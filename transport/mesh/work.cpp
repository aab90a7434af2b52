// SPDX-License-Identifier: BSD-3-Clause
// What leaves for other nodes. Work waits in its node's queue, is begun piece by piece while the endpoint has room, and
// has ended when its last piece has. A node that is slow fills its own queue and holds no more than most_in_flight of
// what all nodes share.
#include <algorithm>

#include "transport/mesh/flags.hpp"
#include "transport/mesh/mesh.hpp"

namespace weft::mesh {
namespace {

constexpr std::size_t most_flights = 8192;  // of all nodes

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
  if (is_alone) push(node);
  return {};
}

/// Begins what there is room for. What the node waits for otherwise comes back here: land(), or push_stalled().
void Mesh::push(Node& node) noexcept {
  while (node.first != nullptr && node.in_flight < limits_.most_in_flight && !is_too_far_ahead(node)) {
    Work& work = *node.first;
    if (!work.error_) {
      Flight* const flight = node.sealed != nullptr ? node.sealed : next_flight(node, work);
      const auto launched = flight == nullptr ? fail(Errc::again) : launch(node, *flight);
      if (!launched && launched.error().code == Errc::again) {
        node.sealed = flight;
        ++counters_.stalls;
        if (!std::exchange(node.is_stalled, true)) stalled_.push_back(&node);
        return;
      }
      node.sealed = nullptr;
      if (!launched) {
        work.error_ = launched.error();
        put_flight(*flight);
      }
    }
    const bool is_lost = work.error_ && work.error_->code == Errc::peer_lost;
    if (work.error_ && node.sealed != nullptr) put_flight(*std::exchange(node.sealed, nullptr));
    if (work.error_ || work.begun_ == work.total_) pop(node);
    if (is_lost) return lose(node, "it cannot be reached");
  }
}

void Mesh::push_stalled() noexcept {
  auto stalled = std::exchange(stalled_, {});
  for (Node* node : stalled) {
    node->is_stalled = false;
    if (node->state != NodeState::lost) push(*node);
  }
  // Mostly nobody is: then nothing was allocated.
  if (stalled_.empty()) {
    stalled.clear();
    stalled_ = std::move(stalled);
  }
}

/// The receiver tells only the last ReplayWindow::width numbers apart: none of ours may still be on its way when it
/// would be too old. The half of it is left to what the fabric itself may overtake.
bool Mesh::is_too_far_ahead(const Node& node) const noexcept {
  return node.first_open != nullptr &&
         node.last_sequence - node.first_open->sequence >= ReplayWindow::width / 2;
}

Flight* Mesh::take_flight(Node& node, Work* work) noexcept {
  if (free_flights_ == nullptr) {
    if (flights_.size() == most_flights) return nullptr;
    Flight& more = flights_.emplace_back();
    more.mesh = this;
    more.done = [](Completion& self, Result<void> outcome) noexcept {
      auto& flight = static_cast<Flight&>(self);
      flight.mesh->land(flight, outcome);
    };
    free_flights_ = &more;
  }
  Flight& flight = *std::exchange(free_flights_, free_flights_->next);
  flight.node = &node;
  flight.work = work;
  flight.next = flight.previous = nullptr;
  flight.sequence = 0;
  return &flight;
}

void Mesh::put_flight(Flight& flight) noexcept {
  flight.next = free_flights_;
  free_flights_ = &flight;
}

Flight* Mesh::next_flight(Node& node, Work& work) noexcept {
  Flight* const flight = take_flight(node, &work);
  if (flight == nullptr) return nullptr;
  flight->offset = work.begun_;
  flight->length = work.total_ - work.begun_;
  if (work.kind_ == Work::Kind::read)
    flight->length = std::min(flight->length, endpoint_.capabilities().max_get);
  else
    fill(node, static_cast<Sending&>(work), *flight);
  work.begun_ += flight->length;
  return flight;
}

void Mesh::fill(Node& node, Sending& sending, Flight& flight) noexcept {
  constexpr auto piece_bytes = base::fixed_bytes<Piece>;
  static_assert(sizeof flight.header == Envelope::bytes + piece_bytes + Sending::max_header);
  std::byte* at = flight.header.data() + Envelope::bytes;
  if (sending.number_ != 0) {
    const auto overhead = Envelope::bytes + piece_bytes + sending.header_bytes_;
    flight.length = std::min(flight.length, endpoint_.capabilities().max_message - overhead);
    at = base::write_fixed(at, Piece{sending.number_, sending.total_, flight.offset});
  }
  at = std::copy_n(sending.header_.data(), sending.header_bytes_, at);
  flight.header_bytes = static_cast<std::uint8_t>(at - flight.header.data());
  seal_flight(node, flight, sending.number_ != 0 ? flag::piece : std::uint8_t{0}, sending.id_,
              sending.payload_.subspan(flight.offset, flight.length));
}

void Mesh::seal_flight(Node& node, Flight& flight, std::uint8_t flags, std::uint16_t id,
                       Bytes payload) noexcept {
  flight.sequence = ++node.last_sequence;
  const Bytes header(flight.header.data(), flight.header_bytes);
  seal(key_, {node.number, node.incarnation},
       {.flags = flags, .id = id, .from = self_, .sequence = flight.sequence},
       header.subspan(Envelope::bytes), payload,
       std::span<std::byte, Envelope::bytes>(flight.header.data(), Envelope::bytes));
}

Result<void> Mesh::launch(Node& node, Flight& flight) noexcept {
  const Bytes header(flight.header.data(), flight.header_bytes);
  Result<void> launched;
  if (flight.work != nullptr && flight.work->kind_ == Work::Kind::read) {
    launched = launch_read(node, static_cast<Reading&>(*flight.work), flight);
  } else {
    const Bytes payload =
        flight.work == nullptr
            ? Bytes{}
            : static_cast<Sending&>(*flight.work).payload_.subspan(flight.offset, flight.length);
    launched = endpoint_.send(*node.peer, 0, {header, payload}, flight);
  }
  if (!launched) return launched;
  ++node.in_flight;
  if (flight.work != nullptr) ++flight.work->open_pieces_;
  if (flight.sequence == 0) return {};
  flight.previous = node.last_open;
  (node.last_open == nullptr ? node.first_open : node.last_open->next) = &flight;
  node.last_open = &flight;
  return {};
}

Result<void> Mesh::launch_read(Node& node, const Reading& reading, Flight& flight) {
  auto& key = node.keys[reading.region_];
  if (key == nullptr) {
    const auto contact = unpack_contact(node.contact);
    if (!contact) return fail(contact.error());
    if (reading.region_ >= contact->keys.size()) return fail(Errc::not_found, "that region was forgotten");
    auto imported = endpoint_.import_key(*node.peer, contact->keys[reading.region_]);
    if (!imported) return fail(imported.error());
    key = std::move(*imported);
  }
  return endpoint_.get({*key, reading.from_ + flight.offset},
                       {*reading.into_, reading.into_offset_ + flight.offset, flight.length}, flight);
}

void Mesh::land(Flight& flight, Result<void> outcome) noexcept {
  Node& node = *flight.node;
  --node.in_flight;
  if (flight.sequence != 0) {
    (flight.previous == nullptr ? node.first_open : flight.previous->next) = flight.next;
    (flight.next == nullptr ? node.last_open : flight.next->previous) = flight.previous;
  }
  if (!outcome && outcome.error().code == Errc::canceled && node.state == NodeState::lost)
    outcome = fail(node.end);
  const bool is_lost = !outcome && outcome.error().code == Errc::peer_lost;
  if (Work* const work = flight.work; work != nullptr) {
    const bool is_read = work->kind_ == Work::Kind::read;
    if (outcome) (is_read ? counters_.bytes_got : counters_.bytes_sent) += flight.length;
    if (outcome) ++(is_read ? counters_.gets : counters_.messages_sent);
    if (!outcome && !work->error_) work->error_ = outcome.error();
    --work->open_pieces_;
    end_if_over(node, *work);
  }
  put_flight(flight);
  if (node.state == NodeState::lost) return;
  if (is_lost) return lose(node, "its connection is gone");
  push(node);
}

void Mesh::pop(Node& node) noexcept {
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
