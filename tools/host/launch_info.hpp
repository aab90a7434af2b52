// SPDX-License-Identifier: BSD-3-Clause
// Launch information (RFC 0029) as this host carries it: what the launcher's server gathers for a job, as
// bytes in the launch message, and each node's server takes. docs/design/launch.md.
#pragma once

#include <string>
#include <vector>

#include "tools/job/app.hpp"

namespace weft::host {

enum class Servers { left_out, included };

/// The launch information of a job of these programs: what the settings with a value of each program change,
/// and with Servers::included the contacts of all servers of the launch that this one knows. Empty: nothing.
/// REQUIRES: this process is a server. Throws Stop (own_failure).
std::string gather_launch_info(const std::string& nspace, const std::vector<job::App>& apps, Servers servers);

/// bytes: of gather_launch_info(). Before a process of the job. Throws Stop (own_failure): the bytes are
/// damaged or of another job, or a server cannot be reached; no process gets anything of them.
void take_launch_info(const std::string& nspace, const std::string& bytes);

}  // namespace weft::host
