// SPDX-License-Identifier: BSD-3-Clause
// Which run keeps this one's published names, as the user says it (--names-of), for the library.
#pragma once

#include <pmix_common.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::host {

/// The attribute by which PMIx_tool_attach_to_server finds a server of that run.
struct NamesOf {
  const char* key;
  std::string text;          ///< its value; empty: the pid is
  std::optional<pid_t> pid;  ///< PMIX_SERVER_PIDINFO
};
/// of: the pid of its weftrun or of a daemon, also as "pid:N"; "file:PATH", a file with a server's URI; the
/// URI; else its namespace. What is none of these leads to no server.
NamesOf read_names_of(const std::string& of);
/// Why PMIx_tool_attach_to_server has not come there, and what to do, in words.
std::string why_no_names(pmix_status_t status);

}  // namespace weft::host
