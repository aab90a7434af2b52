// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/format.hpp"

#include <fmt/format.h>

#include <array>

namespace weft::weftsim {
namespace {

std::string scaled(double value, double step, const auto& units) {
  std::size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) value /= step, ++unit;
  if (unit == 0) return fmt::format("{:.0f} {}", value, units[0]);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, units[unit]);
}

}  // namespace

std::string time_text(Time ns) {
  return scaled(static_cast<double>(ns), 1000, std::array{"ns", "us", "ms", "s"});
}

std::string size_text(std::uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB"});
}

}  // namespace weft::weftsim
