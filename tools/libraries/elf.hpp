// SPDX-License-Identifier: BSD-3-Clause
// Which libraries an ELF file names, read from its headers without loading it. The file is a stranger's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft::libraries {

/// Bytes of a file; fewer where it ends.
using Read = std::function<std::vector<std::byte>(std::uint64_t offset, std::size_t length)>;

struct Needs {
  std::vector<std::string> names;  ///< DT_NEEDED, in their order
  std::string rpath, runpath;      ///< as they stand there
};

/// The libraries that a file needs; nothing: it is no dynamically linked ELF file for 64-bit little-endian
/// machines, or a damaged one. Reads some KiB, whatever the file says.
std::optional<Needs> read_needs(const Read& read);

}  // namespace weft::libraries
