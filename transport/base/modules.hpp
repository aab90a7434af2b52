// SPDX-License-Identifier: BSD-3-Clause
// The folders of loadable modules: libraries that a process opens only when it needs them (a fabric, the
// topology).
#pragma once

#include <string>
#include <vector>

namespace weft::transport {

/// The folders in the order in which they are searched: those that WEFT_MODULE_PATH names (separated by
/// colons), then weft/ beside the library or program that contains this function, by the name it was opened
/// with and by the file behind that link.
std::vector<std::string> module_folders();

}  // namespace weft::transport
