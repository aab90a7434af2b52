// SPDX-License-Identifier: BSD-3-Clause
// An event as the bytes in which it goes to clients and to other servers.
#pragma once

#include <vector>

#include "core/events/event.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::server {

std::vector<std::byte> encoded(const events::Event& event);
/// Errors: corrupt.
Result<events::Event> decoded_event(Bytes bytes);

}  // namespace weft::server
