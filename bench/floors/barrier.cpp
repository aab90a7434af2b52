// SPDX-License-Identifier: BSD-3-Clause
// The least work with which n processes of one machine can wait for all of them: a counter and a generation
// in shared memory. The variants differ in how a process waits.
#include <sched.h>

#include "bench/floors/arguments.hpp"
#include "bench/floors/gate.hpp"
#include "bench/floors/shared_sample.hpp"
#include "bench/floors/team.hpp"
#include "bench/report/measure.hpp"

namespace weft::bench {
namespace {

struct HybridGate : Gate {
  alignas(64) std::atomic<std::uint32_t> asleep{0};  // hybrid only: zero saves the system call to wake
};

/// True in the last process to arrive, after it has opened the gate.
bool arrive(Gate& gate, std::uint32_t n) {
  if (!last_to_arrive(gate, n)) return false;
  gate.generation.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

void yielding(HybridGate& gate, std::uint32_t n) {
  const std::uint32_t mine = gate.generation.load(std::memory_order_relaxed);
  if (arrive(gate, n)) return;
  while (gate.generation.load(std::memory_order_acquire) == mine) sched_yield();
}

void sleeping(HybridGate& gate, std::uint32_t n) {
  const std::uint32_t mine = gate.generation.load(std::memory_order_relaxed);
  if (arrive(gate, n)) return futex_wake_all(gate.generation);
  sleep_while(gate.generation, mine);
}

/// Reference, not a floor: yields some hundred times, then sleeps, as a library must that may not burn cores.
void hybrid(HybridGate& gate, std::uint32_t n) {
  constexpr int yields = 500;
  const std::uint32_t mine = gate.generation.load(std::memory_order_relaxed);
  if (arrive(gate, n)) {
    if (gate.asleep.load(std::memory_order_seq_cst) != 0) futex_wake_all(gate.generation);
    return;
  }
  for (int i = 0; i < yields; ++i) {
    if (gate.generation.load(std::memory_order_acquire) != mine) return;
    sched_yield();
  }
  gate.asleep.fetch_add(1, std::memory_order_seq_cst);
  while (gate.generation.load(std::memory_order_seq_cst) == mine) futex_wait(gate.generation, mine);
  gate.asleep.fetch_sub(1, std::memory_order_relaxed);
}

using Barrier = void (*)(HybridGate&, std::uint32_t);
constexpr unsigned batch = SharedSample::batch;

struct Shared {
  HybridGate gate;
  std::size_t batches = 0;  // chosen by process 0 after warming up; the gate publishes it
  SharedSample seen;
};

/// About 0.4 s of rounds, as process 0 sees them.
void rounds(Shared& shared, Barrier barrier, unsigned rank, unsigned n) {
  for (int i = 0; i < 100; ++i) barrier(shared.gate, n);
  const std::int64_t t = now_ns();
  for (int i = 0; i < 100; ++i) barrier(shared.gate, n);
  const std::int64_t a_batch = std::max<std::int64_t>((now_ns() - t) / (100 / batch), 1);
  if (rank == 0)
    shared.batches = std::clamp<std::size_t>(400'000'000 / a_batch, 20, SharedSample::most_batches);
  barrier(shared.gate, n);
  const Sample seen = measure_fixed([&] { barrier(shared.gate, n); }, shared.batches, batch);
  if (rank == 0) shared.seen.store(seen);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const Arguments arguments = parse_arguments(argc, argv, "barrier of n bare processes in shared memory");
  Reporter reporter = arguments.reporter();
  const std::pair<const char*, Barrier> variants[] = {
      {"floor_barrier_yield", yielding}, {"floor_barrier_futex", sleeping}, {"floor_barrier_hybrid", hybrid}};
  const unsigned repeats = arguments.repeats == 0 ? 1 : arguments.repeats;
  for (const unsigned n : arguments.sizes) {
    std::vector<Sample> seen(std::size(variants));
    for (unsigned r = 0; r < repeats; ++r) {
      for (std::size_t v = 0; v < std::size(variants); ++v) {
        auto* shared = shared_new<Shared>();
        run_team(n, [&](unsigned rank) { rounds(*shared, variants[v].second, rank, n); });
        seen[v].merge(shared->seen.load());
        munmap(shared, sizeof *shared);
      }
    }
    for (std::size_t v = 0; v < std::size(variants); ++v) {
      reporter.print(make_record(variants[v].first, n, 0, seen[v]));
    }
  }
}
