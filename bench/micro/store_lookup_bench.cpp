// SPDX-License-Identifier: BSD-3-Clause
// One Get below the C API: a job in a segment as a server lays it out, looked up as its clients do.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "core/store/get/lookup.hpp"
#include "core/store/segment/job_builder.hpp"
#include "pmix_common.h"

namespace weft::store {
namespace {

using data::Value;

constexpr Caller caller{true, 0};

/// `ranks` ranks on this node and as many on another, each of which put 16 keys of 64 bytes; those of the
/// other node have come with `fences` fences. alike: all have put the same, so that one card is whole.
class Job {
 public:
  explicit Job(std::uint32_t ranks, std::size_t fences = 1, bool alike = false)
      : segment_(make_segment()), writer_(make_job(segment_, ranks)) {
    std::mt19937_64 random(1);
    std::vector<std::byte> bytes(64, std::byte{7});
    data::Writer encoded;
    const auto draw = [&] {
      if (!alike) std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
      encoded = {};
      if (!data::encode_value(encoded, Value::of_bytes(bytes).get())) std::abort();
    };
    draw();
    std::vector<std::string> keys;
    for (int k = 0; k < 16; ++k) keys.push_back("key." + std::to_string(k));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      auto card = view().cards().local(view().local_index(r));
      for (const auto& key : keys)
        if (!card.append({{Realm::rank, 0}, PMIX_GLOBAL, key, encoded.view()})) std::abort();
    }
    for (std::size_t f = 0; f < fences; ++f)
      for (std::uint32_t r = 0; r < ranks; ++r) {
        draw();
        std::vector<CardRecord> records;
        for (std::size_t k = f * keys.size() / fences; k < (f + 1) * keys.size() / fences; ++k)
          records.push_back({PMIX_GLOBAL, keys[k], encoded.view()});
        if (!writer_.add_card({"job", ranks + r, f * 8, f * 8 + 8, records})) std::abort();
      }
  }
  const JobView& view() const { return writer_.view(); }

 private:
  static shm::Segment make_segment() {
    auto segment = shm::Segment::create(std::size_t{4} << 30);
    if (!segment || !format_segment(*segment)) std::abort();
    return std::move(*segment);
  }
  static JobWriter make_job(shm::Segment& segment, std::uint32_t ranks) {
    JobSpec spec;
    spec.nspace = "bench";
    spec.nodes = 2;
    for (std::uint32_t r = 0; r < 2 * ranks; ++r) {
      RankSpec rank;
      rank.node = r / ranks;
      rank.local_rank = static_cast<std::uint16_t>(r % ranks);
      spec.ranks.push_back(rank);
      if (r < ranks) spec.local_ranks.push_back(r);
    }
    spec.keys.push_back({{Realm::job, 0}, "pmix.stored", Value::of(std::uint32_t{1})});
    auto job = JobWriter::create(segment, spec, {});
    if (!job) std::abort();
    return std::move(*job);
  }
  shm::Segment segment_;
  JobWriter writer_;
};

/// range(0): ranks on each of the two nodes. Each look-up asks the next rank, so that the cards take turns in
/// the cache.
void look_up(benchmark::State& state, const char* key, std::uint32_t node, std::size_t fences = 1,
             bool alike = false) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const Job job(ranks, fences, alike);
  std::uint32_t rank = 0;
  for (auto _ : state) {
    auto value = lookup(job.view(), node * ranks + rank, key, {}, caller);
    if (!value) state.SkipWithError("not found");
    benchmark::DoNotOptimize(value);
    rank = rank + 1 == ranks ? 0 : rank + 1;
  }
}

void lookup_local(benchmark::State& state) {
  look_up(state, "key.7", 0);
}
void lookup_remote(benchmark::State& state) {
  look_up(state, "key.7", 1);
}
void lookup_remote_alike(benchmark::State& state) {
  look_up(state, "key.7", 1, 1, true);
}
/// A key that came with the first of 16 fences, behind the 15 later pieces of its rank.
void lookup_remote_oldest(benchmark::State& state) {
  look_up(state, "key.0", 1, 16);
}
void lookup_computed(benchmark::State& state) {
  look_up(state, PMIX_LOCAL_RANK, 0);
}

void lookup_job_level(benchmark::State& state, const char* key) {
  const Job job(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    auto value = lookup(job.view(), PMIX_RANK_WILDCARD, key, {}, caller);
    if (!value) state.SkipWithError("not found");
    benchmark::DoNotOptimize(value);
  }
}
void lookup_stored(benchmark::State& state) {
  lookup_job_level(state, "pmix.stored");
}
void lookup_job_size(benchmark::State& state) {
  lookup_job_level(state, PMIX_JOB_SIZE);
}

void lookup_miss(benchmark::State& state) {
  const Job job(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    auto value = lookup(job.view(), 0, "nowhere", {}, caller);
    if (value) state.SkipWithError("found");
    benchmark::DoNotOptimize(value);
  }
}

BENCHMARK(lookup_local)->Arg(1)->Arg(64);
BENCHMARK(lookup_remote)->Arg(1)->Arg(64);
BENCHMARK(lookup_remote_alike)->Arg(1)->Arg(64);
BENCHMARK(lookup_remote_oldest)->Arg(1)->Arg(64);
BENCHMARK(lookup_computed)->Arg(1)->Arg(64);
BENCHMARK(lookup_stored)->Arg(64);
BENCHMARK(lookup_job_size)->Arg(64);
BENCHMARK(lookup_miss)->Arg(64);

}  // namespace
}  // namespace weft::store
