// SPDX-License-Identifier: BSD-3-Clause
// The cost that no launcher can avoid: start n copies of a program and wait for all. Three ways; the fastest
// is the floor.
#include <fcntl.h>
#include <spawn.h>

#include "bench/floors/arguments.hpp"
#include "bench/floors/team.hpp"
#include "bench/report/clock.hpp"

extern char** environ;

namespace weft::bench {
namespace {

using Start = pid_t (*)(char** program);

pid_t with_fork(char** program) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  execv(program[0], program);
  _exit(127);
}

// The child uses this stack until execv(), so it must change nothing; the compiler warns because it cannot
// check that.
pid_t with_vfork(char** program) {
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  execv(program[0], program);
  _exit(127);
}

pid_t with_posix_spawn(char** program) {
  pid_t pid = -1;
  return posix_spawn(&pid, program[0], nullptr, nullptr, program, environ) == 0 ? pid : -1;
}

/// Wall time in ns of n copies; ends the program if one of them fails, since a failing program exits early.
double wall(Start start, unsigned n, char** program) {
  const std::int64_t begin = now_ns();
  for (unsigned i = 0; i < n; ++i) {
    if (start(program) > 0) continue;
    std::perror("spawn");
    std::exit(1);
  }
  for (unsigned i = 0; i < n; ++i) {
    int status = 0;
    if (wait(&status) > 0 && status == 0) continue;
    std::fprintf(stderr, "%s failed with status %d\n", program[0], status);
    std::exit(1);
  }
  return static_cast<double>(now_ns() - begin);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  constexpr const char* about = "start n copies of a program and wait (give its full path after --)";
  const Arguments arguments = parse_arguments(argc, argv, about);
  if (arguments.program == nullptr) usage(argv[0], about, 2);
  Reporter reporter = arguments.reporter();
  const std::pair<const char*, Start> variants[] = {{"floor_spawn_fork", with_fork},
                                                    {"floor_spawn_vfork", with_vfork},
                                                    {"floor_spawn_posix", with_posix_spawn}};
  const unsigned repeats = arguments.repeats == 0 ? 7 : arguments.repeats;
  for (const unsigned n : arguments.sizes) {
    std::vector<std::vector<double>> walls(std::size(variants));
    for (const auto& [name, start] : variants) wall(start, 1, arguments.program);  // page cache
    for (unsigned r = 0; r < repeats; ++r) {
      for (std::size_t v = 0; v < std::size(variants); ++v) {
        walls[v].push_back(wall(variants[v].second, n, arguments.program));
      }
    }
    for (std::size_t v = 0; v < std::size(variants); ++v) {
      reporter.print(make_record(variants[v].first, n, "ns", walls[v]));
    }
  }
}
