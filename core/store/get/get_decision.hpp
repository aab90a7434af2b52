// SPDX-License-Identifier: BSD-3-Clause
// What a Get does next. A hit never comes here; what is missed is decided by one pure function, in the client
// before it asks its server, and in the server each time that something about the rank has changed.
//
// The rows, their source in the Standard and what other libraries do: docs/design/modex.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/store/get/lookup.hpp"
#include "core/store/segment/job_view.hpp"
#include "pmix_common.h"

namespace weft::store {

/// Ends of a Get, or what it needs before it can be decided again.
enum class GetStep : std::uint8_t {
  value,            ///< end: the lookup found it
  not_found,        ///< end
  outside_scope,    ///< end: the key is there, and not in the scope that the caller named
  unreachable,      ///< end: the rank is dead or finalized, and has committed nothing
  timed_out,        ///< end: the caller's PMIX_TIMEOUT has passed
  ask,              ///< the next server knows more: the client's own, or the one of the rank's node
  wait_for_commit,  ///< until the rank commits for the first time, ends, or the caller's PMIX_TIMEOUT passes
  wait_for_key,     ///< until the rank commits more, ends, or a deadline passes: PMIX_TIMEOUT, else KeyWait
};

struct GetFacts {
  // The outcome of the last lookup.
  enum class Lookup : std::uint8_t { miss, hit, hidden } lookup = Lookup::miss;

  // The request.
  enum class About : std::uint8_t { rank, job_level, any_rank } about = About::rank;
  bool own = false;          ///< the caller asks about itself, and sees all that it has put
  bool reserved = false;     ///< a key that the Standard owns: no rank will put it
  bool kept_afar = false;    ///< such a key, of a rank or node that another node's server may know more of
  bool optional = false;     ///< PMIX_OPTIONAL, or no key at all
  bool immediate = false;    ///< PMIX_IMMEDIATE
  bool refresh = false;      ///< PMIX_GET_REFRESH_CACHE
  bool has_timeout = false;  ///< PMIX_TIMEOUT
  bool names_scope = false;  ///< PMIX_DATA_SCOPE

  // The process that decides.
  bool sees_jobs =
      true;              ///< false: a client that has not mapped what the Get is about: its server knows more
  bool can_ask = false;  ///< there is a server that may know more
  bool asked = false;    ///< that server has answered since the Get began
  bool waits_for_keys = true;  ///< KeyWait is not 0
  bool late = false;           ///< the Get's deadline has passed

  // The rank.
  enum class Where : std::uint8_t { unknown_job, no_such_rank, here, elsewhere } where = Where::unknown_job;
  bool committed = false;  ///< something of its card is known, or is known to be there
  bool exchanged = false;  ///< elsewhere: nothing has come of its card since a full fence of the whole job
  bool ended = false;      ///< it is dead or finalized
};

GetStep decide_get(const GetFacts& facts) noexcept;

constexpr bool is_end(GetStep step) noexcept {
  return step < GetStep::ask;
}
/// The status that the caller gets. step: an end.
pmix_status_t status_of(GetStep step) noexcept;

/// The facts that stand in the segment and in the request. Left to the caller: lookup, own, can_ask, asked,
/// late, waits_for_keys, and a sees_jobs of false where it has no segment.
GetFacts facts_of(const JobView& job, std::uint32_t rank, std::string_view key,
                  const GetDirectives& how) noexcept;
/// The facts where the job is not known, or the process that decides has no segment.
GetFacts facts_of(std::uint32_t rank, std::string_view key, const GetDirectives& how) noexcept;

}  // namespace weft::store
