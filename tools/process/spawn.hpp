// SPDX-License-Identifier: BSD-3-Clause
// Starts one process as fast as the kernel can: the parent's memory is lent to the child, not copied.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace weft::process {

struct SpawnRequest {
  const char* path = nullptr;               ///< as execve takes it; relative to `directory`
  char* const* argv = nullptr;              ///< ends with a null pointer
  char* const* envp = nullptr;              ///< ends with a null pointer
  const char* directory = nullptr;          ///< null: the parent's
  int streams[3] = {0, 1, 2};               ///< become descriptors 0, 1 and 2
  const unsigned long* affinity = nullptr;  ///< one bit a processor; null: the parent's
  std::size_t affinity_bytes = 0;
  bool stops = false;                  ///< before the first instruction of the program, until it gets SIGCONT
  unsigned long descriptor_limit = 0;  ///< soft RLIMIT_NOFILE to give back to the child; 0: leave it
};

struct SpawnResult {
  pid_t pid = -1;              ///< -1: nothing was started
  int error = 0;               ///< errno
  const char* step = nullptr;  ///< what failed, in words for the user
};

/// Starts programs with their three streams, the descriptors that this process itself got from its parent,
/// and no other: libraries of fabrics open many that would outlive an execve.
class Spawner {
 public:
  /// Notes what this process got, so construct it before anything is opened.
  Spawner();

  /// The child leads a process group of its own (so that all of what it starts can be signalled) and is
  /// killed by the kernel when the calling thread ends. Returns when the program runs or has failed to. Must
  /// be called by a thread that runs until this process ends. Cost: about one execve.
  SpawnResult spawn(const SpawnRequest& request) const noexcept;

 private:
  std::vector<int> inherited_;  // from 3 up, ascending
};

}  // namespace weft::process
