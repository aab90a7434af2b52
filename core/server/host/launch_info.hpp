// SPDX-License-Identifier: BSD-3-Clause
// Launch information: environment variables that travel from the launcher to each node's children.
// Source: RFC 0029 "Acquisition of Subsystem Launch Information"; Standard, PMIx_server_setup_application.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/data/value.hpp"

namespace weft::server {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The launcher's side: PMIX_SETUP_APP_ENVARS (or _ALL) collects the variables of this process that tune fabrics and
/// Weft itself; PMIX_SET_ENVAR adds one. The answer is one info, "weft.launch", a byte object, or nothing.
Result<data::Infos> make_launch_info(const pmix_info_t* infos, std::size_t count);

/// A node's side: what make_launch_info() packed, and PMIX_SET_ENVAR given as it is.
/// Errors: corrupt.
Result<Variables> read_launch_info(const pmix_info_t* infos, std::size_t count);

/// Sets name=value in an environment of malloc'ed strings, as execve takes it. Errors: no_memory.
Result<void> set_variable(char*** env, const std::string& name, const std::string& value);

}  // namespace weft::server
