// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/options.hpp"

#include <CLI/CLI.hpp>

namespace weft::bench {

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  Options o;
  CLI::App app{
      "weftbench: measures a PMIx library from inside a job.\n"
      "Start it with a launcher: weftrun -n 4 weftbench, mpirun -n 4 weftbench, srun --mpi=pmix weftbench"};
  app.set_help_flag("-h,--help", "print this help and exit");
  app.add_flag("--list", o.list, "print the phases and exit");
  app.add_option(
         "--compare", o.compared,
         "two files of JSON lines: print the ratios of their times, and whether they are noise, and exit")
      ->expected(2)
      ->type_name("A.jsonl B.jsonl");
  app.add_option("--phases", o.phases, "which to run, separated by commas (default: all)")->delimiter(',');
  app.add_flag("--json", o.json, "JSON lines instead of a table");
  app.add_option("--repeats", o.repeats, "repeats of what needs fresh keys")->check(CLI::Range(1, 10000));
  app.add_option("--events", o.events, "events in a row")->check(CLI::Range(1, 1000000));
  app.add_option("--budget-ms", o.budget_ms, "wall time of one measurement")->check(CLI::Range(1, 60000));
  app.add_option("--card-bytes", o.card_bytes, "bytes a rank in full fences")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--get-bytes", o.get_bytes, "bytes of the card that get reads")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--expect-ranks", o.expected_ranks, "fail unless the job has as many ranks");
  app.add_option("--expect-local", o.expected_local, "fail unless each node has as many of the ranks");
  app.add_option("--limit", o.limit_s, "seconds after which the program ends itself")
      ->check(CLI::Range(1, 86400));
  app.add_option("--server-pid", o.server_pid,
                 "the server whose memory is read (default: the parent process)");
  app.add_option("--t0", o.launched_at, "CLOCK_MONOTONIC in ns when the launcher was started (phase launch)");
  app.add_option("--commit", o.commit, "text for the field `commit` of the JSON lines");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return o;
}

}  // namespace weft::bench
