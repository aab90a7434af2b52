// SPDX-License-Identifier: BSD-3-Clause
// A number of seconds as users write it: in an option, in a variable.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weft::weftrun {

/// "1.5" is 1500 ms; at least 1 ms. Nothing: the text is no number, or not above 0 and at most `most`, which
/// keeps the sum with a clock in its range.
std::optional<std::chrono::milliseconds> read_seconds(std::string_view text, double most);

}  // namespace weft::weftrun
