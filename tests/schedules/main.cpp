// SPDX-License-Identifier: BSD-3-Clause
// Schedules of operations, ends of processes and losses of nodes, in a cluster in this process and in virtual
// time.
//
//   weft_schedules --found
//   weft_schedules --cost [--nodes N] [--operations N]
//   weft_schedules [--seed N] [--runs N] [--seconds S] [--nodes N] [--ranks N] [--operations N] [--faults N]
//   [--pauses] [--plain] [--all] [--show]
//
// --found runs those that went wrong once (found.hpp). --cost loses a node that so many operations wait for,
// and counts messages. --pauses also draws servers that do nothing for a time; --plain draws no groups whose
// members do not know each other where something is lost, and none there with the name of one that has ended.
// Runs the schedules of seeds N, N + 1, ... and ends with 1 at the first that goes wrong, which it prints,
// made smaller; --all goes on behind it, and tells the seeds alone. --show prints the schedule of the first
// seed, and runs it twice: both runs have to be the same.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

struct Options {
  std::uint64_t seed = 1, runs = 1000;
  std::optional<unsigned> seconds;
  Bounds bounds;
  bool shows = false, runs_found = false, runs_all = false, counts_cost = false;
};

std::optional<Options> read(int count, char** words) {
  Options out;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--show") {
      out.shows = true;
      continue;
    }
    if (word == "--all") {
      out.runs_all = true;
      continue;
    }
    if (word == "--pauses") {
      out.bounds.draws_pauses = true;
      continue;
    }
    if (word == "--plain") {
      out.bounds.is_plain = true;
      continue;
    }
    if (word == "--cost") {
      out.counts_cost = true;
      continue;
    }
    if (word == "--found") {
      out.runs_found = true;
      continue;
    }
    if (i + 1 == count) return std::nullopt;
    char* end = nullptr;
    const auto number = std::strtoull(words[++i], &end, 10);
    if (*end != '\0') return std::nullopt;
    const auto small = static_cast<std::uint32_t>(number);
    if (word == "--seed")
      out.seed = number;
    else if (word == "--runs")
      out.runs = number;
    else if (word == "--seconds")
      out.seconds = small;
    else if (word == "--nodes" && small >= 2)
      out.bounds.most_nodes = small;
    else if (word == "--ranks" && small >= 1)
      out.bounds.most_ranks_a_node = small;
    else if (word == "--operations" && small >= 1)
      out.bounds.most_operations = small;
    else if (word == "--faults")
      out.bounds.most_faults = small;
    else
      return std::nullopt;
  }
  return out;
}

void tell(const Outcome& outcome) {
  for (const auto& violation : outcome.violations) std::printf("  %s\n", violation.c_str());
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

int main(int count, char** words) {
  const auto options = read(count, words);
  if (!options) {
    std::fprintf(stderr, "weft_schedules: see the top of tests/schedules/main.cpp\n");
    return 2;
  }
  ::setenv("WEFT_LOG", "off", 0);  // a line for each loss says nothing here
  if (options->runs_found) return run_found();
  if (options->counts_cost)
    return cost_of_a_loss(options->bounds.most_nodes, options->bounds.most_operations);
  if (options->shows) return show(*options);
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0, violating = 0;
  for (; done < options->runs; ++done) {
    if (options->seconds &&
        std::chrono::steady_clock::now() - begin > std::chrono::seconds(*options->seconds))
      break;
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
