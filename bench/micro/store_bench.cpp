// SPDX-License-Identifier: BSD-3-Clause
// The structures of the node segment, in private memory: the cost of the code without other processes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/store/boards/server_board.hpp"
#include "core/store/cards/keyed_log.hpp"
#include "core/store/cards/remote_cards.hpp"
#include "pmix_common.h"

namespace weft::store {
namespace {

constexpr std::uint64_t capacity = std::uint64_t{1} << 20;
constexpr std::uint32_t buckets = 64;

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

/// Zeroed, at a cache line.
Memory zeroed(std::uint64_t bytes) {
  const std::uint64_t whole = (bytes + 63) / 64 * 64;
  Memory out(static_cast<std::byte*>(std::aligned_alloc(64, whole)));
  std::memset(out.get(), 0, whole);
  return out;
}

class Log {
 public:
  Log() : memory_(zeroed(KeyedLog::footprint(capacity, buckets))), log_(memory_.get(), capacity, buckets) {}
  KeyedLog* operator->() { return &log_; }
  /// Keys "key.0", "key.1", ... of rank 0, each with 64 bytes.
  void fill(std::size_t keys) {
    const std::vector<std::byte> value(64, std::byte{7});
    for (std::size_t k = 0; k < keys; ++k) {
      if (!log_.append({{Realm::rank, 0}, 1, "key." + std::to_string(k), value})) std::abort();
    }
  }

 private:
  Memory memory_;
  KeyedLog log_;
};

void hash_a_key(benchmark::State& state) {
  const std::string key = "btl.tcp.4.1";
  for (auto _ : state) benchmark::DoNotOptimize(hash_key(key));
}

void log_append(benchmark::State& state) {
  const std::vector<std::byte> value(static_cast<std::size_t>(state.range(0)), std::byte{7});
  const Record record{{Realm::rank, 0}, 1, "btl.tcp.4.1", value};
  auto log = std::make_unique<Log>();
  for (auto _ : state) {
    if ((*log)->append(record)) continue;
    state.PauseTiming();  // full: another one
    log = std::make_unique<Log>();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

/// A card of another node, of one key, into the segment. range(0): bytes of its value; range(1): 0: of random
/// ones, 1: but for four of them as those of the first card, on which it rests.
void remote_append(benchmark::State& state) {
  constexpr std::uint64_t most = std::uint64_t{16} << 20;
  const auto memory = zeroed(RemoteCards::footprint(most));
  RemoteCards cards(memory.get(), most);
  std::mt19937_64 random(1);
  std::vector<std::byte> value(static_cast<std::size_t>(state.range(0)));
  const auto draw = [&](std::size_t bytes) {
    std::generate_n(value.begin(), bytes, [&] { return static_cast<std::byte>(random()); });
  };
  draw(value.size());
  std::vector<std::vector<std::byte>> values;
  for (int i = 0; i < 64; ++i) {
    draw(state.range(1) == 0 ? value.size() : 4);
    values.push_back(value);
  }
  RemoteCards::Link base = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    const CardRecord record{PMIX_GLOBAL, "btl.tcp.4.1", values[next++ % values.size()]};
    std::atomic<RemoteCards::Link> link{0};
    if (cards.append(link, {"job", 1, 0, 320, {&record, 1}}, base)) {
      if (base == 0) base = link.load();
      continue;
    }
    state.PauseTiming();  // full: from the beginning
    std::memset(memory.get(), 0, RemoteCards::footprint(most));
    base = 0;
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

/// range(0): keys in the log; the middle one is looked up, hash included.
void log_find(benchmark::State& state) {
  Log log;
  log.fill(static_cast<std::size_t>(state.range(0)));
  const std::string key = "key." + std::to_string(state.range(0) / 2);
  for (auto _ : state) {
    auto found = log->find({Realm::rank, 0}, key, hash_key(key));
    if (!found) state.SkipWithError("not found");
    benchmark::DoNotOptimize(found);
  }
}

void log_miss(benchmark::State& state) {
  Log log;
  log.fill(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto found = log->find({Realm::rank, 0}, "nowhere", hash_key("nowhere"));
    if (found) state.SkipWithError("found");
    benchmark::DoNotOptimize(found);
  }
}

void log_visit(benchmark::State& state) {
  Log log;
  log.fill(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::size_t bytes = 0;
    if (!log->visit(0, [&](const Record& r) { bytes += r.value.size(); })) state.SkipWithError("corrupt");
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// range(0): members, all played by this thread: what n arrivals and one completion cost without any waiting.
void board_round(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  const Memory memory = zeroed(Board::footprint(members));
  ServerBoard& board = ServerBoard::create(memory.get(), members, false);
  Generation generation = 0;
  for (auto _ : state) {
    ++generation;
    Board::Arrival last = Board::Arrival::waiting;
    for (std::uint32_t m = 0; m < members; ++m) last = board.arrive(m, generation);
    if (last != Board::Arrival::completed) state.SkipWithError("the last arrival did not complete the board");
    benchmark::DoNotOptimize(board.outcome(generation));
  }
  state.SetItemsProcessed(state.iterations() * members);
}

BENCHMARK(hash_a_key);
BENCHMARK(log_append)->Arg(64)->Arg(256)->Arg(4096);
BENCHMARK(remote_append)->ArgsProduct({{64, 256, 4096}, {0, 1}});
BENCHMARK(log_find)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(log_miss)->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(log_visit)->Arg(16)->Arg(256);
BENCHMARK(board_round)->Arg(2)->Arg(16)->Arg(64);

}  // namespace
}  // namespace weft::store
