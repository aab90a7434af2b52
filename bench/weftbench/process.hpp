// SPDX-License-Identifier: BSD-3-Clause
// What /proc says about a process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace weft::bench {

struct Footprint {
  double rss_kib = 0;
  /// Written pages that nobody else maps: what the process costs alone. Clean pages do not count: they are
  /// files', and whether they are private changes with every other process that maps the same library.
  double private_kib = 0;
  double threads = 0;
};

/// nullopt: no such process, or it belongs to somebody else.
std::optional<Footprint> footprint(pid_t pid);
std::optional<double> open_descriptors(pid_t pid);
/// True if this process has mapped a library whose file name contains `part`.
bool maps_library(const std::string& part);

}  // namespace weft::bench
