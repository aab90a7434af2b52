// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace weft::weftinfo {

/// Text of another process, fit for a terminal and for JSON: control characters, and bytes that are no UTF-8,
/// become \xNN.
std::string printable(std::string_view text);

}  // namespace weft::weftinfo
