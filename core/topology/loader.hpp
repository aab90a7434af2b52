// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/topology/topology.hpp"

namespace weft::topology {

/// Returns the module, which the first successful call opens. It stays open until the process ends, because
/// callers hold objects that only the module can release. Searched for in the directories of WEFT_MODULE_PATH
/// (separated by ':'; ignored in set-user-id programs), then in weft/ beside the library that contains this
/// code.
/// Errors: not_supported (no such file, or one of another version); the next call searches again.
/// Cost: one atomic load after the first success.
Result<const Module*> load_module();

}  // namespace weft::topology
