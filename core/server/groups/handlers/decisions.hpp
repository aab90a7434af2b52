// SPDX-License-Identifier: BSD-3-Clause
// What handlers' results mean for a group that is being made. Pure functions.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <vector>

#include "core/server/groups/handlers/questions.hpp"

namespace weft::server {

/// Of a leader that was told of a process that will not be a member.
struct Decision {
  enum class Kind : std::uint8_t {
    gone,      ///< the leader is
    unheard,   ///< no handler was there to decide
    left_out,  ///< the group goes on without that process
    replaced,  ///< these are invited in its place (PMIX_GROUP_ADD_MEMBERS)
    aborted,   ///< PMIX_GROUP_CONSTRUCT_ABORT
  };
  Kind kind = Kind::unheard;
  Procs replacements{};
};
Decision decision_of(const link::GroupVerdict& verdict);

/// Of several leaders: one that aborts decides, then one that goes on; nothing but `gone` where there is no
/// other.
Decision decision_of(const std::vector<Questions::Vote>& votes);

/// Of processes that were told that their leader has failed.
struct Election {
  bool is_aborted = false;
  Procs leaders;  ///< that have declared themselves by PMIX_GROUP_LEADER, in the order of the votes
};
Election election_of(const std::vector<Questions::Vote>& votes);

/// Of members that were asked whether a process may join or leave: PMIX_SUCCESS, or the first refusal. A
/// member without a handler, or that is gone, has nothing against it, unless the process is another user's.
pmix_status_t approval_of(const std::vector<Questions::Vote>& votes);

}  // namespace weft::server
