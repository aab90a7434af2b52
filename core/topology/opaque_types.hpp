// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "pmix_common.h"

namespace weft::topology {

/// Teaches core/data to copy, send, compare and end pmix_topology_t and pmix_cpuset_t. Idempotent, loads
/// nothing: the module is opened when the first such handle is met.
void install_opaque_types() noexcept;

/// Ends the handle of a pmix_topology_t or pmix_cpuset_t and its source, and leaves both NULL. The node's own
/// topology survives. A handle whose source is not ours is forgotten, not freed: nobody here knows how.
void destroy_topology(pmix_topology_t& topology) noexcept;
void destroy_cpuset(pmix_cpuset_t& cpuset) noexcept;

}  // namespace weft::topology
