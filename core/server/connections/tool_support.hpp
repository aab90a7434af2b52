// SPDX-License-Identifier: BSD-3-Clause
// What the host says of tools when it starts its server. Source: PMIx Standard, PMIx_server_init.
#pragma once

#include <cstddef>
#include <string>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::server {

struct ToolSupport {
  bool admits = true;      ///< PMIX_SERVER_TOOL_SUPPORT; a host that says nothing has tools of its own user
  bool is_system = false;  ///< PMIX_SERVER_SYSTEM_SUPPORT
  std::string file;        ///< PMIX_LAUNCHER_RENDEZVOUS_FILE; empty: none

  /// Errors: invalid; not_supported (connections of remote tools, which are required).
  static Result<ToolSupport> parse(const pmix_info_t* infos, std::size_t count);
};

}  // namespace weft::server
