// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace weft::base {

/// gethostname(), whatever its length; "localhost" where the system has no name.
std::string host_name();

}  // namespace weft::base
