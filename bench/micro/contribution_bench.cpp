// SPDX-License-Identifier: BSD-3-Clause
// The cost of smaller contributions to a full fence, and what they save, for the cards of one node by
// content.
#include <benchmark/benchmark.h>
#include <zstd.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/server/fences/exchange/contribution.hpp"
#include "core/store/cards/card.hpp"
#include "pmix_common.h"

namespace weft::server {
namespace {

using Blob = std::vector<std::byte>;

/// The cards that the ranks of a node put. tcp and ucx: as Open MPI 4.1.4 does over its own TCP, and over UCX
/// with one network card: made up, but with the same keys and lengths, and as many bytes that are a rank's
/// own. noise: 256 random bytes.
enum Kind : std::int64_t { tcp, ucx, noise };
constexpr const char* kind_names[]{"tcp", "ucx", "noise"};

class Cards {
 public:
  explicit Cards(Kind kind) : kind_(kind), of_node_(random(64)) {}

  Blob of_ranks(std::uint32_t ranks) {
    store::BlobWriter out;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (!out.add("weft-login1-31337", rank, card(rank))) std::abort();
    return std::move(out).finish();
  }

 private:
  store::KeyedLog card(std::uint32_t rank) {
    constexpr std::uint64_t capacity = 4096;
    constexpr std::uint32_t buckets = 16;
    memory_.assign(store::KeyedLog::footprint(capacity, buckets) / sizeof(Line), {});
    store::KeyedLog log(reinterpret_cast<std::byte*>(memory_.data()), capacity, buckets);
    const auto put = [&](const char* key, const data::Value& value) {
      data::Writer bytes;
      const bool is_put = data::encode_value(bytes, value.get()) &&
                          log.append({{store::Realm::rank, rank}, PMIX_GLOBAL, key, bytes.view()});
      if (!is_put) std::abort();
    };
    if (kind_ == noise) {
      put("bench.card", data::Value::of_bytes(random(256)));
      return log;
    }
    put("pmix.cpuset", data::Value::of(std::to_string(2 * rank) + "-" + std::to_string(2 * rank + 1)));
    put("pmix.hname", data::Value::of("node001234"));
    put("btl.tcp.4.1", data::Value::of_bytes(tcp_address(rank)));
    if (kind_ == ucx) put("pml.ucx.4.1", data::Value::of_bytes(ucx_address()));
    return log;
  }
  /// 48 bytes, of which a port is the rank's own, twice.
  Blob tcp_address(std::uint32_t rank) const {
    Blob out(48);
    out[0] = std::byte{0xfd};
    for (const std::size_t at : {16, 40}) {
      out[at] = std::byte{4};
      out[at + 1] = static_cast<std::byte>(rank), out[at + 2] = static_cast<std::byte>(4 + (rank >> 8));
    }
    std::copy_n(of_node_.begin(), 4, out.begin() + 24);
    return out;
  }
  /// 85 bytes, of which 13 are the rank's own: an id, a queue, a port.
  Blob ucx_address() {
    Blob out(of_node_.begin(), of_node_.end());
    out.resize(85);
    const auto own = random(13);
    std::copy_n(own.begin(), 8, out.begin() + 1);
    std::copy_n(own.begin() + 8, 3, out.begin() + 46);
    std::copy_n(own.begin() + 11, 2, out.begin() + 83);
    return out;
  }
  Blob random(std::size_t bytes) {
    Blob out(bytes);
    for (auto& byte : out) byte = static_cast<std::byte>(random_());
    return out;
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  Kind kind_;
  std::mt19937_64 random_{1};
  Blob of_node_;
  std::vector<Line> memory_;
};

Blob cards_of(const benchmark::State& state) {
  return Cards(static_cast<Kind>(state.range(0))).of_ranks(static_cast<std::uint32_t>(state.range(1)));
}
void report(benchmark::State& state, std::size_t cards, std::size_t packed) {
  state.SetLabel(kind_names[state.range(0)]);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(cards));
  state.counters["bytes"] = static_cast<double>(cards);
  state.counters["packed"] = static_cast<double>(packed);
}

void contribution_pack(benchmark::State& state) {
  const auto cards = cards_of(state);
  Packer packer;
  std::size_t packed = 0;
  for (auto _ : state) packed = packer.pack({{}, cards}).size();
  report(state, cards.size(), packed);
}

void contribution_unpack(benchmark::State& state) {
  const auto cards = cards_of(state);
  Packer packer;
  const auto packed = packer.pack({{}, cards});
  for (auto _ : state) {
    auto parts = packer.unpack(packed);
    if (!parts) state.SkipWithError("not unpacked");
    benchmark::DoNotOptimize(parts);
  }
  report(state, cards.size(), packed.size());
}

/// The other work on the cards at each node that receives them: for comparison.
void contribution_read(benchmark::State& state) {
  const auto cards = cards_of(state);
  for (auto _ : state) {
    std::size_t records = 0;
    if (!store::read_cards(cards, [&](const store::Card& card) { records += card.records.size(); }))
      state.SkipWithError("not read");
    benchmark::DoNotOptimize(records);
  }
  report(state, cards.size(), cards.size());
}

// ---- of which the level was chosen: zstd alone, whatever it makes of it

void zstd_compress(benchmark::State& state) {
  const auto cards = cards_of(state);
  Blob out(::ZSTD_compressBound(cards.size()));
  auto* context = ::ZSTD_createCCtx();
  std::size_t packed = 0;
  for (auto _ : state) {
    packed = ::ZSTD_compressCCtx(context, out.data(), out.size(), cards.data(), cards.size(),
                                 static_cast<int>(state.range(2)));
    benchmark::ClobberMemory();
  }
  state.counters["context"] = static_cast<double>(::ZSTD_sizeof_CCtx(context));
  ::ZSTD_freeCCtx(context);
  report(state, cards.size(), packed);
}

void zstd_expand(benchmark::State& state) {
  const auto cards = cards_of(state);
  Blob packed(::ZSTD_compressBound(cards.size())), out(cards.size());
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), cards.data(), cards.size(),
                                static_cast<int>(state.range(2))));
  auto* context = ::ZSTD_createDCtx();
  for (auto _ : state) {
    if (::ZSTD_decompressDCtx(context, out.data(), out.size(), packed.data(), packed.size()) != out.size())
      state.SkipWithError("not expanded");
    benchmark::ClobberMemory();
  }
  state.counters["context"] = static_cast<double>(::ZSTD_sizeof_DCtx(context));
  ::ZSTD_freeDCtx(context);
  report(state, cards.size(), packed.size());
}

/// There and back with working memory that is set up for it: why the packer keeps its own.
void zstd_anew(benchmark::State& state) {
  const auto cards = cards_of(state);
  Blob packed(::ZSTD_compressBound(cards.size())), out(cards.size());
  std::size_t length = 0;
  for (auto _ : state) {
    length = ::ZSTD_compress(packed.data(), packed.size(), cards.data(), cards.size(), -1);
    if (::ZSTD_decompress(out.data(), out.size(), packed.data(), length) != out.size())
      state.SkipWithError("not expanded");
    benchmark::ClobberMemory();
  }
  report(state, cards.size(), length);
}

const std::vector<std::int64_t> kinds{tcp, ucx, noise}, ranks{1, 2, 4, 8, 16, 64, 256, 1024},
    levels{-1, 1, 3};
BENCHMARK(contribution_pack)->ArgsProduct({kinds, ranks});
BENCHMARK(contribution_unpack)->ArgsProduct({kinds, ranks});
BENCHMARK(contribution_read)->ArgsProduct({kinds, ranks});
BENCHMARK(zstd_compress)->ArgsProduct({kinds, ranks, levels});
BENCHMARK(zstd_anew)->ArgsProduct({kinds, {4, 16}});
BENCHMARK(zstd_expand)->ArgsProduct({kinds, ranks, levels});

}  // namespace
}  // namespace weft::server
