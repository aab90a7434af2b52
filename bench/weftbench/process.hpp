// SPDX-License-Identifier: BSD-3-Clause
// The memory of a process, from /proc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::bench {

struct Footprint {
  double rss_kib = 0;
  /// Written pages that no other process maps: the cost of the process alone. Clean pages do not count: they
  /// belong to files, and whether they are private changes with every other process that maps the same
  /// library.
  double private_kib = 0;
  double threads = 0;
};

/// nullopt: no such process, or it belongs to another user.
std::optional<Footprint> footprint(pid_t pid);
std::optional<double> open_descriptors(pid_t pid);
/// True if this process has mapped a library whose file name contains `part`.
bool maps_library(const std::string& part);

}  // namespace weft::bench
