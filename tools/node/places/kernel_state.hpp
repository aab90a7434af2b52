// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says that a process does. No process is stopped for it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace weft::node {

/// Of /proc/PID/stat, /syscall and /wchan: "sleeps in futex", "runs", "is stopped". syscall, wchan: what is
/// in these files; empty: they cannot be read.
std::string kernel_text(char state, std::string_view syscall, std::string_view wchan);
/// Empty: there is no such process.
std::string kernel_state(pid_t pid);
/// By SIGSTOP or its like.
bool is_stopped(pid_t pid);

}  // namespace weft::node
