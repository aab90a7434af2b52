// SPDX-License-Identifier: BSD-3-Clause
// What it takes to seal a message of 80 bytes and to open it, with Weft's records and with OpenSSL's
// (docs/decisions/0012-records.md): in a loop, and after other work has had the caches, as in a server that
// is woken for one message.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "transport/tcp/tls/tls.hpp"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

struct Ends {
  explicit Ends(tcp::RecordsBy by)
      : context(std::move(*tcp::TlsContext::make(std::vector<std::byte>(32, std::byte{7}), by))) {
    client.step();
    for (int i = 0; i < 3; ++i) {
      pass(client, server);
      pass(server, client);
    }
  }
  static void pass(tcp::TlsStream& from, tcp::TlsStream& to) {
    to.feed(from.output());
    to.step();
    from.sent(from.output().size());
  }
  std::unique_ptr<tcp::TlsContext> context;
  tcp::TlsStream client{*context, tcp::Introduction{}},
      server{*context, tcp::EndpointId{}, [](const tcp::Introduction&) { return true; }};
};

void tls_record(benchmark::State& state, tcp::RecordsBy by, bool opens, bool is_cold) {
  Ends ends(by);
  const std::vector<std::byte> text(80, std::byte{3});
  std::vector<std::byte> into(tcp::TlsStream::record_bytes);
  std::vector<std::byte> other(std::size_t{8} << 20), copy(other.size());
  const auto do_other_work = [&] {
    if (!is_cold) return;
    std::memcpy(copy.data(), other.data(), other.size());
    benchmark::DoNotOptimize(copy.data());
    ::sched_yield();
  };
  bool is_right = true;
  for (auto _ : state) {
    do_other_work();
    auto began = Clock::now();
    is_right = is_right && ends.client.write(text);
    auto took = Clock::now() - began;
    ends.server.feed(ends.client.output());
    if (opens) {
      do_other_work();
      began = Clock::now();
    }
    is_right = is_right && ends.server.coming().value_or(0) == text.size() &&
               ends.server.read(into).value_or(0) == text.size() && ends.server.coming().value_or(1) == 0;
    if (opens) took = Clock::now() - began;
    ends.client.sent(ends.client.output().size());
    state.SetIterationTime(std::chrono::duration<double>(took).count());
  }
  if (!is_right) state.SkipWithError("a record that does not open");
}

[[maybe_unused]] const bool are_registered = [] {
  for (const bool is_cold : {true, false})
    for (const bool opens : {false, true})
      for (const auto by : {tcp::RecordsBy::weft, tcp::RecordsBy::openssl}) {
        const std::string name = std::string("tls_") + (opens ? "open" : "seal") +
                                 (is_cold ? "_cold/" : "/") +
                                 (by == tcp::RecordsBy::weft ? "weft" : "openssl");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) { tls_record(state, by, opens, is_cold); })
            ->UseManualTime()
            ->Iterations(is_cold ? 400 : 20'000)
            ->Repetitions(9)
            ->ReportAggregatesOnly();
      }
  return true;
}();

}  // namespace
