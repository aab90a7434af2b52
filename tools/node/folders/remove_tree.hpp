// SPDX-License-Identifier: BSD-3-Clause
// Removes a folder that other processes of this user have filled with whatever they liked.
#pragma once

#include <string>

namespace weft::node {

/// Removes the folder and all in it; a missing folder is no error, and so is one that is not this user's. The
/// removal needs three descriptors and as much memory for a tree of any depth.
/// No entry of a folder leads out of it: links are removed and not followed, and what is mounted inside
/// stays, with the folders above it.
void remove_tree(const std::string& path) noexcept;

}  // namespace weft::node
