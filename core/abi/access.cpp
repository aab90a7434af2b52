// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapters "Data access and sharing" and "Process-related non-reserved keys".
#include <cstdlib>
#include <cstring>

#include "core/abi/guard.hpp"
#include "core/abi/role.hpp"
#include "core/data/types.hpp"
#include "core/store/lookup.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::Role;
using weft::abi::roles;
using weft::abi::text_of;
using weft::data::Value;
using weft::store::GetDirectives;

namespace {

constexpr std::size_t longest_key = PMIX_MAX_KEYLEN + 1;  // one more, to see that it is too long

bool bad_key(std::string_view key) noexcept {
  return key.size() > PMIX_MAX_KEYLEN;
}

/// The process that is meant: NULL is the caller's own for reserved keys, any rank of the job for others.
pmix_proc_t target(const Role& role, const pmix_proc_t* proc, std::string_view key) {
  if (proc != nullptr && proc->nspace[0] != '\0') return *proc;
  pmix_proc_t out = role.self();
  if (proc != nullptr)
    out.rank = proc->rank;
  else if (!weft::store::is_reserved(key))
    out.rank = PMIX_RANK_UNDEF;
  return out;
}

/// Hands a found value to the caller in the way its directives ask for.
pmix_status_t deliver(Role& role, Value&& found, const GetDirectives& how, pmix_value_t** val) {
  if (how.static_values) {
    if (*val == nullptr) return PMIX_ERR_BAD_PARAM;
    **val = found.release();
    return PMIX_SUCCESS;
  }
  if (how.pointer_values) {
    *val = role.keep(std::move(found));
    return PMIX_SUCCESS;
  }
  auto* out = static_cast<pmix_value_t*>(std::malloc(sizeof(pmix_value_t)));
  if (out == nullptr) return PMIX_ERR_NOMEM;
  *out = found.release();
  *val = out;
  return PMIX_SUCCESS;
}

}  // namespace

/// PMIx_Put: stages a value in the own process; no other process sees it before PMIx_Commit.
///   scope  PMIX_LOCAL (this node), PMIX_REMOTE (others), PMIX_GLOBAL (both), PMIX_INTERNAL (this process)
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNKNOWN_DATA_TYPE, _OUT_OF_RESOURCE (the own card is full; what is there stays)
///   Cost: one encode and one copy; no system call.
pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* val) {
  return guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    if (val == nullptr || name.empty() || bad_key(name)) return PMIX_ERR_BAD_PARAM;
    if (weft::data::find_type(val->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    return client->put(scope, name, *val);
  });
}

/// PMIx_Commit: publishes what was put. Cost: one copy a value; no message where the node segment is mapped.
pmix_status_t PMIx_Commit(void) {
  return guarded_status([]() -> pmix_status_t {
    auto* client = roles().client();
    return client == nullptr ? PMIX_ERR_INIT : client->commit();
  });
}

/// PMIx_Store_internal: a value about any process that only this process will see.
pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char key[], pmix_value_t* val) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    if (proc == nullptr || val == nullptr || name.empty() || bad_key(name)) return PMIX_ERR_BAD_PARAM;
    if (weft::data::find_type(val->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    return role->store_internal(*proc, name, *val);
  });
}

/// PMIx_Get: what (proc, key) is known to be.
///   proc  whose; rank PMIX_RANK_WILDCARD = the job, PMIX_RANK_UNDEF = whichever rank has it; NULL = see target()
///   key   NULL: everything known, as a PMIX_DATA_ARRAY of pmix_info_t
///   info  PMIX_OPTIONAL, _IMMEDIATE, _TIMEOUT, _DATA_SCOPE, _GET_REFRESH_CACHE, _GET_STATIC_VALUES,
///         _GET_POINTER_VALUES, _SESSION_INFO, _NODE_INFO (with _HOSTNAME or _NODEID), _APP_INFO (with _APPNUM)
///   val   written on success; malloc'ed unless the directives say otherwise
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_FOUND, _EXISTS_OUTSIDE_SCOPE, _TIMEOUT (that of the directive has passed),
///   _UNREACH (that process has ended and never committed, or its node is lost), _LOST_CONNECTION
///   Cost: a lock-free read, two mallocs and a copy for whatever the node knows; else a round trip to the server, which
///   waits for the rank's first commit, and WEFT_GET_WAIT for a key of a later one (docs/design/modex.md has the table).
pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                       pmix_value_t** val) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    if (val == nullptr || bad_key(name) || (info == nullptr && ninfo != 0) ||
        (proc == nullptr && key == nullptr))
      return PMIX_ERR_BAD_PARAM;
    GetDirectives how;
    if (ninfo != 0) {
      const auto parsed = GetDirectives::parse(info, ninfo);
      if (!parsed) return PMIX_ERR_BAD_PARAM;
      how = *parsed;
    }
    const bool here = proc != nullptr && proc->nspace[0] != '\0';
    pmix_proc_t named;
    if (!here) named = target(*role, proc, name);
    Value found;
    const auto status = role->get(here ? *proc : named, name, info, ninfo, how, found);
    return status == PMIX_SUCCESS ? deliver(*role, std::move(found), how, val) : status;
  });
}

/// PMIx_Get_nb: the same; cbfunc runs on the library's thread, always after this call returned. The value belongs to
/// the library and is gone when cbfunc returns.
pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                          pmix_value_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    if (cbfunc == nullptr || bad_key(name) || (info == nullptr && ninfo != 0) ||
        (proc == nullptr && key == nullptr))
      return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos || !GetDirectives::parse(info, ninfo)) return PMIX_ERR_BAD_PARAM;
    const auto done = [cbfunc, cbdata](pmix_status_t status, Value value) {
      cbfunc(status, status == PMIX_SUCCESS ? &value.get() : nullptr, cbdata);
    };
    return role->get_later(target(*role, proc, name), std::string(name), std::move(*infos), done);
  });
}

/// PMIx_Resolve_peers: the processes of a namespace on a node; NULL node = this one, NULL namespace = mine.
/// Not yet: a NULL namespace as all namespaces of the node.
pmix_status_t PMIx_Resolve_peers(const char* nodename, const pmix_nspace_t nspace, pmix_proc_t** procs,
                                 size_t* nprocs) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    if (procs == nullptr || nprocs == nullptr) return PMIX_ERR_BAD_PARAM;
    std::vector<pmix_proc_t> found;
    const auto node = text_of(nodename, 4096);
    const auto space = text_of(nspace, PMIX_MAX_NSLEN);
    const auto status = role->resolve_peers(node, space, found);
    if (status != PMIX_SUCCESS) return status;
    auto* out = static_cast<pmix_proc_t*>(std::malloc(found.size() * sizeof(pmix_proc_t)));
    if (out == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(out, found.data(), found.size() * sizeof(pmix_proc_t));
    *procs = out;
    *nprocs = found.size();
    return PMIX_SUCCESS;
  });
}

/// PMIx_Resolve_nodes: the nodes of a namespace (NULL = mine), separated by commas.
pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t nspace, char** nodelist) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    if (nodelist == nullptr) return PMIX_ERR_BAD_PARAM;
    std::string found;
    const auto space = text_of(nspace, PMIX_MAX_NSLEN);
    const auto status = role->resolve_nodes(space, found);
    if (status != PMIX_SUCCESS) return status;
    char* out = ::strdup(found.c_str());
    if (out == nullptr) return PMIX_ERR_NOMEM;
    *nodelist = out;
    return PMIX_SUCCESS;
  });
}
