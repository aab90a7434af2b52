// SPDX-License-Identifier: BSD-3-Clause
// The work of a server on a compact job map when its host registers it, and of its clients that read it.
#include <benchmark/benchmark.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/data/node_map.hpp"
#include "core/server/jobs/job_info.hpp"
#include "core/store/get/lookup.hpp"
#include "pmix_common.h"

namespace weft::server {
namespace {

using data::Value;

constexpr std::uint32_t ranks_a_node = 100;

shm::Segment make_segment() {
  auto segment = shm::Segment::create(std::size_t{16} << 30);
  if (!segment || !store::format_segment(*segment)) std::abort();
  return std::move(*segment);
}

/// One application, 100 ranks on each node, dealt out by node.
data::Infos compact_map(std::uint32_t nodes) {
  std::vector<std::string> names;
  std::vector<std::vector<std::uint32_t>> ranks_of_node(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    names.push_back("node" + std::to_string(100'000 + n));
    for (std::uint32_t i = 0; i < ranks_a_node; ++i) ranks_of_node[n].push_back(i * nodes + n);
  }
  data::Infos infos;
  infos.add(PMIX_JOB_SIZE, Value::of(nodes * ranks_a_node));
  infos.add(PMIX_NODEID, Value::of(nodes / 2));
  infos.add(PMIX_NODE_MAP, Value::of(std::string_view(data::encode_node_map(names).value())));
  infos.add(PMIX_PROC_MAP, Value::of(std::string_view(data::encode_proc_map(ranks_of_node).value())));
  return infos;
}

store::JobSpec read(const data::Infos& infos) {
  auto spec = read_job_info("bench", ranks_a_node, infos.data(), infos.size(), {}, "here");
  if (!spec) std::abort();
  return std::move(*spec);
}

/// range(0): nodes. From the host's infos to a job that clients can read.
void register_map(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto infos = compact_map(nodes);
  double bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const auto segment = std::make_unique<shm::Segment>(make_segment());
    state.ResumeTiming();
    auto job = store::JobWriter::create(*segment, read(infos), {});
    if (!job) state.SkipWithError(job.error().what);
    benchmark::DoNotOptimize(job);
    state.PauseTiming();
    struct stat now {};
    if (::fstat(segment->server.fd(), &now) == 0) bytes = static_cast<double>(now.st_blocks) * 512;
    state.ResumeTiming();
  }
  state.counters["bytes_a_rank"] = bytes / (static_cast<double>(nodes) * ranks_a_node);
}

/// The map of so many nodes, as clients read it.
struct Registered {
  explicit Registered(std::uint32_t nodes)
      : segment(make_segment()), writer(store::JobWriter::create(segment, read(compact_map(nodes)), {})) {
    if (!writer) std::abort();
  }
  shm::Segment segment;
  Result<store::JobWriter> writer;
};

/// range(0): nodes. The peers of a rank elsewhere, another one each time.
void peers_elsewhere(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const Registered job(nodes);
  std::uint32_t rank = 0;
  for (auto _ : state) {
    auto value = store::lookup(job.writer->view(), rank, PMIX_LOCAL_PEERS, {}, {true, nodes / 2});
    if (!value) state.SkipWithError("not found");
    benchmark::DoNotOptimize(value);
    rank = (rank + 7919) % (nodes * ranks_a_node);
  }
}

/// range(0): nodes, range(1): from one rank to the next. What the map implies of a rank: of neighbours, and
/// of one each time that no cache has.
void reserved_key(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const Registered job(nodes);
  std::uint32_t rank = 0;
  for (auto _ : state) {
    auto value = store::lookup(job.writer->view(), rank, PMIX_NODEID, {}, {true, nodes / 2});
    if (!value) state.SkipWithError("not found");
    benchmark::DoNotOptimize(value);
    rank = (rank + static_cast<std::uint32_t>(state.range(1))) % (nodes * ranks_a_node);
  }
}

BENCHMARK(register_map)->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(peers_elsewhere)->Arg(100)->Arg(10'000);
BENCHMARK(reserved_key)->ArgsProduct({{1, 100, 10'000}, {1, 7919}});

}  // namespace
}  // namespace weft::server
