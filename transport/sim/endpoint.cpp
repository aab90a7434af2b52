// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sim/endpoint.hpp"

#include <cstring>
#include <utility>

#include "base/wire.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t address_magic = 0x314d4953;  // "SIM1"
struct PackedAddress {
  std::uint32_t magic = address_magic;
  Node node = 0;
};
template <class Archive>
void fields(Archive& archive, PackedAddress& m) {
  archive(m.magic, m.node);
}

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
  owner_.regions_[number_] = nullptr;  // the number is never used again, so a late key matches no region
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
  address_.bytes = base::encode(PackedAddress{.node = node_});
}

SimEndpoint::~SimEndpoint() {
  cancel_if([](const transport::Operation&) { return true; });
  for (auto index = inbox_first_; index != Network::none;)
    network_.free_event(std::exchange(index, network_.events_[index].next));
  network_.leave(node_);
}

Result<std::unique_ptr<Peer>> SimEndpoint::reach(const Address& address) {
  const auto packed = base::decode<PackedAddress>(address.bytes);
  if (!packed || packed->magic != address_magic || packed->node >= network_.nodes_.size())
    return fail(Errc::corrupt, "not the address of a simulated node");
  return std::make_unique<SimPeer>(*this, packed->node);
}

Result<std::unique_ptr<MemoryRegion>> SimEndpoint::expose(std::span<std::byte> memory) {
  if (memory.empty()) return fail(Errc::invalid, "no memory to expose");
  return std::make_unique<SimRegion>(*this, memory);
}

Result<std::unique_ptr<RemoteKey>> SimEndpoint::import_key(Peer& peer, Bytes packed) {
  const auto number = base::decode<std::uint32_t>(packed);
  if (!number) return fail(Errc::corrupt, "not the key of a simulated region");
  return std::make_unique<SimKey>(static_cast<SimPeer&>(peer), *number);
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
  const SimOperation& operation = start(completion, peer, nullptr);
  const auto delivery = network_.plan_delivery(network_.parameters().message, node_, peer.node(), bytes);
  const bool lost = !network_.is_up(peer.node()) || !network_.is_up(node_);

  const auto sent = network_.new_event(lost ? Network::Kind::lost : Network::Kind::sent, peer.node(), node_);
  network_.events_[sent].request_id = operation.request_id;
  network_.events_[sent].generation = request_slots_[operation.request_id].generation;
  network_.schedule(sent, lost ? delivery.arrived : delivery.sent);
  if (lost) return {};

  const auto arrival = network_.new_event(Network::Kind::message, node_, peer.node());
  Network::Event& event = network_.events_[arrival];
  event.id = id;
  event.header_bytes = message.header.size();
  event.bytes.reserve(bytes);
  append(event.bytes, message.header);
  append(event.bytes, message.payload);
  network_.schedule(arrival, delivery.arrived);
  return {};
}

Result<void> SimEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const SimKey&>(from.key);
  const auto& region = static_cast<const SimRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (is_full()) return fail(Errc::again);
  SimOperation& operation = start(completion, key.peer, &region);
  operation.into = region.memory().data() + into.offset;
  const auto request = network_.new_event(Network::Kind::get_request, node_, key.peer.node());
  Network::Event& event = network_.events_[request];
  event.request_id = operation.request_id;
  event.generation = request_slots_[operation.request_id].generation;
  event.region = key.region;
  event.offset = from.offset;
  event.length = into.length;
  network_.schedule(request,
                    network_.plan_delivery(network_.parameters().get, node_, key.peer.node(), 0).arrived);
  return {};
}

std::size_t SimEndpoint::progress() noexcept {
  // An endpoint with an empty inbox advances the time.
  if (inbox_first_ == Network::none && network_.parameters().passes_alone) network_.advance();
  std::size_t handled = 0;
  const auto last = inbox_last_;  // events that handlers cause belong to the next call
  while (inbox_first_ != Network::none && network_.is_up(node_)) {
    const auto index = inbox_first_;
    inbox_first_ = network_.events_[index].next;
    if (inbox_first_ == Network::none) inbox_last_ = Network::none;
    // Moved out, because a handler that sends makes the array of the network grow.
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
  SimOperation* operation = operation_of(event);
  if (operation == nullptr) return;  // the operation was canceled
  if (event.kind == Network::Kind::lost) return end(*operation, fail(Errc::peer_lost));
  if (event.failed) return end(*operation, fail(event.error, "outside of the exposed region"));
  if (event.kind == Network::Kind::get_reply && !event.bytes.empty())
    std::memcpy(operation->into, event.bytes.data(), event.bytes.size());
  end(*operation, {});
}

SimEndpoint::SimOperation& SimEndpoint::start(Completion& completion, const SimPeer& peer,
                                              const SimRegion* region) {
  SimOperation& operation = operations_.open<SimOperation>(completion, peer, region);
  if (free_request_slots_.empty()) {
    operation.request_id = static_cast<std::uint32_t>(request_slots_.size());
    request_slots_.push_back({});
  } else {
    operation.request_id = free_request_slots_.back();
    free_request_slots_.pop_back();
  }
  request_slots_[operation.request_id].operation = &operation;
  return operation;
}

SimEndpoint::SimOperation* SimEndpoint::operation_of(const Network::Event& event) const noexcept {
  if (event.request_id >= request_slots_.size() ||
      request_slots_[event.request_id].generation != event.generation)
    return nullptr;
  return request_slots_[event.request_id].operation;
}

void SimEndpoint::end(SimOperation& operation, Result<void> outcome) {
  RequestSlot& slot = request_slots_[operation.request_id];
  ++slot.generation;
  slot.operation = nullptr;
  free_request_slots_.push_back(operation.request_id);
  operations_.end(operation, outcome);
}

template <class Which>
void SimEndpoint::cancel_if(Which&& which) noexcept {
  operations_.end_if(which, {Errc::canceled}, [this](transport::Operation& operation) {
    const auto number = static_cast<SimOperation&>(operation).request_id;
    ++request_slots_[number].generation;
    request_slots_[number].operation = nullptr;
    free_request_slots_.push_back(number);
  });
}

}  // namespace weft::sim
