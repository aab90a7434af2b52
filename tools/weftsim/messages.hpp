// SPDX-License-Identifier: BSD-3-Clause
// Every line that weftsim says when it cannot do what it was asked: what is wrong, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/messages/stop.hpp"

namespace weft::weftsim {

using weft::messages::Stop;

namespace exit_status {
constexpr int missed = 1;  ///< --targets: one is missed
constexpr int usage = 2;
constexpr int own_failure = 125;
}  // namespace exit_status

namespace messages {

Stop usage(std::string_view what);
Stop no_network(std::string_view name);
Stop bad_figure(std::string_view text);
Stop bad_loss(std::string_view text);
Stop no_such_node(std::uint32_t node, std::uint32_t nodes);
Stop no_operation(std::string_view name);
/// why: of the simulation.
Stop too_large(std::string_view operation, std::string_view algorithm, std::string_view why);
Stop too_many_servers(std::uint32_t nodes, std::uint32_t most);

}  // namespace messages
}  // namespace weft::weftsim
