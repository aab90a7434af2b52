// SPDX-License-Identifier: BSD-3-Clause
// Which required directives of a fence can be obeyed: asked by the client, and by the server for a client without the segment.
#pragma once

#include <cstddef>

#include "core/data/call_attributes.hpp"
#include "core/data/value.hpp"

namespace weft::link {

/// What the caller of a fence insists on.
struct FenceNeeds {
  bool generated = false;  ///< PMIX_COLLECT_GENERATED_JOB_INFO, which Weft does not do between nodes
  bool host = false;       ///< something that only a host may understand, which carries fences between nodes

  static FenceNeeds of(const pmix_info_t* infos, std::size_t count) noexcept {
    FenceNeeds out;
    if (!data::has_required(infos, count)) return out;
    out.host = data::first_not_understood("PMIx_Fence", infos, count) != nullptr;
    for (std::size_t i = 0; i < count; ++i)
      out.generated |= (infos[i].flags & PMIX_INFO_REQD) != 0 &&
                       data::key_of(infos[i]) == PMIX_COLLECT_GENERATED_JOB_INFO &&
                       data::is_true(infos[i].value);
    return out;
  }
  /// is_by_host: the host carries the fence, which it does between nodes only.
  bool can_be_met(bool is_between_nodes, bool is_by_host) const noexcept {
    return !(generated && is_between_nodes) && !(host && !is_by_host);
  }
};

}  // namespace weft::link
