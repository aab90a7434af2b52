// SPDX-License-Identifier: BSD-3-Clause
// Every line that weftinfo says when it cannot do what it was asked: what happened, where, and what to do.
#pragma once

#include <pmix_common.h>

#include <optional>
#include <string>
#include <string_view>

#include "tools/messages/stop.hpp"

namespace weft::weftinfo {

using weft::messages::Stop;

namespace exit_status {
constexpr int nothing_there = 1;  ///< no such cluster, or not one for this user
constexpr int usage = 2;
constexpr int own_failure = 125;
}  // namespace exit_status

namespace messages {

Stop usage(std::string_view what);
Stop no_cluster();
Stop several_clusters(std::size_t count);
/// status: of PMIx_tool_init for the server of that process; without one, of looking for servers.
Stop cannot_attach(std::optional<long> pid, pmix_status_t status);
/// status: of the query.
Stop no_answer(std::optional<long> pid, pmix_status_t status);
Stop unreadable_report();

}  // namespace messages
}  // namespace weft::weftinfo
