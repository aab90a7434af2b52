// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/key_wait.hpp"

#include <algorithm>

namespace weft::store {

std::optional<std::chrono::milliseconds> KeyWait::parse(std::string_view text) noexcept {
  constexpr std::int64_t most_seconds = 1'000'000'000;
  if (text == "inf") return forever;
  // By hand: what strtod() takes for a point depends on the program's locale.
  const auto point = std::min(text.find('.'), text.size());
  const auto whole = text.substr(0, point), fraction = text.substr(std::min(point + 1, text.size()));
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(whole.begin(), whole.end(), is_digit) ||
      !std::all_of(fraction.begin(), fraction.end(), is_digit))
    return std::nullopt;
  std::int64_t ms = 0;
  for (const char digit : whole) ms = std::min(ms * 10 + (digit - '0'), most_seconds);
  for (std::size_t i = 0; i < 3; ++i) ms = ms * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  return std::chrono::milliseconds(ms);
}

std::uint32_t KeyWait::pack(std::chrono::milliseconds wait) noexcept {
  const auto ms = std::max<std::int64_t>(wait.count(), 0);
  return wait == forever ? packed_forever
                         : static_cast<std::uint32_t>(std::min<std::int64_t>(ms, packed_forever - 1));
}

std::chrono::milliseconds KeyWait::unpack(std::uint32_t wait) noexcept {
  return wait == packed_forever ? forever : std::chrono::milliseconds(wait);
}

}  // namespace weft::store
