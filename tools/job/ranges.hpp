// SPDX-License-Identifier: BSD-3-Clause
// A set of ranks or processors as text: "0-3,7".
#pragma once

#include <cstdint>
#include <string>

namespace weft::job {

/// numbers: ascending, without duplicates; any container of integers or Rank.
template <class Numbers>
std::string ranges(const Numbers& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const auto first = static_cast<std::uint64_t>(*at);
    std::uint64_t count = 1;
    while (++at != numbers.end() && static_cast<std::uint64_t>(*at) == first + count) ++count;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (count > 1) text += '-' + std::to_string(first + count - 1);
  }
  return text;
}

}  // namespace weft::job
