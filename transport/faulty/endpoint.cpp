// SPDX-License-Identifier: BSD-3-Clause
#include "transport/faulty/endpoint.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weft::faulty {

Result<std::unique_ptr<Endpoint>> FaultyTransport::open(const Opening& opening) {
  auto inner = inner_.open(opening);
  if (!inner) return fail(inner.error());
  Plan plan = plan_;
  plan.seed += opened_++;
  return std::make_unique<FaultyEndpoint>(std::move(*inner), plan);
}

FaultyPeer::~FaultyPeer() {
  owner.cancel_loss(*this);
  owner.release_if([this](const transport::Operation& o) { return o.peer == this; });
  for (auto* key : keys) key->inner.reset();
  inner.reset();  // ends the open operations as canceled
}

FaultyRegion::~FaultyRegion() {
  owner.release_if([this](const transport::Operation& o) { return o.region == this; });
  inner.reset();
}

FaultyEndpoint::FaultyEndpoint(std::unique_ptr<Endpoint> inner, const Plan& plan)
    : plan_(plan), random_(plan.seed), inner_(std::move(inner)) {
  inner_->on_message(
      [](void* self, std::uint16_t id, const Message& message) noexcept {
        static_cast<FaultyEndpoint*>(self)->receive(id, message);
      },
      this);
}

FaultyEndpoint::~FaultyEndpoint() {
  closing_ = true;
  release_if([](const transport::Operation&) { return true; });
  inner_.reset();
}

Result<std::unique_ptr<Peer>> FaultyEndpoint::reach(const Address& address) {
  if (reaches_ < plan_.failed_reaches) {
    ++reaches_;
    return fail(plan_.reach_fails_with, "as without a free descriptor, or without a listener", EMFILE);
  }
  auto peer = inner_->reach(address);
  if (!peer) return fail(peer.error());
  return std::make_unique<FaultyPeer>(*this, std::move(*peer));
}

Result<std::unique_ptr<MemoryRegion>> FaultyEndpoint::expose(std::span<std::byte> memory) {
  auto region = inner_->expose(memory);
  if (!region) return fail(region.error());
  return std::make_unique<FaultyRegion>(*this, std::move(*region));
}

Result<std::unique_ptr<RemoteKey>> FaultyEndpoint::import_key(Peer& peer, Bytes packed) {
  auto& wrapped = static_cast<FaultyPeer&>(peer);
  if (!wrapped.inner) return std::make_unique<FaultyKey>(wrapped, nullptr);
  auto key = inner_->import_key(*wrapped.inner, packed);
  if (!key) return fail(key.error());
  return std::make_unique<FaultyKey>(wrapped, std::move(*key));
}

void FaultyEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

Result<void> FaultyEndpoint::may_start(FaultyPeer& peer) {
  if (peer.lost) return fail(Errc::peer_lost);
  if (burst_left_ == 0 && chance(plan_.burst_percent)) burst_left_ = plan_.burst_length + 1;
  if (burst_left_ == 0 || --burst_left_ == 0) return {};
  return fail(Errc::again);
}

template <class Start>
Result<void> FaultyEndpoint::start(FaultyPeer& peer, const FaultyRegion* region, Completion& completion,
                                   Start&& inner_start) {
  if (auto may = may_start(peer); !may) {
    rejected_in_ = round_;
    return may;
  }
  auto held = std::make_unique<Held>();
  held->owner = this;
  held->peer = &peer;
  held->done = [](Completion& self, Result<void> outcome) noexcept {
    auto& ending = static_cast<Held&>(self);
    ending.owner->on_inner_done(ending, outcome);
  };
  held->operation = &operations_.open<transport::Operation>(completion, peer, region);
  if (auto started = inner_start(static_cast<Completion&>(*held)); !started) {
    operations_.forget(*held->operation);
    return started;
  }
  (void)held.release();  // until end_held()
  // progress() loses the peer, because operations end only there; operations that are open by then are lost
  // with it.
  if (++peer.operations == plan_.lose_peer_at) to_lose_.push_back(&peer);
  return {};
}

Result<void> FaultyEndpoint::send(Peer& to, std::uint16_t id, const Message& message,
                                  Completion& completion) {
  auto& peer = static_cast<FaultyPeer&>(to);
  return start(peer, nullptr, completion,
               [&](Completion& held) { return inner_->send(*peer.inner, id, message, held); });
}

Result<void> FaultyEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  auto& key = static_cast<FaultyKey&>(from.key);
  auto& region = static_cast<FaultyRegion&>(into.region);
  return start(key.peer, &region, completion, [&](Completion& held) {
    return inner_->get({*key.inner, from.offset}, {*region.inner, into.offset, into.length}, held);
  });
}

/// The inner transport has completed the operation. `canceled` comes from a destructor, which must not be
/// delayed.
void FaultyEndpoint::on_inner_done(Held& held, Result<void> outcome) noexcept {
  if (held.peer->lost) return end_held(held, fail(Errc::peer_lost));
  const bool canceled = !outcome && outcome.error().code == Errc::canceled;
  if (!canceled && !closing_ && chance(plan_.delay_percent))
    late_.push_back({&held, outcome, later()});
  else
    end_held(held, outcome);
}

void FaultyEndpoint::end_held(Held& held, Result<void> outcome) noexcept {
  const std::unique_ptr<Held> owned(&held);
  operations_.end(*held.operation, outcome);
}

void FaultyEndpoint::receive(std::uint16_t id, const Message& message) noexcept {
  // All messages wait behind a delayed one: the order is kept whatever their senders.
  if (late_messages_.empty() && !chance(plan_.delay_percent)) {
    if (handler_ != nullptr) handler_(handler_self_, id, message);
    return;
  }
  late_messages_.push_back({id,
                            {message.header.begin(), message.header.end()},
                            {message.payload.begin(), message.payload.end()},
                            later()});
}

void FaultyEndpoint::lose(FaultyPeer& peer) noexcept {
  peer.lost = true;
  release_if([&](const transport::Operation& o) { return o.peer == &peer; });
  for (auto* key : peer.keys) key->inner.reset();
  peer.inner.reset();  // the inner operations end as canceled, and are reported as lost
}

std::size_t FaultyEndpoint::progress() noexcept {
  ++round_;
  std::size_t handled = 0;
  for (auto count = to_lose_.size(); count > 0 && !to_lose_.empty();
       --count) {  // a done() may destroy the next
    FaultyPeer& peer = *to_lose_.front();
    to_lose_.pop_front();
    lose(peer);
    ++handled;
  }
  const auto due = [this](const auto& late) { return late.round <= round_; };
  for (auto count = late_.size(); count > 0 && !late_.empty(); --count) {
    const Late late = late_.front();
    late_.pop_front();
    if (due(late)) {
      end_held(*late.held, late.outcome);
      ++handled;
    } else {
      late_.push_back(late);
    }
  }
  while (!late_messages_.empty() && due(late_messages_.front())) {
    const LateMessage late = std::move(late_messages_.front());
    late_messages_.pop_front();
    if (handler_ != nullptr) handler_(handler_self_, late.id, {late.header, late.payload});
    ++handled;
  }
  return handled + inner_->progress();
}

Result<void> FaultyEndpoint::arm() noexcept {
  // No descriptor becomes readable for what this wrapper delays or has rejected.
  if (!late_.empty() || !late_messages_.empty() || !to_lose_.empty() || rejected_in_ == round_)
    return fail(Errc::again);
  return inner_->arm();
}

}  // namespace weft::faulty
