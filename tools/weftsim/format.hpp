// SPDX-License-Identifier: BSD-3-Clause
// Times and sizes for people.
#pragma once

#include <cstdint>
#include <string>

#include "tools/weftsim/networks.hpp"

namespace weft::weftsim {

/// Three digits: "950 ns", "12.3 us", "4.56 ms", "1.2 s".
std::string time_text(Time ns);
/// Three digits: "950 B", "12.3 KiB", "4.56 GiB".
std::string size_text(std::uint64_t bytes);

}  // namespace weft::weftsim
