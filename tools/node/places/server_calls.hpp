// SPDX-License-Identifier: BSD-3-Clause
// What this process's PMIx server knows of the calls that its ranks are in (docs/design/report.md).
#pragma once

#include <pmix_common.h>

#include <functional>
#include <string>
#include <vector>

#include "tools/job/place.hpp"

namespace weft::node {

/// answered: once, on a thread of the library or inside this call; without places where the job is not known
/// there.
void ask_server_calls(const std::string& nspace, std::function<void(std::vector<job::Place>)> answered);

/// Of the value of `weft.calls`. What it lacks stays as in an empty Place.
std::vector<job::Place> places_in(const pmix_value_t& value);

}  // namespace weft::node
