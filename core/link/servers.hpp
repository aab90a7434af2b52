// SPDX-License-Identifier: BSD-3-Clause
// The servers that listen on this machine, by the names of their sockets: how a tool finds one. The
// contents of a server's URI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::link {

struct ServerSocket {
  pid_t pid;  ///< as the server's own pid namespace numbers it
  std::string name;
};

/// The servers that /proc/<pid>/net/unix names, ascending by pid. Any process may choose such a name: of the
/// process that answers there, only what the kernel says of its user is proved.
std::vector<ServerSocket> servers_in(std::string_view table);

/// The servers of this network namespace; which of them belong to other users shows when one connects.
/// Errors: os.
Result<std::vector<ServerSocket>> servers_here();
/// Does that process listen as a server in a network namespace that is not ours?
bool listens_elsewhere(pid_t pid);

/// "<namespace>.<rank>;weft:<socket>": PMIX_SERVER_URI, and the line of a rendezvous file.
std::string uri_of(const pmix_proc_t& server, std::string_view socket);
/// The socket in a URI. Errors: not_supported (another library's, or none at all).
Result<ServerSocket> socket_in(std::string_view uri);

}  // namespace weft::link
