// SPDX-License-Identifier: BSD-3-Clause
// One Get in one job: from the caller's process, key and directives to the place in the segment.
#pragma once

#include <optional>

#include "core/data/names/deadline.hpp"
#include "core/data/types/wire.hpp"
#include "core/store/get/job_keys.hpp"

namespace weft::store {

/// The directives of PMIx_Get, decoded once. Source: PMIx Standard, chapter "Data access and sharing".
struct GetDirectives {
  bool optional = false;        ///< PMIX_OPTIONAL: what is not known here is not found
  bool immediate = false;       ///< PMIX_IMMEDIATE: ask the server, but wait for no commit
  bool refresh = false;         ///< PMIX_GET_REFRESH_CACHE: ask the rank's own node again
  bool static_values = false;   ///< PMIX_GET_STATIC_VALUES: the caller brings the pmix_value_t
  bool pointer_values = false;  ///< PMIX_GET_POINTER_VALUES: the library keeps what it returns
  data::Timeout timeout;
  std::optional<std::uint32_t> key_wait;  ///< KeyWait::attribute, packed
  pmix_scope_t scope = PMIX_SCOPE_UNDEF;
  std::optional<Realm> realm;  ///< PMIX_SESSION_INFO, PMIX_JOB_INFO, PMIX_NODE_INFO, PMIX_APP_INFO
  std::optional<std::uint32_t> nodeid, appnum, session;
  std::string_view hostname;  ///< borrowed from the caller's info array

  /// Errors: type_mismatch, for a value of a type it cannot have; `what` is then the key in `infos`.
  static Result<GetDirectives> parse(const pmix_info_t* infos, std::size_t count);
};

/// The caller, so that "my node" and "my application" have a meaning.
struct Caller {
  bool same_job = false;
  std::uint32_t rank = PMIX_RANK_UNDEF;
};

/// A reserved key is one that the Standard owns.
inline bool is_reserved(std::string_view key) noexcept {
  return key.substr(0, 4) == "pmix";
}

/// Whether an encoded value is none (PMIX_UNDEF), by which a rank deletes a key: such a record is like any
/// other, the newest of its scope.
inline bool is_deletion(Bytes value) noexcept {
  data::Reader in(value);
  return in.u16() == PMIX_UNDEF;
}

/// May a process on another node see what was put with this scope, if its Get names the scope `wanted`
/// (PMIX_SCOPE_UNDEF: none)?
bool is_for_others(std::uint8_t scope, pmix_scope_t wanted) noexcept;

/// A value of the session with this id, as it was registered with this job: its own session, or another one.
/// Errors: not_found, corrupt.
Result<data::Value> lookup_in_session(const JobView& job, std::uint32_t session, std::string_view key);
/// The same of whichever job of the segment is the first that knows it.
Result<data::Value> lookup_session(const shm::SegmentBytes& segment, std::uint32_t session,
                                   std::string_view key);

/// The node that a Get is about: the one that its directives name, else that of its rank; none: no single
/// one.
std::uint32_t node_of_get(const JobView& job, std::uint32_t rank, const GetDirectives& how) noexcept;

/// The value of (rank, key) as far as this node knows it. rank may be PMIX_RANK_WILDCARD (job level) or
/// PMIX_RANK_UNDEF (a key that only one rank has). No system call; a lock-free read of the segment and one
/// decode.
/// Errors: not_found, outside_scope, corrupt, no_memory.
Result<data::Value> lookup(const JobView& job, std::uint32_t rank, std::string_view key,
                           const GetDirectives& how, Caller caller);

/// A value as data::Value::decode() reads it, not looked into.
using Encoded = std::vector<std::byte>;
/// lookup() for a server, which passes on what a rank has put. The process that asked reads what only another
/// library can read, a topology or a cpuset.
Result<Encoded> lookup_encoded(const JobView& job, std::uint32_t rank, std::string_view key,
                               const GetDirectives& how, Caller caller);

/// A PMIX_DATA_ARRAY of copies. Errors: no_memory.
Result<data::Value> array_of(const data::Infos& infos);

/// Everything known about (rank): a PMIX_DATA_ARRAY of pmix_info_t. Errors: not_found (nothing is),
/// no_memory.
Result<data::Value> lookup_all(const JobView& job, std::uint32_t rank, Caller caller);
Result<Encoded> lookup_all_encoded(const JobView& job, std::uint32_t rank, Caller caller);

}  // namespace weft::store
