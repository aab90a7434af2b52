// SPDX-License-Identifier: BSD-3-Clause
// The variables of the launcher's environment that the daemons get too.
#pragma once

#include <string>
#include <vector>

namespace weft::launch {

/// True for a variable that a server or its fabric reads: WEFT_*, FI_*, UCX_*. Servers that disagree about some of them
/// (WEFT_FENCE, WEFT_COLLECTIVE) fail each other's fences. What names one process, and WEFT_TRANSPORT, of which the
/// launcher says what it has opened, are none.
bool is_server_setting(const char* variable) noexcept;
/// Those of an environment.
std::vector<std::string> server_settings(char* const* inherited);
/// Sets them in this process's own. Before any thread is there.
void adopt_settings(const std::vector<std::string>& settings);

}  // namespace weft::launch
