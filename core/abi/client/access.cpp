// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapters "Data access and sharing" and "Process-related non-reserved keys".
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/native_procs.hpp"
#include "core/abi/roles/role.hpp"
#include "core/data/names/qualified_key.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/types.hpp"
#include "core/store/get/lookup.hpp"
#include "pmix.h"

using weft::abi::guarded_directives;
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

bool is_deletion(pmix_scope_t scope) noexcept {
  return scope >= PMIX_DEL_LOCAL && scope <= PMIX_DEL_INTERNAL;
}

/// The process that is meant: NULL is the caller, an empty namespace the caller's.
pmix_proc_t target(const Role& role, const pmix_proc_t* proc) {
  if (proc != nullptr && proc->nspace[0] != '\0') return *proc;
  pmix_proc_t out = role.self();
  if (proc != nullptr) out.rank = proc->rank;
  return out;
}

/// Keys that name the caller itself, whichever process the Get names: PMIX_PROCID; PMIX_NSPACE of NULL;
/// PMIX_RANK of a rank that is none, as wildcards are. Nothing: another key, or a question about some
/// process.
std::optional<Value> caller_itself(const Role& role, const pmix_proc_t* proc, std::string_view key) {
  const auto& self = role.self();
  if (key == PMIX_PROCID) return Value::of_proc(self);
  if (key == PMIX_NSPACE && proc == nullptr) return Value::of(text_of(self.nspace, PMIX_MAX_NSLEN));
  if (key == PMIX_RANK && (proc == nullptr || proc->rank > PMIX_RANK_VALID)) return Value::of_rank(self.rank);
  return std::nullopt;
}

/// The namespaces that this process's server knows; where it cannot be asked, the caller's own.
std::vector<std::string> known_namespaces(const Role& role) {
  char key[] = PMIX_QUERY_NAMESPACES;
  char* keys[] = {key, nullptr};
  pmix_query_t query{keys, nullptr, 0};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  std::vector<std::string> out;
  if (PMIx_Query_info(&query, 1, &results, &count) == PMIX_SUCCESS && count != 0 &&
      results[0].value.type == PMIX_STRING && results[0].value.data.string != nullptr) {
    std::stringstream names(results[0].value.data.string);
    for (std::string name; std::getline(names, name, ',');) out.push_back(name);
  }
  PMIX_INFO_FREE(results, count);
  if (out.empty()) out.emplace_back(text_of(role.self().nspace, PMIX_MAX_NSLEN));
  return out;
}

/// As Role::resolve_peers, of all namespaces.
pmix_status_t peers_of_all(Role& role, std::string_view node, std::vector<pmix_proc_t>& found) {
  pmix_status_t status = PMIX_ERR_NOT_FOUND;
  for (const auto& name : known_namespaces(role)) {
    std::vector<pmix_proc_t> some;
    const auto one = role.resolve_peers(node, name, some);
    if (one == PMIX_SUCCESS) found.insert(found.end(), some.begin(), some.end());
    if (one == PMIX_SUCCESS || status != PMIX_SUCCESS) status = one;
  }
  return status;
}

/// PMIX_TOPOLOGY2: the topology of this node, which PMIx_Load_topology hands out as well. Nothing: another
/// key, a process by its rank, or a node by its name.
std::optional<Value> own_topology(const Role& role, const pmix_proc_t* proc, std::string_view key,
                                  const GetDirectives& how) {
  if (key != PMIX_TOPOLOGY2 || how.nodeid || !how.hostname.empty()) return std::nullopt;
  const bool is_of_rank = proc != nullptr && proc->rank <= PMIX_RANK_VALID && proc->rank != role.self().rank;
  if (is_of_rank) return std::nullopt;
  pmix_value_t raw{};
  raw.type = PMIX_TOPO;
  raw.data.topo = static_cast<pmix_topology_t*>(std::calloc(1, sizeof(pmix_topology_t)));
  if (raw.data.topo == nullptr || PMIx_Load_topology(raw.data.topo) != PMIX_SUCCESS) {
    std::free(raw.data.topo);
    return std::nullopt;
  }
  return Value::adopt(raw);
}

/// Where directives are qualifiers of the key: its name becomes `qualified`, which `name` then borrows from.
/// False: too long.
bool add_qualifiers(std::string_view& name, std::string& qualified, const pmix_info_t* infos,
                    std::size_t count) {
  const auto is_one = [](const pmix_info_t& info) { return (info.flags & PMIX_INFO_QUALIFIER) != 0; };
  if (name.empty() || std::none_of(infos, infos + count, is_one)) return true;
  auto made = weft::data::qualified_key(name, infos, count);
  if (!made) return false;
  qualified = std::move(*made);
  name = qualified;
  return true;
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
///   key    of PMIX_QUALIFIED_VALUE the value is an array: key and value, then the infos that a Get must
///          name, too, marked PMIX_INFO_QUALIFIER, in any order
///   scope  PMIX_LOCAL (this node), PMIX_REMOTE (others), PMIX_GLOBAL (both), PMIX_INTERNAL (this process);
///          PMIX_DEL_LOCAL and the like delete the key there: val is ignored and may be NULL, and a Get finds
///          the key no more than one that was never put
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNKNOWN_DATA_TYPE, _OUT_OF_RESOURCE (the own card is full; what is
///   there stays)
///   Cost: one encode and one copy; no system call.
pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* val) {
  return guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    pmix_value_t none = weft::data::empty_value();
    if (val == nullptr && is_deletion(scope)) val = &none;
    if (val == nullptr || name.empty() || bad_key(name)) return PMIX_ERR_BAD_PARAM;
    if (weft::data::find_type(val->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    if (name != PMIX_QUALIFIED_VALUE) return client->puts().put(scope, name, *val);
    const auto qualified = weft::data::read_qualified(*val);
    return qualified ? client->puts().put(scope, qualified->key, *qualified->value) : PMIX_ERR_BAD_PARAM;
  });
}

/// PMIx_Commit: publishes what was put. Cost: one copy a value; no message where the node segment is mapped.
pmix_status_t PMIx_Commit(void) {
  return guarded_status([]() -> pmix_status_t {
    auto* client = roles().client();
    return client == nullptr ? PMIX_ERR_INIT : client->puts().commit();
  });
}

/// PMIx_Store_internal: a value about any process that only this process will see. A server's PMIX_PROC_PID
/// (PMIX_PID) of a client that is registered is the pid of that one in tables of processes until it connects.
pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char key[], pmix_value_t* val) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    const auto name = text_of(key, longest_key);
    if (proc == nullptr || val == nullptr || name.empty() || bad_key(name)) return PMIX_ERR_BAD_PARAM;
    if (weft::data::find_type(val->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    pmix_proc_t whose = *proc;
    if (const auto status = weft::abi::make_native(whose); status != PMIX_SUCCESS) return status;
    if (name != PMIX_QUALIFIED_VALUE) return role->store_internal(whose, name, *val);
    const auto qualified = weft::data::read_qualified(*val);
    return qualified ? role->store_internal(whose, qualified->key, *qualified->value) : PMIX_ERR_BAD_PARAM;
  });
}

/// PMIx_Get: what (proc, key) is known to be.
///   proc  whose, by its namespace or by a group rank; rank PMIX_RANK_WILDCARD = the job, PMIX_RANK_UNDEF =
///         whichever rank has it; NULL = the caller's
///   key   NULL: everything known, as a PMIX_DATA_ARRAY of pmix_info_t
///   info  PMIX_OPTIONAL, _IMMEDIATE, _TIMEOUT, _DATA_SCOPE, _GET_REFRESH_CACHE, _GET_STATIC_VALUES,
///         _GET_POINTER_VALUES, _SESSION_INFO (with _SESSION_ID), _JOB_INFO, _NODE_INFO (with _HOSTNAME or
///         _NODEID), _APP_INFO (with _APPNUM)
///   PMIX_TOPOLOGY2 of this node: PMIX_TOPO, the pointer that PMIx_Load_topology gives; of another node:
///   PMIX_ERR_NOT_FOUND
///   val   malloc'ed unless the directives say otherwise; NULL where the Get fails, untouched with
///         _GET_STATIC_VALUES
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_FOUND, _EXISTS_OUTSIDE_SCOPE (with _DATA_SCOPE), _TIMEOUT (that
///   of the directive has passed), _UNREACH (that process has ended and never committed, or its node is
///   lost), _LOST_CONNECTION
///   Cost: a lock-free read, two mallocs and a copy for whatever the node knows; else a round trip to the
///   server, which waits for the rank's first commit, and WEFT_GET_WAIT for a key of a later one
///   (docs/design/modex.md has the table). In a server: a lock-free read of what is here, whatever the
///   directives; neither the host nor another thread is waited for.
pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                       pmix_value_t** val) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    auto name = text_of(key, longest_key);
    if (val == nullptr || bad_key(name) || (proc == nullptr && key == nullptr)) return PMIX_ERR_BAD_PARAM;
    GetDirectives how;
    std::string qualified;
    if (ninfo != 0) {
      if (!add_qualifiers(name, qualified, info, ninfo)) return PMIX_ERR_BAD_PARAM;
      const auto parsed = GetDirectives::parse(info, ninfo);
      if (!parsed) return PMIX_ERR_BAD_PARAM;
      how = *parsed;
    }
    // Programs look at it after a failure, too.
    if (!how.static_values) *val = nullptr;
    if (auto self = caller_itself(*role, proc, name)) return deliver(*role, std::move(*self), how, val);
    if (auto node = own_topology(*role, proc, name, how)) return deliver(*role, std::move(*node), how, val);
    bool here = proc != nullptr && proc->nspace[0] != '\0';
    pmix_proc_t named;
    if (!here || name == PMIX_GROUP_NAMES || weft::abi::may_name_group(*proc)) {
      named = target(*role, proc);
      if (auto value = weft::abi::value_of_group(named, name); value.get().type != PMIX_UNDEF)
        return deliver(*role, std::move(value), how, val);
      if (const auto status = weft::abi::make_native(named); status != PMIX_SUCCESS) return status;
      here = false;
    }
    Value found;
    const auto status = role->get(here ? *proc : named, name, info, ninfo, how, found);
    return status == PMIX_SUCCESS ? deliver(*role, std::move(found), how, val) : status;
  });
}

/// PMIx_Get_nb: the same; cbfunc runs on the library's thread, always after this call returned. The value
/// belongs to the library and is gone when cbfunc returns.
pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char key[], const pmix_info_t info[], size_t ninfo,
                          pmix_value_cbfunc_t cbfunc, void* cbdata) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    auto name = text_of(key, longest_key);
    if (cbfunc == nullptr || bad_key(name) || (proc == nullptr && key == nullptr)) return PMIX_ERR_BAD_PARAM;
    std::string qualified;
    if (!add_qualifiers(name, qualified, info, ninfo)) return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    const auto how = GetDirectives::parse(info, ninfo);
    if (!infos || !how) return PMIX_ERR_BAD_PARAM;
    const auto done = [cbfunc, cbdata](pmix_status_t status, Value value) {
      cbfunc(status, status == PMIX_SUCCESS ? &value.get() : nullptr, cbdata);
    };
    auto self = caller_itself(*role, proc, name);
    if (!self) self = own_topology(*role, proc, name, *how);
    if (self) {
      role->run_later([done, found = std::make_shared<Value>(std::move(*self))] {
        done(PMIX_SUCCESS, std::move(*found));
      });
      return PMIX_SUCCESS;
    }
    auto named = target(*role, proc);
    if (auto value = weft::abi::value_of_group(named, name); value.get().type != PMIX_UNDEF) {
      role->run_later([done, found = std::make_shared<Value>(std::move(value))] {
        done(PMIX_SUCCESS, std::move(*found));
      });
      return PMIX_SUCCESS;
    }
    if (const auto status = weft::abi::make_native(named); status != PMIX_SUCCESS) return status;
    return role->get_later(named, std::string(name), std::move(*infos), done);
  });
}

/// PMIx_Resolve_peers: the processes of a namespace, or of a group that the caller is a member of, on a node;
/// NULL node = this one, NULL namespace = all that this process's server knows.
pmix_status_t PMIx_Resolve_peers(const char* nodename, const pmix_nspace_t nspace, pmix_proc_t** procs,
                                 size_t* nprocs) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    if (procs == nullptr || nprocs == nullptr) return PMIX_ERR_BAD_PARAM;
    std::vector<pmix_proc_t> found;
    const auto node = text_of(nodename, 4096);
    const auto space = text_of(nspace, PMIX_MAX_NSLEN);
    const auto status =
        nspace == nullptr ? peers_of_all(*role, node, found) : role->resolve_peers(node, space, found);
    if (status != PMIX_SUCCESS) return status;
    auto* out = static_cast<pmix_proc_t*>(std::malloc(found.size() * sizeof(pmix_proc_t)));
    if (out == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(out, found.data(), found.size() * sizeof(pmix_proc_t));
    *procs = out;
    *nprocs = found.size();
    return PMIX_SUCCESS;
  });
}

/// PMIx_Resolve_nodes: the nodes of a namespace or group (NULL = mine), separated by commas.
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
