// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/topology/topology.hpp"

namespace weft::topology {

/// The module, opened by the first call that finds it and kept until the process ends (callers hold objects
/// that only it can release). Looked for in the directories of WEFT_MODULE_PATH (separated by ':'; ignored in
/// set-user-id programs), then in weft/ beside the library that this code is part of.
/// Errors: not_supported (no such file, or one of another version); the next call looks again.
/// Cost: after the first success one atomic load.
Result<const Module*> load_module();

}  // namespace weft::topology
