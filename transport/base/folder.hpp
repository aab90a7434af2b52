// SPDX-License-Identifier: BSD-3-Clause
// Lists the files of a folder.
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// The names of its files, sorted, without those that begin with a dot. Empty if there is no such folder.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace weft::transport
