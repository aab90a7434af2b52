// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace weft::topology {

/// Teaches core/data to copy, send, compare and end pmix_topology_t and pmix_cpuset_t. Idempotent, loads nothing:
/// the module is opened when the first such handle is met. The node's own topology survives every end of it, and
/// a handle from another source is neither copied nor freed: nobody here knows how.
void install_opaque_types() noexcept;

}  // namespace weft::topology
