// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"
#include "weft/result.hpp"

namespace weft::base {

/// A pidfd: readable once that process has ended, whatever becomes of its number. The pidfd closes on exec.
/// Errors: os (ESRCH: no such process is left).
Result<Fd> open_process(pid_t pid);

}  // namespace weft::base
