// SPDX-License-Identifier: BSD-3-Clause
// Which variables of the launcher's environment the daemons get.
#pragma once

#include <string>
#include <vector>

namespace weft::launch {

/// True for a variable that a server or its fabric reads: WEFT_*, FI_*, UCX_*. Servers that disagree about
/// some of them (WEFT_FENCE, WEFT_COLLECTIVE) fail each other's fences. False for variables that name one
/// process, and for WEFT_TRANSPORT: the start message names the transport that the launcher has opened.
bool is_server_setting(const char* variable) noexcept;
/// The server settings of an environment.
std::vector<std::string> server_settings(char* const* inherited);
/// Sets them in this process's environment; a WEFT_PORTS that is there stays. While it has one thread.
void adopt_settings(const std::vector<std::string>& settings);

}  // namespace weft::launch
