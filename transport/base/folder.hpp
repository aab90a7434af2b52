// SPDX-License-Identifier: BSD-3-Clause
// What lies in a folder.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// Sorted, without those that begin with a dot. Empty where there is no such folder.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace weft::transport
