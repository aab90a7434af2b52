// SPDX-License-Identifier: BSD-3-Clause
// Schedules of operations, ends of processes and losses of nodes, in a cluster in this process and in virtual
// time: of the seeds N, N + 1, ..., those that went wrong once (found.hpp), or one that counts what a loss
// costs. README.md has what was run.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

struct Options {
  std::uint64_t seed = 1, runs = 1000;
  std::optional<unsigned> seconds;
  Bounds bounds;
  bool shows = false, runs_found = false, runs_all = false, counts_cost = false;
};

/// Nothing: the program ends with `status`.
std::optional<Options> read(int count, char** words, int& status) {
  CLI::App app(
      "Schedules of operations, ends of processes and losses of nodes, in a cluster in this process and in "
      "virtual time. Ends with 1 at the first that goes wrong, which it prints, made smaller.");
  Options o;
  auto& bounds = o.bounds;
  const CLI::Range some(1, 1000);
  app.option_defaults()->always_capture_default();
  app.add_option("--seed", o.seed, "of the first schedule; each next has the next seed");
  app.add_option("--runs", o.runs, "how many");
  app.add_option("--seconds", o.seconds, "begins none after so many");
  app.add_option("--nodes", bounds.most_nodes, "at most, of a schedule")->check(CLI::Range(2, 1000));
  app.add_option("--ranks", bounds.most_ranks_a_node, "at most, of a node")->check(some);
  app.add_option("--operations", bounds.most_operations, "at most, of a schedule")
      ->check(CLI::Range(1, 100000));
  app.add_option("--faults", bounds.most_faults, "at most, of a schedule")->check(CLI::Range(0, 1000));
  app.add_option("--width", bounds.width_of_ends, "of the tree down which ends of processes are told")
      ->check(some);
  app.add_flag("--pauses", bounds.draws_pauses, "draws servers that do nothing for a time, too");
  app.add_flag("--plain", bounds.is_plain,
               "where something is lost: no groups whose members do not know each other, no names of groups "
               "that have ended");
  app.add_flag("--names", bounds.draws_names, "half of the operations publish names, and look them up");
  app.add_flag("--output", bounds.draws_output,
               "one operation in three is a print, or a pull of what is printed");
  app.add_flag("--spawns", bounds.draws_spawns,
               "draws processes that start other jobs, whose processes take part in what comes then");
  app.add_flag("--all", o.runs_all, "goes on behind one that goes wrong, and tells the seeds alone");
  app.add_flag("--show", o.shows,
               "prints the schedule of the first seed, and runs it twice: both runs have to be the same");
  app.add_flag("--found", o.runs_found, "runs those that went wrong once");
  app.add_flag("--cost", o.counts_cost,
               "loses one of --nodes that --operations wait for, ends a process of as many nodes, and counts "
               "messages");
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  return o;
}

void tell(const Outcome& outcome) {
  for (const auto& violation : outcome.violations) std::printf("  %s\n", violation.c_str());
}

int count_cost(const Bounds& bounds) {
  int wrong = cost_of_a_loss(bounds.most_nodes, bounds.most_operations);
  for (const bool loses_a_server : {false, true})
    for (const std::uint32_t width : {2u, bounds.width_of_ends})
      wrong |= cost_of_an_end(bounds.most_nodes, width, loses_a_server);
  return wrong;
}

int show(const Options& options) {
  const auto schedule = draw(options.seed, options.bounds);
  std::printf("%s", to_text(schedule).c_str());
  const auto first = run(schedule), second = run(schedule);
  std::printf("digest %016llx, %lld us of virtual time\n", static_cast<unsigned long long>(first.digest),
              static_cast<long long>(first.took.count() / 1000));
  tell(first);
  if (first.digest != second.digest) std::printf("another run of it has ended in another way\n");
  return first.violations.empty() && first.digest == second.digest ? 0 : 1;
}

int run_found() {
  bool is_good = true;
  for (const auto& [what, schedule] : found()) {
    const auto outcome = run(schedule);
    std::printf("%s: %s\n", what, outcome.violations.empty() ? "no more" : "again");
    tell(outcome);
    is_good &= outcome.violations.empty();
  }
  return is_good ? 0 : 1;
}

/// From here on the signal waits. False: it cannot.
bool holds(int signal) {
  sigset_t these;
  return ::sigemptyset(&these) == 0 && ::sigaddset(&these, signal) == 0 &&
         ::sigprocmask(SIG_BLOCK, &these, nullptr) == 0;
}

bool has_come(int signal) {
  sigset_t those;
  return ::sigpending(&those) == 0 && ::sigismember(&those, signal) == 1;
}

int main(int count, char** words) {
  int status = 0;
  const auto options = read(count, words, status);
  if (!options) return status;
  ::setenv("WEFT_LOG", "off", 0);  // a line for each loss says nothing here
  if (options->runs_found) return run_found();
  if (options->counts_cost) return count_cost(options->bounds);
  if (options->shows) return show(*options);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0, violating = 0;
  const bool may_be_stopped = holds(SIGTERM);
  for (; done < options->runs; ++done) {
    const bool is_over = options->seconds &&
                         std::chrono::steady_clock::now() - begin > std::chrono::seconds(*options->seconds);
    if (is_over || (may_be_stopped && has_come(SIGTERM))) break;
    const auto seed = options->seed + done;
    const auto schedule = draw(seed, options->bounds);
    const auto outcome = run(schedule);
    if (outcome.violations.empty()) continue;
    ++violating;
    if (options->runs_all) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  outcome.violations.front().c_str());
      std::fflush(stdout);
      continue;
    }
    std::printf("seed %llu: %s", static_cast<unsigned long long>(seed), to_text(schedule).c_str());
    tell(outcome);
    const auto smaller = shrink(schedule);
    std::printf("made smaller: %s", to_text(smaller).c_str());
    tell(run(smaller));
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (violating != 0) std::printf("%llu went wrong of ", static_cast<unsigned long long>(violating));
  std::printf("%llu schedules%s, in %.1f s\n", static_cast<unsigned long long>(done),
              violating == 0 ? " without a violation" : "", took.count());
  return violating == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::schedules

int main(int count, char** words) {
  return weft::schedules::main(count, words);
}
