// SPDX-License-Identifier: BSD-3-Clause
// Which process manager a program looks for, from the libraries that it needs and that these need: what the
// loader would load, found as the loader finds it, and nothing executed.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tools/job/interface.hpp"

namespace weft::libraries {

/// Where Debian's loader looks in the end, and that of 64-bit systems without multiarch.
inline constexpr std::array<std::string_view, 7> usual_directories = {
    "/usr/local/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
    "/usr/lib"};

/// The settings that a look depends on beside the files.
struct LoaderSettings {
  std::string library_path;     ///< LD_LIBRARY_PATH of the program
  std::string directory = ".";  ///< where it will run
};

/// program: a path. An empty Interface: it needs no MPI, or is no ELF file (a script). Cost for a program
/// that needs libc only: one file is opened; for any other, those of its libraries: some 5 us each.
job::Interface look_at(const std::string& program, const LoaderSettings& settings);

}  // namespace weft::libraries
