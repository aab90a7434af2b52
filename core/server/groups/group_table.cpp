// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_table.hpp"

#include <algorithm>

#include "core/link/messages.hpp"

namespace weft::server {

bool has_member(const Group& group, const pmix_proc_t& proc) noexcept {
  return std::any_of(group.members.begin(), group.members.end(), [&](const link::RankRun& run) {
    return run.first <= proc.rank && proc.rank <= run.last && run.nspace == link::nspace_of(proc);
  });
}

}  // namespace weft::server
