// SPDX-License-Identifier: BSD-3-Clause
#include "base/process.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weft::base {

Result<Fd> open_process(pid_t pid) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return fail(Errc::os, "pidfd_open", errno);
  return process;
}

}  // namespace weft::base
