// SPDX-License-Identifier: BSD-3-Clause
// The server of a tool that starts processes itself.
#pragma once

#include <cstddef>

#include "pmix_common.h"

namespace weft::abi {

/// PMIX_LAUNCHER.
bool wants_server(const pmix_info_t* infos, size_t ninfo);
/// While the roles are changing, of a process that is a tool: makes it a server under its own name, unless it
/// is that already. PMIX_ERR_NOT_SUPPORTED: it is a client, or a server by PMIx_server_init.
pmix_status_t make_server_of_tool();
/// Before the tool ends. Without effect where there is no such server.
void end_server_of_tool();

}  // namespace weft::abi
