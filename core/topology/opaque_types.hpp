// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft::topology {

/// Registers with core/data how to copy, send, compare and destroy pmix_topology_t and pmix_cpuset_t.
/// Idempotent. Loads nothing: the module is opened with the first such handle. Destroying a handle to the
/// node's own topology leaves the topology itself alone. A handle from another source is neither copied nor
/// freed, because only its source can do that.
void install_opaque_types() noexcept;

}  // namespace weft::topology
