// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/seconds.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace weft::weftrun {

std::optional<std::chrono::milliseconds> read_seconds(std::string_view text, double most) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(seconds) || seconds <= 0 || seconds > most) return std::nullopt;
  return std::chrono::milliseconds(std::max<std::int64_t>(1, std::llround(seconds * 1000)));
}

}  // namespace weft::weftrun
