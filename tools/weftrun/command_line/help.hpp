// SPDX-License-Identifier: BSD-3-Clause
// weftrun --help, from the table of options.
#pragma once

#include <string>

namespace weft::weftrun {

std::string help_text();

}  // namespace weft::weftrun
