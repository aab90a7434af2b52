// SPDX-License-Identifier: BSD-3-Clause
// What earlier runs have printed with --json, read again.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace weft::bench {

/// One operation as several runs have measured it.
struct Measured {
  std::string bench;
  unsigned ranks = 1, hosts = 0;  ///< hosts 0: not known
  std::size_t bytes = 0;
  std::string unit;
  std::vector<double> medians;  ///< of each run, in the file's order

  bool is_same(const Measured& other) const noexcept {
    return bench == other.bench && ranks == other.ranks && hosts == other.hosts && bytes == other.bytes &&
           unit == other.unit;
  }
};

struct Measurements {
  std::vector<Measured> all;  ///< in the order in which the file names each first
  std::set<std::string> machines, libraries, launchers, commits;
};

/// Adds the lines of a file, of as many runs as have written into it; empty lines count for nothing. Throws
/// std::runtime_error with the file, the line and what is wrong there; a file without a record is wrong, too.
Measurements read_json_lines(const std::string& path);

}  // namespace weft::bench
