// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "bench/report/comparison.hpp"
#include "bench/weftbench/neighbours.hpp"
#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

void out_of_time(int) {
  constexpr std::string_view text = "weftbench: not done within --limit seconds, giving up\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(124);
}

bool selected(const Options& options, std::string_view name) {
  const auto& chosen = options.phases;
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

int list() {
  for (const Phase& phase : phases()) std::printf("%-18s %s\n", phase.name, phase.about);
  return 0;
}

int compare(const std::string& first, const std::string& second) {
  try {
    print_comparison(stdout, read_json_lines(first), read_json_lines(second), {first, second});
    return 0;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "weftbench: %s\n", error.what());
    return 2;
  }
}

/// True if every name that the user gave is in the list; otherwise prints the unknown one.
bool known_phases(const Options& options) {
  for (const std::string& name : options.phases) {
    const auto same = [&](const Phase& p) { return name == p.name; };
    if (std::any_of(phases().begin(), phases().end(), same)) continue;
    std::fprintf(stderr, "weftbench: no phase %s; see --list\n", name.c_str());
    return false;
  }
  return true;
}

void run(const Options& options, Start start) {
  const bool watch_memory =
      selected(options, "memory");  // reading /proc would delay Init's start for nothing
  if (watch_memory) start.before = footprint(getpid());
  Job job;
  start.joined = now_ns();
  if (watch_memory) start.after = footprint(getpid());
  if (options.expected_ranks != 0 && options.expected_ranks != job.size()) {
    throw Failure("the job has " + std::to_string(job.size()) + " ranks, not " +
                  std::to_string(options.expected_ranks));
  }
  if (options.expected_local != 0 && options.expected_local != neighbours(job).size()) {
    throw Failure("rank " + std::to_string(job.rank()) + "'s node has " +
                  std::to_string(neighbours(job).size()) + " ranks, not " +
                  std::to_string(options.expected_local));
  }
  Reporter reporter(stdout, options.json,
                    {PMIx_Get_version(), options.commit, job.is_root() ? host_count(job) : 0});
  const Context context{job, options, start, reporter};
  for (const Phase& phase : phases()) {
    if (selected(options, phase.name)) phase.run(context);
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  Start start;
  start.entered_main = now_ns();
  int status = 0;
  const auto options = parse_options(argc, argv, status);
  if (!options) return status;
  if (options->list) return list();
  if (!options->compared.empty()) return compare(options->compared[0], options->compared[1]);
  if (!known_phases(*options)) return 2;
  signal(SIGALRM, out_of_time);
  alarm(options->limit_s);
  try {
    run(*options, start);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weftbench[pid %d]: %s\n", getpid(), error.what());
    _exit(1);  // not exit(): other ranks may be blocked, and the launcher ends them when it sees this status
  }
  return 0;
}
