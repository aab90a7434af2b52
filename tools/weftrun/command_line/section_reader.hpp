// SPDX-License-Identifier: BSD-3-Clause
// The words of one program: options, each handed to its row of the table, then the program and its arguments.
#pragma once

#include <string>
#include <vector>

#include "tools/weftrun/command_line/option_table.hpp"

namespace weft::weftrun {

/// Fills in the section's program too. is_first: options of the whole job may stand there. Throws Stop
/// (usage).
void read_section(const std::vector<std::string>& words, bool is_first, Section& section);

}  // namespace weft::weftrun
