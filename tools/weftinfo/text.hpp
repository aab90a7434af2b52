// SPDX-License-Identifier: BSD-3-Clause
// A session as text: for people, and as JSON for programs. Pure functions.
#pragma once

#include <string>

#include "tools/weftinfo/report.hpp"
#include "tools/weftinfo/sessions.hpp"

namespace weft::weftinfo {

std::string text_of(const std::vector<Listed>& sessions);
std::string text_of(const Session& session);
/// Each counter: of all nodes together, and where there are several, the least and the most of one.
std::string counters_of(const Session& session);

std::string json_of(const std::vector<Listed>& sessions);
std::string json_of(const Session& session);

/// "850 ms", "12 s", "3 min 5 s", "2 h 4 min".
std::string duration(std::uint64_t milliseconds);

}  // namespace weft::weftinfo
