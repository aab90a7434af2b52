// SPDX-License-Identifier: BSD-3-Clause
// Where loadable modules lie: what the library opens only when it needs it (a fabric, the topology).
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// Folders, the first to be looked at first: those that WEFT_MODULE_PATH names (separated by colons), then weft/ beside
/// the library or program that this is linked into, by the name it was opened with and by the file behind that link.
std::vector<std::string> module_folders();

}  // namespace weft::transport
