// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/fabric.hpp"

#include <ostream>

namespace weft::conformance {

using namespace std::chrono_literals;

void PrintTo(const Choice& choice, std::ostream* to) {
  *to << choice.name;
}

Completion& Operations::next() {
  One& one = all.emplace_back();
  one.owner = this;
  one.done = [](Completion& self, Result<void> outcome) noexcept {
    auto& owner = *static_cast<One&>(self).owner;
    ++owner.ended;
    if (!outcome) owner.errors.push_back(outcome.error().code);
  };
  return one;
}

Station::Station(std::unique_ptr<Endpoint> opened) : endpoint(std::move(opened)) {
  endpoint->on_message(
      [](void* self, std::uint16_t id, const Message& message) noexcept {
        auto& station = *static_cast<Station*>(self);
        ++station.received_count;
        if (!station.keeps) return;
        station.received.push_back({id,
                                    {message.header.begin(), message.header.end()},
                                    {message.payload.begin(), message.payload.end()}});
      },
      this);
}

Result<std::unique_ptr<Endpoint>> open_endpoint(Fabric& fabric) {
  static const auto key = pattern(32, 4711);  // of both processes
  const auto options = fabric.options();
  return fabric.transport().open({.options = options, .key = key});
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  std::uint32_t state = seed * 2654435761u + 1;
  for (auto& b : out) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

void Conformance::SetUp() {
  fabric_ = GetParam().make();
  ASSERT_NE(fabric_, nullptr);
}

std::unique_ptr<Station> Conformance::open() {
  auto endpoint = open_endpoint(*fabric_);
  if (!endpoint) {
    ADD_FAILURE() << GetParam().name << " does not open: " << endpoint.error().what;
    return nullptr;
  }
  return std::make_unique<Station>(std::move(*endpoint));
}

std::unique_ptr<Peer> Conformance::reach(Station& from, const Station& to) {
  auto peer = from.endpoint->reach(to.endpoint->address());
  if (peer) return std::move(*peer);
  ADD_FAILURE() << GetParam().name << ": " << peer.error().what;
  return nullptr;
}

bool Conformance::until(std::initializer_list<Station*> stations, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  for (unsigned round = 0; !done(); ++round) {
    for (auto* station : stations) station->endpoint->progress();
    if (round % 1024 == 0 && std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

Result<void> Conformance::send(Station& from, Peer& to, std::uint16_t id, const Message& message,
                               Completion& completion, std::initializer_list<Station*> stations) {
  Result<void> sent;
  const bool ended = until(stations, [&] {
    sent = from.endpoint->send(to, id, message, completion);
    return sent || sent.error().code != Errc::again;
  });
  if (!ended) return fail(Errc::timeout, "`again` for ever");
  return sent;
}

Result<void> Conformance::get(Station& reader, const RemoteSlice& from, const LocalSlice& into,
                              Completion& completion, std::initializer_list<Station*> stations) {
  Result<void> started;
  const bool ended = until(stations, [&] {
    started = reader.endpoint->get(from, into, completion);
    return started || started.error().code != Errc::again;
  });
  if (!ended) return fail(Errc::timeout, "`again` for ever");
  return started;
}

}  // namespace weft::conformance
