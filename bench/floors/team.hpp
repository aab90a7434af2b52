// SPDX-License-Identifier: BSD-3-Clause
// n bare processes over one shared mapping: the base of every floor with several processes.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace weft::bench {

/// Memory shared with children forked later; zero, never unmapped (a floor is a short program).
template <class T>
T* shared_new(std::size_t extra_bytes = 0) {
  void* at = mmap(nullptr, sizeof(T) + extra_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (at == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  return new (at) T;
}

/// Forks n processes that run body(rank) and waits for all. A child that fails, or 60 s, ends the program.
template <class Body>
void run_team(unsigned n, Body&& body) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (unsigned rank = 0; rank < n; ++rank) {
    const pid_t pid = fork();
    if (pid < 0) {
      std::perror("fork");
      for (const pid_t started : children) kill(started, SIGKILL);
      std::exit(1);
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // no child outlives the program
      if (getppid() != parent) _exit(1);
      alarm(60);  // watchdog: a barrier that lost a process would wait for ever
      body(rank);
      _exit(0);
    }
    children.push_back(pid);
  }
  bool failed = false;
  for (std::size_t left = n; left > 0; --left) {
    int status = 0;
    wait(&status);
    if (status == 0 || failed) continue;
    failed = true;
    for (const pid_t pid : children) kill(pid, SIGKILL);
  }
  if (!failed) return;
  std::fprintf(stderr, "a process of the floor failed\n");
  std::exit(1);
}

}  // namespace weft::bench
