// SPDX-License-Identifier: BSD-3-Clause
// The cost that the mesh adds to a message and to a read: on a fabric that takes no time.
#include <benchmark/benchmark.h>

#include <vector>

#include "transport/mesh/mesh.hpp"
#include "transport/sim/network.hpp"

namespace {

using namespace weft;

struct IgnoringWatcher final : mesh::Watcher {
  void node_lost(mesh::NodeNumber, const char*) noexcept override {}
  void message_refused(mesh::NodeNumber, mesh::Refusal, std::uint16_t) noexcept override {}
};

struct Pair {
  sim::Network network;
  sim::SimTransport transport{network};
  IgnoringWatcher watcher;
  mesh::JobKey key = mesh::JobKey::random();
  std::unique_ptr<Endpoint> endpoint_a = std::move(*transport.open({})),
                            endpoint_b = std::move(*transport.open({}));
  mesh::Mesh a{*endpoint_a, key, {0, 1}, 2, watcher}, b{*endpoint_b, key, {1, 1}, 2, watcher};
  mesh::TimePoint now{std::chrono::hours(1)};
  std::size_t heard = 0;

  Pair() {
    b.on(
        1, [](void* self, mesh::NodeNumber, Bytes, Bytes) noexcept { ++*static_cast<std::size_t*>(self); },
        &heard);
    (void)b.expect(0);
  }
  void introduce() { (void)a.add_peer(1, b.contact()); }
};

/// send(), its done() and the handler's call: two MACs over the payload in it.
void mesh_message(benchmark::State& state) {
  Pair p;
  p.introduce();
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)));
  bool is_open = false;
  struct One : mesh::Sending {
    bool* is_open;
  } one;
  one.is_open = &is_open;
  one.done = [](mesh::Work& work, Result<void>) noexcept {
    *static_cast<One&>(static_cast<mesh::Sending&>(work)).is_open = false;
  };
  for (auto _ : state) {
    is_open = true;
    const auto before = p.heard;
    (void)p.a.send(1, 1, {}, payload, one);
    while (is_open || p.heard == before) {
      p.a.progress(p.now);
      p.b.progress(p.now);
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(mesh_message)->Arg(0)->Arg(64)->Arg(1024)->Arg(60000);

void mesh_read(benchmark::State& state) {
  Pair p;
  std::vector<std::byte> source(256), target(256);
  const auto exposed = std::move(*p.endpoint_b->expose(source)),
             local = std::move(*p.endpoint_a->expose(target));
  p.b.offer(*exposed);
  p.introduce();
  struct One : mesh::Reading {
    bool is_open = false;
  } one;
  one.done = [](mesh::Work& work, Result<void>) noexcept {
    static_cast<One&>(static_cast<mesh::Reading&>(work)).is_open = false;
  };
  for (auto _ : state) {
    one.is_open = true;
    (void)p.a.read(1, 0, 0, {*local, 0, 256}, one);
    while (one.is_open) p.a.progress(p.now);
  }
}
BENCHMARK(mesh_read);

}  // namespace
