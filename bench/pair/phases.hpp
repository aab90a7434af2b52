// SPDX-License-Identifier: BSD-3-Clause
// The client of a pair, whatever carries the bytes: one loop for Weft's transports and for bare programs.
#pragma once

#include <functional>
#include <memory>

#include "bench/pair/options.hpp"
#include "bench/pair/side_channel.hpp"
#include "bench/report/measure.hpp"
#include "bench/report/record.hpp"

namespace weft::bench {

/// Each call returns when the operation is complete. The constructor opens what needs no peer.
class PairClient {
 public:
  virtual ~PairClient() = default;
  /// First contact: connects to the server by the card from the side channel, and receives a first message
  /// from it.
  virtual void contact(std::span<const std::byte> card) = 0;
  virtual void there_and_back(std::size_t bytes) = 0;
  /// Reads from the start of the server's memory, which is PairOptions::memory_bytes long.
  virtual void get(std::size_t bytes) = 0;
};

using MakeClient = std::function<std::unique_ptr<PairClient>()>;

/// Prints the records; their names begin with `name`. The server has sent its card over the side channel.
inline void run_client(const PairOptions& options, const std::string& name, const MakeClient& make,
                       SideChannel& side_channel) {
  using Mode = PairOptions::Mode;
  Reporter reporter(stdout, options.json, {options.transport, options.commit});
  const auto card = side_channel.receive();
  const std::string wait = std::string(options.wait == PairOptions::Wait::poll ? "poll" : "sleep") +
                           (options.pause_ms != 0 ? "_paused" : "");
  Budget budget{options.budget_ms * std::int64_t{1'000'000}, 100'000, 1};
  const auto print = [&](const std::string& what, std::size_t bytes, const Sample& sample) {
    auto record = make_record(name + "_" + what + "_" + wait, 2, bytes, sample);
    double sum = 0;  // the only figure of the fabrics' own tools
    for (const double one : sample.means) sum += one;
    record.extra.emplace_back("mean_ns", sum / static_cast<double>(sample.means.size()));
    reporter.print(record);
  };

  const auto timed = [&](const auto& op) {
    if (options.pause_ms == 0) return measure(op, budget);
    op();
    return measure_paused(op, 40, options.pause_ms * std::int64_t{1'000'000});
  };

  if (only_connects(options)) {
    Sample sample;
    const auto end = now_ns() + budget.total_ns;
    while (sample.means.size() < 5 || (now_ns() < end && sample.means.size() < 50)) {
      const auto client = make();
      const auto begin = now_ns();
      client->contact(card);
      sample.means.push_back(static_cast<double>(now_ns() - begin));
    }
    return print("connect", 0, sample);
  }
  const auto client = make();
  client->contact(card);
  for (const auto mode : options.modes) {
    if (mode == Mode::bandwidth) {
      const auto read_all = [&] { client->get(PairOptions::most_bytes); };
      read_all();
      print("bandwidth", PairOptions::most_bytes, measure_fixed(read_all, 5, 1));
      continue;
    }
    for (const auto bytes : options.bytes) {
      if (mode == Mode::rtt)
        print("rtt", bytes, timed([&] { client->there_and_back(bytes); }));
      else
        print("get", bytes, timed([&] { client->get(bytes); }));
    }
  }
}

}  // namespace weft::bench
