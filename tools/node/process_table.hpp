// SPDX-License-Identifier: BSD-3-Clause
// The processes of the machine, as /proc tells, and the end of a child.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

namespace weft::node {

/// Of a small file; empty: it cannot be read.
std::string contents_of(const std::string& path);

/// Calls see(pid) for each.
template <class See>
void each_process(See&& see) {
  struct Closer {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> proc(::opendir("/proc"));
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid > 0) see(static_cast<pid_t>(pid));
  }
}

struct ProcessState {
  char letter = 'Z';
  pid_t parent = 0;
};
/// Of a process that has ended meanwhile: a zombie without parent.
ProcessState state_of(pid_t pid);

/// Reaps a child. False: it has not ended in time, as one that the kernel cannot kill. options: of waitpid.
bool wait_for_end(pid_t pid, int options, std::chrono::milliseconds patience);

}  // namespace weft::node
