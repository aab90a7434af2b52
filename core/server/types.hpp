// SPDX-License-Identifier: BSD-3-Clause
// Words that all rooms of the server share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "pmix_common.h"

namespace weft::server {

using Blob = std::vector<std::byte>;
/// How an operation ended; called once, on the loop's thread.
using Done = std::function<void(pmix_status_t)>;

class ClientConnection;
using ConnectionRef = std::shared_ptr<ClientConnection>;

}  // namespace weft::server
