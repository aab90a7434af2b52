// SPDX-License-Identifier: BSD-3-Clause
#include "bench/pair/options.hpp"

#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/pair/die.hpp"

namespace weft::bench {

std::optional<PairOptions> parse_pair_options(int argc, char** argv, const char* about, int& status) {
  using Mode = PairOptions::Mode;
  using Wait = PairOptions::Wait;
  PairOptions o;
  CLI::App app{about};
  app.set_help_flag("-h,--help", "print this help and exit");
  app.add_flag("--serve", o.serve,
               "be the one that is measured against; the other one is started without it");
  app.add_option("--at", o.at, "HOST:PORT where the server listens for the client, over TCP")
      ->capture_default_str();
  app.add_option("--transport", o.transport, "what carries the bytes, as this program's README says");
  app.add_flag(
      "--tells-of-loss", o.tells_of_loss,
      "connections that end with their peer, as Weft's do, where a program has the choice: bare UCX");
  app.add_option("--mode", o.modes,
                 "rtt: there and back, get: read, bandwidth: read 64 MiB, separated by commas; or connect: "
                 "first contact")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(std::map<std::string, Mode>{{"rtt", Mode::rtt},
                                                                      {"get", Mode::get},
                                                                      {"bandwidth", Mode::bandwidth},
                                                                      {"connect", Mode::connect}}));
  app.add_option("--wait", o.wait,
                 "poll: never sleeps; sleep: sleeps as soon as nothing is there. Of this side")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Wait>{{"poll", Wait::poll}, {"sleep", Wait::sleep}}));
  app.add_option("--bytes", o.bytes, "sizes in modes rtt and get, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}));
  app.add_option("--memory-bytes", o.memory_bytes,
                 "what the server has to read, the same at both sides; mode bandwidth takes 64 MiB")
      ->check(CLI::Range(std::size_t{4096}, PairOptions::most_bytes))
      ->capture_default_str();
  app.add_option("--budget-ms", o.budget_ms, "wall time of one measurement")->check(CLI::Range(1, 60000));
  app.add_option("--pause-ms", o.pause_ms,
                 "in modes rtt and get: do nothing for so long before each of 40 operations")
      ->check(CLI::Range(1, 1000));
  app.add_option("--limit", o.limit_s, "seconds after which the program ends itself")
      ->check(CLI::Range(1, 3600));
  app.add_option("--core", o.core,
                 "where to run (the client's default is its first core, the server's its last)");
  app.add_flag("--unbound", o.unbound, "let the scheduler choose where this side runs");
  app.add_flag("--json", o.json, "JSON lines instead of a table");
  app.add_option("--commit", o.commit, "text for the field `commit` of the JSON lines");
  try {
    app.parse(argc, argv);
    if (std::count(o.modes.begin(), o.modes.end(), Mode::connect) != 0 && !only_connects(o))
      throw CLI::ValidationError("--mode", "connect stands alone");
    if (std::count(o.modes.begin(), o.modes.end(), Mode::bandwidth) != 0 &&
        o.memory_bytes != PairOptions::most_bytes)
      throw CLI::ValidationError("--memory-bytes", "bandwidth takes 64 MiB");
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return o;
}

void settle(const PairOptions& options) {
  ::alarm(options.limit_s);
  if (options.unbound) return;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) die_of_errno("sched_getaffinity");
  int core = options.core;
  for (int i = 0; i < CPU_SETSIZE && options.core < 0; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    core = i;
    if (!options.serve) break;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) die_of_errno("sched_setaffinity");
}

}  // namespace weft::bench
