// SPDX-License-Identifier: BSD-3-Clause
// The cost of the contract itself: on a fabric that takes no time.
#include <benchmark/benchmark.h>

#include <vector>

#include "transport/sim/network.hpp"

namespace {

using namespace weft;

struct EndpointPair {
  sim::Network network;
  sim::SimTransport transport{network};
  std::unique_ptr<Endpoint> a = std::move(*transport.open({})), b = std::move(*transport.open({}));
  std::unique_ptr<Peer> peer = std::move(*a->reach(b->address()));
  Completion completion;
  std::size_t heard = 0;
  EndpointPair() {
    completion.done = [](Completion&, Result<void>) noexcept {};
    b->on_message(
        [](void* self, std::uint16_t, const Message&) noexcept { ++*static_cast<std::size_t*>(self); },
        &heard);
  }
};

/// One message of 64 bytes there: send(), its completion, the handler's call.
void transport_message(benchmark::State& state) {
  EndpointPair p;
  const std::vector<std::byte> payload(64);
  for (auto _ : state) {
    (void)p.a->send(*p.peer, 1, {{}, payload}, p.completion);
    while (p.a->progress() + p.b->progress() == 0) {
    }
    while (p.b->progress() != 0) {
    }
  }
  if (p.heard != static_cast<std::size_t>(state.iterations())) state.SkipWithError("messages are missing");
}
BENCHMARK(transport_message);

void transport_get(benchmark::State& state) {
  EndpointPair p;
  std::vector<std::byte> source(static_cast<std::size_t>(state.range(0))), target(source.size());
  const auto exposed = std::move(*p.b->expose(source)), local = std::move(*p.a->expose(target));
  const auto key = std::move(*p.a->import_key(*p.peer, exposed->packed_key()));
  for (auto _ : state) {
    (void)p.a->get({*key, 0}, {*local, 0, target.size()}, p.completion);
    while (p.a->progress() == 0) {
    }
  }
}
BENCHMARK(transport_get)->Arg(8)->Arg(256)->Arg(1024);

}  // namespace
