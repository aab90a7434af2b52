// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Job Management and Reporting": queries.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/abi/calls/guard.hpp"
#include "core/abi/calls/results.hpp"
#include "core/abi/job/attribute_support.hpp"
#include "core/abi/roles/role.hpp"
#include "pmix.h"

using weft::Result;
using weft::abi::guarded_status;
using weft::abi::Role;
using weft::abi::roles;
using weft::data::Infos;
using weft::data::Value;
using weft::link::Query;

namespace {

pmix_status_t read_query(const pmix_query_t* queries, size_t count, Query& out) {
  if (queries == nullptr || count == 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < count; ++i) {
    const auto& query = queries[i];
    if (query.keys == nullptr || (query.qualifiers == nullptr && query.nqual != 0)) return PMIX_ERR_BAD_PARAM;
    auto qualifiers = Infos::copy_of(query.qualifiers, query.nqual);
    if (!qualifiers) return PMIX_ERR_BAD_PARAM;
    auto& item = out.items.emplace_back();
    for (char** key = query.keys; *key != nullptr; ++key)
      item.keys.emplace_back(weft::abi::text_of(*key, PMIX_MAX_KEYLEN));
    item.qualifiers = std::move(*qualifiers);
  }
  const auto asks = [](const Query::Item& item) { return !item.keys.empty(); };
  return std::any_of(out.items.begin(), out.items.end(), asks) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

/// The keys that describe the library itself, whatever its role and before it has one.
Result<Value> value_of_library(std::string_view key) {
  // Observed: a library 4.2.2 names these numbers in PMIx_Get_version(); the ABI of later standards is not
  // claimed (docs/decisions/0001-header-version.md).
  if (key == PMIX_QUERY_STABLE_ABI_VERSION || key == PMIX_QUERY_PROVISIONAL_ABI_VERSION)
    return Value::of("0.0");
  if (key == PMIX_VERSION_INFO) return Value::of(PMIx_Get_version());
  if (key == PMIX_VERSION_NUMERIC) return Value::of(std::uint32_t{PMIX_NUMERIC_VERSION});
  return weft::fail(weft::Errc::not_found);
}

/// The part of a query that the library answers by itself.
struct Part {
  Infos infos;
  bool lacks = false;  ///< something that only the library could know, and does not

  /// How the whole query ended whose rest ended with `status`.
  pmix_status_t with(pmix_status_t status) const {
    if (lacks && status == PMIX_SUCCESS) return PMIX_ERR_PARTIAL_SUCCESS;
    return infos.size() != 0 && status == PMIX_ERR_NOT_FOUND ? PMIX_ERR_PARTIAL_SUCCESS : status;
  }
};

/// Leaves the rest in `query`. of_host: what the server says of its host. Errors: no_memory.
Result<Part> answer_of_library(Query& query, const Infos& of_host) {
  Part part;
  for (auto& item : query.items) {
    if (weft::abi::asks_for_attributes(item)) {
      const auto is_all = weft::abi::add_attributes(item, weft::abi::said_of_host(of_host), part.infos);
      if (!is_all) return weft::fail(is_all.error());
      part.lacks = part.lacks || !*is_all;
      item.keys.clear();
      continue;
    }
    std::erase_if(item.keys, [&](const std::string& key) {
      auto value = value_of_library(key);
      if (!value) return false;
      part.infos.add(key, std::move(*value));
      return true;
    });
  }
  std::erase_if(query.items, [](const Query::Item& item) { return item.keys.empty(); });
  return part;
}

/// The status of a query that the library has answered alone: no key of it is left for the server.
pmix_status_t status_alone(const Part& part) {
  return part.with(part.infos.size() == 0 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
}

/// PMIX_SUCCESS: there is a server to ask.
pmix_status_t can_ask() {
  const auto* role = roles().asking();
  return role == nullptr ? PMIX_ERR_INIT : role->can_query();
}

bool has_results(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

void append(Infos& to, Infos&& more) {
  for (size_t i = 0; i < more.size(); ++i) {
    auto& info = more.data()[i];
    to.add(weft::data::key_of(info), Value::adopt(std::exchange(info.value, weft::data::empty_value())),
           info.flags);
  }
}

pmix_status_t ask_host(Query query, Infos& out) {
  auto* role = roles().asking();
  const auto results = std::make_shared<Infos>();  // shared: a caller that gave up may be gone when they come
  const auto status = role->await([&](const Role::Done& done) {
    role->query(std::move(query), [results, done](pmix_status_t answer, Infos infos) {
      *results = std::move(infos);
      done(answer);
    });
  });
  if (has_results(status)) append(out, std::move(*results));
  return status;
}

struct Reply {
  pmix_info_cbfunc_t cbfunc;
  void* cbdata;
  void give(pmix_status_t status, Infos infos) const {
    weft::abi::lend(status, has_results(status) ? std::move(infos) : Infos(), cbfunc, cbdata);
  }
};

/// Returns PMIX_SUCCESS, or another status: `reply` is not called then.
pmix_status_t ask_host_later(Role& role, Query query, const Infos& of_host, const Reply& reply) {
  auto answered = answer_of_library(query, of_host);
  if (!answered) return weft::abi::to_status(answered.error());
  const auto part = std::make_shared<Part>(std::move(*answered));
  if (query.items.empty()) {
    role.run_later([part, reply] {
      const auto status = status_alone(*part);  // before they are moved
      reply.give(status, std::move(part->infos));
    });
    return PMIX_SUCCESS;
  }
  if (const auto status = role.can_query(); status != PMIX_SUCCESS) return status;
  role.query(std::move(query), [part, reply](pmix_status_t status, Infos infos) {
    const auto whole = part->with(status);  // before it has the others' infos
    if (has_results(status)) append(part->infos, std::move(infos));
    reply.give(whole, std::move(part->infos));
  });
  return PMIX_SUCCESS;
}

}  // namespace

/// PMIx_Query_info: asks the server; as a server, oneself. Of the library itself also before PMIx_Init.
///   queries   keys, each with the qualifiers of its query; PMIX_NSPACE, or PMIX_PROCID, or PMIX_NSPACE and
///             PMIX_RANK say whose:
///             PMIX_QUERY_STABLE_ABI_VERSION, _PROVISIONAL_ABI_VERSION, PMIX_VERSION_INFO, _NUMERIC (of the
///             library)
///             PMIX_QUERY_ATTRIBUTE_SUPPORT, first of its keys, and names of functions
///             (core/abi/job/attribute_support.hpp; of the library and, asked of the server, of its host)
///             PMIX_QUERY_NAMESPACES (char*, separated by commas; of all nodes, with PMIX_QUERY_LOCAL_ONLY of
///             this one)
///             PMIX_QUERY_PROC_TABLE, _LOCAL_PROC_TABLE (pmix_proc_info_t; PMIX_HOSTNAME, PMIX_NODEID: of
///             that node), PMIX_PROC_PID, PMIX_PROC_STATE_STATUS, PMIX_QUERY_JOB_STATUS (pmix_status_t:
///             PMIX_SUCCESS, or that a process of this node was lost)
///             PMIX_QUERY_NUM_PSETS, _PSET_NAMES ("a,b"), _PSET_MEMBERSHIP (of PMIX_PSET_NAME),
///             PMIX_QUERY_NUM_GROUPS, _GROUP_NAMES, _GROUP_MEMBERSHIP (of PMIX_GROUP_ID; groups with members
///             on this node), PMIX_QUERY_SPAWN_SUPPORT, _DEBUG_SUPPORT (none), PMIX_QUERY_SUPPORTED_KEYS
///             PMIX_QUERY_MEMORY_USAGE, PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY (MiB, of this node)
///             keys of a realm, as PMIX_JOB_SIZE, by the directives of PMIx_Get (PMIX_SESSION_INFO,
///             PMIX_APPNUM, ...)
///             weft.cluster (docs/design/report.md), with the qualifier PMIX_QUERY_LOCAL_ONLY of this node
///             only; a tool may ask for PMIX_QUERY_AVAIL_SERVERS, alone: PMIX_SERVER_INFO_ARRAYs of the
///             servers of this machine that would let it in, with PMIX_SERVER_NSPACE, _RANK and _PIDINFO
///             PMIX_QUERY_SUPPORTED_QUALIFIERS (bool), as a qualifier: which qualifiers each key takes, and
///             not its value
///   results   one info a key that is answered, to be freed with PMIX_INFO_FREE
///   Returns PMIX_SUCCESS; PMIX_ERR_PARTIAL_SUCCESS if some keys are not known; PMIX_ERR_NOT_FOUND if none
///   is; PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _NO_PERMISSIONS, _TIMEOUT (a tool
///   whose server is stopped)
///   Cost: weft.cluster and PMIX_QUERY_NAMESPACES: one or two messages to each node, and at most four seconds
///   where one is silent; PMIX_QUERY_PROC_TABLE, PMIX_PROC_PID, _STATE_STATUS: one message to each node of
///   the job.
///   Source: PMIx Standard, chapter "Query Operations". Tests: tests/multiproc/tool/info_test.cpp
/// Not yet: queues and allocations, unless the host knows them.
pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                              size_t* nresults) {
  return guarded_status([&]() -> pmix_status_t {
    if (results == nullptr || nresults == nullptr)
      return can_ask() == PMIX_ERR_INIT ? PMIX_ERR_INIT : PMIX_ERR_BAD_PARAM;
    Query query;
    if (const auto status = read_query(queries, nqueries, query); status != PMIX_SUCCESS)
      return can_ask() == PMIX_ERR_INIT ? PMIX_ERR_INIT : status;
    Infos of_host;
    if (weft::abi::asks_for_host(query) && can_ask() == PMIX_SUCCESS)
      (void)ask_host(weft::abi::query_of_host(), of_host);  // without an answer nothing is known of it
    auto part = answer_of_library(query, of_host);
    if (!part) return weft::abi::to_status(part.error());
    auto status = PMIX_SUCCESS;
    if (query.items.empty()) {
      status = status_alone(*part);
    } else {
      Infos rest;
      status = can_ask();
      if (status == PMIX_SUCCESS) status = ask_host(std::move(query), rest);
      status = part->with(status);
      append(part->infos, std::move(rest));
    }
    if (!has_results(status)) return status;
    const auto handed = weft::abi::hand_over(std::move(part->infos), results, nresults);
    return handed == PMIX_SUCCESS ? status : handed;
  });
}

/// PMIx_Query_info_nb: the results are the library's until the callback's release function is called. Not
/// before PMIx_Init.
/// Not yet: what PMIx_Query_info lacks; there is no limit on how long a stopped server may take.
pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t cbfunc,
                                 void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* const role = roles().asking();
    if (role == nullptr) return PMIX_ERR_INIT;
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    Query query;
    if (const auto status = read_query(queries, nqueries, query); status != PMIX_SUCCESS) return status;
    const Reply reply{cbfunc, cbdata};
    if (!weft::abi::asks_for_host(query) || can_ask() != PMIX_SUCCESS)
      return ask_host_later(*role, std::move(query), {}, reply);
    const auto held = std::make_shared<Query>(std::move(query));
    role->query(weft::abi::query_of_host(), [role, held, reply](pmix_status_t, Infos of_host) {
      const auto status = ask_host_later(*role, std::move(*held), of_host, reply);
      if (status != PMIX_SUCCESS) reply.give(status, {});
    });
    return PMIX_SUCCESS;
  });
}
