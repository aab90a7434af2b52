// SPDX-License-Identifier: BSD-3-Clause
// The least work with which the ranks of several hosts can wait for all of them: a counter in memory that the
// ranks of a host share; the last rank wakes the daemon of the host; the daemons exchange words by
// dissemination over bare TCP; each daemon wakes its ranks. A process without work sleeps. One copy of this
// program runs on each host.
#include <CLI/CLI.hpp>
#include <optional>

#include "bench/floors/gate.hpp"
#include "bench/floors/links.hpp"
#include "bench/floors/shared_sample.hpp"
#include "bench/floors/team.hpp"
#include "bench/pair/die.hpp"
#include "bench/report/measure.hpp"
#include "bench/report/record.hpp"

namespace weft::bench {
namespace {

constexpr unsigned warm_rounds = 200;

struct Options {
  std::vector<std::string> at;
  unsigned me = 0, ranks = 1, port = 7475, batches = 300;
  bool json = false;
  std::string commit;

  std::uint32_t rounds() const { return warm_rounds + batches * SharedSample::batch; }
};

struct Node {
  Gate gate;
  alignas(64) std::atomic<std::uint32_t> rung{0};  // rounds that the daemon has to do
};

void barrier(Node& node, unsigned ranks) {
  const std::uint32_t mine = node.gate.generation.load(std::memory_order_relaxed);
  if (last_to_arrive(node.gate, ranks)) {
    node.rung.fetch_add(1, std::memory_order_release);
    futex_wake_all(node.rung);
  }
  sleep_while(node.gate.generation, mine);
}

/// One word to and from each host whose distance is a power of two: then a word of every host has reached
/// every other.
void disseminate(Links& links, unsigned me, std::uint64_t round) {
  const unsigned n = links.size();
  for (unsigned distance = 1; distance < n; distance *= 2) {
    links.send((me + distance) % n, round);
    if (links.receive((me + n - distance) % n) != round) die("a host", "is in another round");
  }
}

void serve(Node& node, const Options& options, unsigned port, Links::Wait wait) {
  Links links(options.at, options.me, port, wait);
  for (std::uint32_t round = 0; round < options.rounds(); ++round) {
    sleep_while(node.rung, round);
    disseminate(links, options.me, round);
    node.gate.generation.fetch_add(1, std::memory_order_release);
    futex_wake_all(node.gate.generation);
  }
}

Sample run(const Options& options, unsigned port, Links::Wait wait) {
  auto* node = shared_new<Node>();
  auto* result = shared_new<SharedSample>();
  run_team(options.ranks + 1, [&](unsigned process) {
    if (process == options.ranks) return serve(*node, options, port, wait);
    const auto one = [&] { barrier(*node, options.ranks); };
    for (unsigned i = 0; i < warm_rounds; ++i) one();
    const Sample seen = measure_fixed(one, options.batches, SharedSample::batch);
    if (process == 0) result->store(seen);
  });
  return result->load();
}

std::optional<Options> parse(int argc, char** argv, int& status) {
  Options o;
  CLI::App app{
      "weft_floor_nodes_barrier: barrier of bare processes on several hosts; start one copy on each host.\n"
      "The first host's copy prints the figures"};
  app.add_option("--at", o.at, "name or address of each host, separated by commas; the same for all")
      ->delimiter(',')
      ->required();
  app.add_option("--me", o.me, "which of them this one is, from 0")->required();
  app.add_option("--ranks", o.ranks, "processes a host, besides its daemon")->check(CLI::Range(1, 1000));
  app.add_option("--batches", o.batches, "batches of 10 barriers; the same for all")
      ->check(CLI::Range(std::size_t{2}, SharedSample::most_batches));
  app.add_option("--port", o.port, "this port and the one after it are used")->check(CLI::Range(1024, 65000));
  app.add_flag("--json", o.json, "JSON lines instead of a table");
  app.add_option("--commit", o.commit, "text for the field `commit` of the JSON lines");
  try {
    app.parse(argc, argv);
    if (o.me >= o.at.size()) throw CLI::ValidationError("--me", "there are not as many hosts");
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return o;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  int status = 0;
  const auto options = parse(argc, argv, status);
  if (!options) return status;
  Reporter reporter(stdout, options->json, {"none (bare processes)", options->commit});
  const auto ranks = static_cast<unsigned>(options->at.size()) * options->ranks;
  unsigned port = options->port;
  for (const auto& [name, wait] : {std::pair{"floor_nodes_barrier_read", Links::Wait::read},
                                   std::pair{"floor_nodes_barrier_epoll", Links::Wait::epoll}}) {
    const Sample seen = run(*options, port++, wait);
    if (options->me == 0) reporter.print(make_record(name, ranks, 0, seen));
  }
}
