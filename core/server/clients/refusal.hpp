// SPDX-License-Identifier: BSD-3-Clause
// How a process is turned away at its hello. The loop's thread only.
#pragma once

#include <string>

#include "core/server/connections/connection.hpp"
#include "core/server/types.hpp"

namespace weft::server {

/// Says why, here and there, and hangs up.
void refuse(const ConnectionRef& connection, pmix_status_t status, std::string reason);
/// True: the hello is of another version of the protocol, and was refused. The version stays the first field
/// of a hello for ever, so that a refusal can name both.
bool refuse_other_version(const ConnectionRef& connection, const link::Frame& hello);

}  // namespace weft::server
