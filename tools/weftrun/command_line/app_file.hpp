// SPDX-License-Identifier: BSD-3-Clause
// --app FILE: programs of the job, a line each, written as between the colons of the command line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::weftrun {

struct AppLine {
  std::vector<std::string> words;
  std::size_t line = 0;  ///< where it begins
};

/// Words with quotes as in a shell; '#' begins a line that is a comment, a backslash at the end goes on in
/// the next line. Throws Stop (usage): a quote that does not end, no line at all. name: of the file.
std::vector<AppLine> read_app_file(std::string_view text, const std::string& name);
std::vector<AppLine> read_app_file(const std::string& name);

}  // namespace weft::weftrun
