// SPDX-License-Identifier: BSD-3-Clause
// Keys of nodes as the user writes them: KEY=VALUE. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "tools/job/node_keys.hpp"

namespace weft::allocation {

/// Adds "KEY=VALUE" to keys that are none of the Standard's or Weft's own. Returns what is wrong with it, in
/// words for the user; empty: nothing is. A key that is there already has to have the same value.
std::string add_node_key(std::string_view text, job::KeyValues& to);

/// Adds them all. The same.
std::string add_node_keys(const job::KeyValues& from, job::KeyValues& to);

}  // namespace weft::allocation
