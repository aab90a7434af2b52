// SPDX-License-Identifier: BSD-3-Clause
// Which server a tool wants, in the words of PMIx_tool_init and PMIx_tool_attach_to_server.
// Source: PMIx Standard, chapter "Tools and Debuggers", "Tool connection attributes".
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "pmix_common.h"

namespace weft::client {

struct ServerWish {
  // The ways to a server, in their order; the first that is given is taken.
  std::string file;  ///< PMIX_TOOL_ATTACHMENT_FILE
  std::string uri;   ///< PMIX_SERVER_URI
  std::optional<pid_t> pid;
  std::string nspace;
  bool only_system = false;
  bool system_first = false;  ///< and then any

  // Wishes that name no server.
  bool connects = true;      ///< not PMIX_TOOL_DO_NOT_CONNECT
  bool is_optional = false;  ///< PMIX_TOOL_CONNECT_OPTIONAL
  bool becomes_primary = false;

  // How long.
  std::uint32_t retries = 0;
  std::chrono::seconds pause{1};
  std::optional<std::chrono::seconds> timeout;  ///< of the host's decision; nothing: entry_limit

  /// Attributes of other meanings are left alone. PMIX_ERR_BAD_PARAM; PMIX_ERR_NOT_SUPPORTED: a way that
  /// would lead to another server than the one that is meant.
  pmix_status_t read(const pmix_info_t* infos, std::size_t count);

 private:
  pmix_status_t read_one(const pmix_info_t& info);
};

}  // namespace weft::client
