// SPDX-License-Identifier: BSD-3-Clause
// The processes of the machine, as /proc tells, and the end of a child.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::node {

/// Of a small file; empty: it cannot be read.
std::string contents_of(const std::string& path);

/// Calls see(number) for each entry of a folder that is one: of "/proc" for each process.
template <class See>
void each_number(const char* folder, See&& see) {
  struct Closer {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> open(::opendir(folder));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const long number = std::strtol(entry->d_name, nullptr, 10);
    if (number > 0) see(static_cast<pid_t>(number));
  }
}

template <class See>
void each_process(See&& see) {
  each_number("/proc", std::forward<See>(see));
}

/// Children of this process: one small file of the kernel's for each of its threads, in place of one for each
/// process of the machine. All are there: a child leaves the kernel's list when it is reaped, and no other
/// thread of this process does that. Nothing: the kernel has no such files (CONFIG_PROC_CHILDREN).
std::optional<std::vector<pid_t>> own_children();

struct ProcessState {
  char letter = 'Z';
  pid_t parent = 0;
};
/// Of a process that has ended meanwhile: a zombie without parent.
ProcessState state_of(pid_t pid);

/// Reaps a child. False: it has not ended in time, as one that the kernel cannot kill. options: of waitpid.
bool wait_for_end(pid_t pid, int options, std::chrono::milliseconds patience);

}  // namespace weft::node
