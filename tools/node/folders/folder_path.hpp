// SPDX-License-Identifier: BSD-3-Clause
// Names of folders in places where any user may make folders: one whose name can be guessed is in the way.
#pragma once

#include <cstdint>
#include <string>

namespace weft::node {

/// 16 hexadecimal digits.
std::string unguessable();

/// A new path for a folder of this node in `parent`, which is not there yet. session: the launch's name.
std::string folder_path(const std::string& parent, const std::string& session, std::uint32_t node);

}  // namespace weft::node
