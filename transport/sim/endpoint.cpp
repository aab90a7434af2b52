// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sim/endpoint.hpp"

#include <cstring>
#include <utility>

namespace weft::sim {
namespace {

constexpr std::uint32_t address_magic = 0x314d4953;  // "SIM1"
struct PackedAddress {
  std::uint32_t magic;
  Node node;
};

void append(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

SimPeer::~SimPeer() {
  owner_.cancel_if([this](const transport::Operation& o) { return o.peer == this; });
}

SimRegion::SimRegion(SimEndpoint& owner, std::span<std::byte> memory)
    : owner_(owner), memory_(memory), number_(static_cast<std::uint32_t>(owner.regions_.size())) {
  owner.regions_.push_back(this);
}

SimRegion::~SimRegion() {
  owner_.regions_[number_] = nullptr;  // the number is not used again: a late key finds nothing
  owner_.cancel_if([this](const transport::Operation& o) { return o.region == this; });
}

SimEndpoint::SimEndpoint(Network& network) : network_(network), node_(network.join(*this)) {
  const auto& p = network.parameters();
  capabilities_ = {.max_inline = p.max_inline,
                   .max_message = p.max_message,
                   .max_header = p.max_message,
                   .max_get = p.max_get,
                   .rma = true,
                   .ordered = true,
                   .wait_fd = false,
                   .detects_loss = true};
  const PackedAddress packed{address_magic, node_};
  append(address_.bytes, std::as_bytes(std::span(&packed, 1)));
}

SimEndpoint::~SimEndpoint() {
  cancel_if([](const transport::Operation&) { return true; });
  for (auto index = inbox_first_; index != Network::none;)
    network_.free_event(std::exchange(index, network_.events_[index].next));
  network_.leave(node_);
}

Result<std::unique_ptr<Peer>> SimEndpoint::reach(const Address& address) {
  PackedAddress packed{};
  if (address.bytes.size() != sizeof packed)
    return fail(Errc::corrupt, "not the address of a simulated node");
  std::memcpy(&packed, address.bytes.data(), sizeof packed);
  if (packed.magic != address_magic || packed.node >= network_.nodes_.size())
    return fail(Errc::corrupt, "not the address of a simulated node");
  return std::make_unique<SimPeer>(*this, packed.node);
}

Result<std::unique_ptr<MemoryRegion>> SimEndpoint::expose(std::span<std::byte> memory) {
  if (memory.empty()) return fail(Errc::invalid, "no memory to expose");
  return std::make_unique<SimRegion>(*this, memory);
}

Result<std::unique_ptr<RemoteKey>> SimEndpoint::import_key(Peer& peer, Bytes packed) {
  std::uint32_t number = 0;
  if (packed.size() != sizeof number) return fail(Errc::corrupt, "not the key of a simulated region");
  std::memcpy(&number, packed.data(), sizeof number);
  return std::make_unique<SimKey>(static_cast<SimPeer&>(peer), number);
}

void SimEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

bool SimEndpoint::is_full() const noexcept {
  const auto most = network_.parameters().max_open;
  return most != 0 && operations_.size() >= most;
}

Result<void> SimEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  const std::size_t bytes = message.header.size() + message.payload.size();
  if (bytes > capabilities_.max_message) return fail(Errc::invalid, "the message is larger than max_message");
  if (is_full()) return fail(Errc::again);
  const auto& peer = static_cast<const SimPeer&>(to);
  const Open& open = start(completion, peer, nullptr);
  const auto flight = network_.fly(network_.parameters().message, node_, peer.node(), bytes);
  const bool lost = !network_.is_up(peer.node());

  const auto sent = network_.new_event(lost ? Network::Kind::lost : Network::Kind::sent, peer.node(), node_);
  network_.events_[sent].ticket = open.ticket;
  network_.events_[sent].generation = tickets_[open.ticket].generation;
  network_.schedule(sent, lost ? flight.there : flight.left);
  if (lost) return {};

  const auto arrival = network_.new_event(Network::Kind::message, node_, peer.node());
  Network::Event& event = network_.events_[arrival];
  event.id = id;
  event.header_bytes = message.header.size();
  event.bytes.reserve(bytes);
  append(event.bytes, message.header);
  append(event.bytes, message.payload);
  network_.schedule(arrival, flight.there);
  return {};
}

Result<void> SimEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const SimKey&>(from.key);
  const auto& region = static_cast<const SimRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (is_full()) return fail(Errc::again);
  Open& open = start(completion, key.peer, &region);
  open.into = region.memory().data() + into.offset;
  const auto request = network_.new_event(Network::Kind::get_request, node_, key.peer.node());
  Network::Event& event = network_.events_[request];
  event.ticket = open.ticket;
  event.generation = tickets_[open.ticket].generation;
  event.region = key.region;
  event.offset = from.offset;
  event.length = into.length;
  network_.schedule(request, network_.fly(network_.parameters().get, node_, key.peer.node(), 0).there);
  return {};
}

std::size_t SimEndpoint::progress() noexcept {
  // Whoever has nothing to do lets time pass.
  if (inbox_first_ == Network::none) network_.advance();
  std::size_t handled = 0;
  const auto last = inbox_last_;  // what handlers cause belongs to the next call
  while (inbox_first_ != Network::none && network_.is_up(node_)) {
    const auto index = inbox_first_;
    inbox_first_ = network_.events_[index].next;
    if (inbox_first_ == Network::none) inbox_last_ = Network::none;
    // Moved out: a handler that sends makes the network's array grow.
    Network::Event event = std::move(network_.events_[index]);
    handle(event);
    network_.events_[index].bytes = std::move(event.bytes);
    network_.free_event(index);
    ++handled;
    if (index == last) break;
  }
  return handled;
}

void SimEndpoint::receive(std::uint32_t event) {
  network_.events_[event].next = Network::none;
  if (inbox_last_ == Network::none)
    inbox_first_ = event;
  else
    network_.events_[inbox_last_].next = event;
  inbox_last_ = event;
}

void SimEndpoint::handle(const Network::Event& event) {
  if (event.kind == Network::Kind::message) {
    const Bytes all(event.bytes);
    if (handler_ != nullptr)
      handler_(handler_self_, event.id, {all.first(event.header_bytes), all.subspan(event.header_bytes)});
    return;
  }
  Open* open = holder_of(event);
  if (open == nullptr) return;  // canceled meanwhile
  if (event.kind == Network::Kind::lost) return end(*open, fail(Errc::peer_lost));
  if (event.failed) return end(*open, fail(event.error, "outside of the exposed region"));
  if (event.kind == Network::Kind::get_reply && !event.bytes.empty())
    std::memcpy(open->into, event.bytes.data(), event.bytes.size());
  end(*open, {});
}

SimEndpoint::Open& SimEndpoint::start(Completion& completion, const SimPeer& peer, const SimRegion* region) {
  Open& open = operations_.open<Open>(completion, peer, region);
  if (free_tickets_.empty()) {
    open.ticket = static_cast<std::uint32_t>(tickets_.size());
    tickets_.push_back({});
  } else {
    open.ticket = free_tickets_.back();
    free_tickets_.pop_back();
  }
  tickets_[open.ticket].open = &open;
  return open;
}

SimEndpoint::Open* SimEndpoint::holder_of(const Network::Event& event) const noexcept {
  if (event.ticket >= tickets_.size() || tickets_[event.ticket].generation != event.generation)
    return nullptr;
  return tickets_[event.ticket].open;
}

void SimEndpoint::end(Open& open, Result<void> outcome) {
  Ticket& ticket = tickets_[open.ticket];
  ++ticket.generation;
  ticket.open = nullptr;
  free_tickets_.push_back(open.ticket);
  operations_.end(open, outcome);
}

template <class Which>
void SimEndpoint::cancel_if(Which&& which) noexcept {
  operations_.end_if(which, {Errc::canceled}, [this](transport::Operation& operation) {
    const auto number = static_cast<Open&>(operation).ticket;
    ++tickets_[number].generation;
    tickets_[number].open = nullptr;
    free_tickets_.push_back(number);
  });
}

}  // namespace weft::sim
