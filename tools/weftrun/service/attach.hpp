// SPDX-License-Identifier: BSD-3-Clause
// weftrun --attach and --stop-dvm: this process stands for a job that a service runs. It hands its streams
// over, passes signals on, and ends as the job does.
#pragma once

#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun::service {

/// Runs the job of these options in the service that they name, lists its jobs, or ends it. Returns weftrun's
/// exit status. Throws Stop.
int visit(Options options);

}  // namespace weft::weftrun::service
