// SPDX-License-Identifier: BSD-3-Clause
// "0-3,7": how a set of ranks or processors is written everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace weft::job {

/// numbers: ascending, none twice; of any container, integers or Rank.
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
