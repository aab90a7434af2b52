// SPDX-License-Identifier: BSD-3-Clause
// Which room handles which message of a client or tool. The loop's thread only.
#pragma once

#include "core/server/rooms.hpp"

namespace weft::server {

/// A message that its sender may not send, or that is malformed, is answered or ends its connection; it
/// reaches no room.
void dispatch(Rooms& rooms, const ConnectionRef& from, const link::Frame& frame);

}  // namespace weft::server
