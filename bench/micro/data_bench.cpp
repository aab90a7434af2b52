// SPDX-License-Identifier: BSD-3-Clause
// Encoding and decoding of values: the cost of a Put and a Get beside the lookup.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

Value byte_object(std::size_t bytes) {
  return Value::of_bytes(std::vector<std::byte>(bytes, std::byte{7}));
}

/// A job-level array as a server registers it for one rank: five keys of different types.
Infos proc_info() {
  Infos infos;
  infos.add(PMIX_RANK, Value::of_rank(7));
  infos.add(PMIX_LOCAL_RANK, Value::of(std::uint16_t{3}));
  infos.add(PMIX_APPNUM, Value::of(std::uint32_t{0}));
  infos.add(PMIX_HOSTNAME, Value::of(std::string_view("node0001.cluster.example")));
  infos.add(PMIX_LOCALITY_STRING, Value::of(std::string_view("NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-1")));
  return infos;
}

void encode(benchmark::State& state, const Value& value) {
  Writer out;
  for (auto _ : state) {
    out.clear();
    if (!encode_value(out, value.get())) state.SkipWithError("encode_value failed");
    benchmark::DoNotOptimize(out.view().data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}

void decode(benchmark::State& state, const Value& value) {
  Writer bytes;
  if (!encode_value(bytes, value.get())) return state.SkipWithError("encode_value failed");
  for (auto _ : state) {
    Reader in(bytes.view());
    auto out = Value::decode(in);
    if (!out) state.SkipWithError("decode failed");
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void encode_number(benchmark::State& state) {
  encode(state, Value::of(std::uint32_t{42}));
}
void decode_number(benchmark::State& state) {
  decode(state, Value::of(std::uint32_t{42}));
}
void encode_text(benchmark::State& state) {
  encode(state, Value::of(std::string_view("0,1,2,3,4,5,6,7")));
}
void decode_text(benchmark::State& state) {
  decode(state, Value::of(std::string_view("0,1,2,3,4,5,6,7")));
}
void encode_bytes(benchmark::State& state) {
  encode(state, byte_object(static_cast<std::size_t>(state.range(0))));
}
void decode_bytes(benchmark::State& state) {
  decode(state, byte_object(static_cast<std::size_t>(state.range(0))));
}

void copy_bytes(benchmark::State& state) {
  const Value value = byte_object(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto copy = Value::copy_of(value.get());
    benchmark::DoNotOptimize(copy);
  }
}

void encode_proc_info(benchmark::State& state) {
  const Infos infos = proc_info();
  Writer out;
  for (auto _ : state) {
    out.clear();
    if (!encode_infos(out, infos.data(), infos.size())) state.SkipWithError("encode_infos failed");
    benchmark::DoNotOptimize(out.view().data());
  }
}

void decode_proc_info(benchmark::State& state) {
  const Infos infos = proc_info();
  Writer bytes;
  if (!encode_infos(bytes, infos.data(), infos.size())) return state.SkipWithError("encode_infos failed");
  for (auto _ : state) {
    Reader in(bytes.view());
    auto out = Infos::decode(in);
    if (!out) state.SkipWithError("decode failed");
    benchmark::DoNotOptimize(out);
  }
}

BENCHMARK(encode_number);
BENCHMARK(decode_number);
BENCHMARK(encode_text);
BENCHMARK(decode_text);
BENCHMARK(encode_bytes)->Arg(64)->Arg(256)->Arg(4096);
BENCHMARK(decode_bytes)->Arg(64)->Arg(256)->Arg(4096);
BENCHMARK(copy_bytes)->Arg(64)->Arg(4096);
BENCHMARK(encode_proc_info);
BENCHMARK(decode_proc_info);

}  // namespace
}  // namespace weft::data
