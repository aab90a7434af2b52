// SPDX-License-Identifier: BSD-3-Clause
// Finds the file to execute before anything is started, so that a typing error costs one line and starts
// no process.
#pragma once

#include <string>

#include "tools/job/app.hpp"
#include "tools/ranks/environment.hpp"

namespace weft::ranks {

/// The path for execve: absolute or relative to the directory in which the rank will run. A name without a
/// slash is looked up in the PATH that the rank will have. Throws Stop: not_found, not_executable,
/// own_failure (--wdir).
std::string find_program(const job::App& app, const Variables& environment);

}  // namespace weft::ranks
