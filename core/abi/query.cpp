// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Job Management and Reporting": queries.
#include <memory>

#include "core/abi/guard.hpp"
#include "core/abi/role.hpp"
#include "core/data/memory.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::Role;
using weft::abi::roles;
using weft::data::Infos;
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
  return PMIX_SUCCESS;
}

/// The caller owns it: PMIX_INFO_FREE().
pmix_status_t hand_over(Infos infos, pmix_info_t** results, size_t* nresults) {
  pmix_info_t* out = nullptr;
  if (infos.size() != 0) {
    out = static_cast<pmix_info_t*>(weft::data::new_elements(sizeof(pmix_info_t), infos.size()));
    if (out == nullptr) return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < infos.size(); ++i) {
      out[i] = infos.data()[i];
      infos.data()[i].value.type = PMIX_UNDEF;  // what it held is the caller's now
    }
  }
  *results = out;
  *nresults = infos.size();
  return PMIX_SUCCESS;
}

/// PMIX_SUCCESS: there is a server to ask.
pmix_status_t can_ask() {
  const auto* role = roles().asking();
  return role == nullptr ? PMIX_ERR_INIT : role->can_query();
}

pmix_status_t ask(Query query, Infos& out) {
  auto* role = roles().asking();
  const auto results = std::make_shared<Infos>();  // shared: a caller that gave up may be gone when they come
  const auto status = role->await([&](const Role::Done& done) {
    role->query(std::move(query), [results, done](pmix_status_t answer, Infos infos) {
      *results = std::move(infos);
      done(answer);
    });
  });
  if (status == PMIX_SUCCESS || status == PMIX_QUERY_PARTIAL_SUCCESS) out = std::move(*results);
  return status;
}

}  // namespace

/// PMIx_Query_info: asks the server; as a server, oneself.
///   queries   keys: PMIX_QUERY_NAMESPACES (char*, separated by commas);
///             weft.cluster (docs/design/report.md), with the qualifier PMIX_QUERY_LOCAL_ONLY of this node only;
///             a tool may ask for PMIX_QUERY_AVAIL_SERVERS, alone: PMIX_SERVER_INFO_ARRAYs of the servers of this
///             machine that would let it in, with PMIX_SERVER_NSPACE, _RANK and _PIDINFO
///   results   one info a key, to be freed with PMIX_INFO_FREE
///   Returns PMIX_SUCCESS; PMIX_QUERY_PARTIAL_SUCCESS if some keys are not known; PMIX_ERR_NOT_SUPPORTED if none is;
///   PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (a singleton), _LOST_CONNECTION, _NO_PERMISSIONS, _TIMEOUT (a tool whose server is stopped)
///   Cost: weft.cluster: one or two messages to each node, and at most four seconds where one is silent.
/// Not yet: keys other than PMIX_QUERY_NAMESPACES, PMIX_QUERY_AVAIL_SERVERS and weft.cluster, and qualifiers other than
/// PMIX_QUERY_LOCAL_ONLY; the host is not asked for them.
pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries, pmix_info_t** results,
                              size_t* nresults) {
  return guarded_status([&]() -> pmix_status_t {
    if (const auto status = can_ask(); status != PMIX_SUCCESS) return status;
    if (results == nullptr || nresults == nullptr) return PMIX_ERR_BAD_PARAM;
    Query query;
    if (const auto status = read_query(queries, nqueries, query); status != PMIX_SUCCESS) return status;
    Infos infos;
    const auto status = ask(std::move(query), infos);
    if (status != PMIX_SUCCESS && status != PMIX_QUERY_PARTIAL_SUCCESS) return status;
    const auto handed = hand_over(std::move(infos), results, nresults);
    return handed == PMIX_SUCCESS ? status : handed;
  });
}

/// PMIx_Query_info_nb: the results are the library's until the callback's release function is called.
/// Not yet: the keys that PMIx_Query_info lacks; there is no limit on how long a stopped server may take.
pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries, pmix_info_cbfunc_t cbfunc,
                                 void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    if (const auto status = can_ask(); status != PMIX_SUCCESS) return status;
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    Query query;
    if (const auto status = read_query(queries, nqueries, query); status != PMIX_SUCCESS) return status;
    roles().asking()->query(std::move(query), [cbfunc, cbdata](pmix_status_t status, Infos infos) {
      auto* held = new Infos(std::move(infos));
      const auto release = [](void* kept) { delete static_cast<Infos*>(kept); };
      cbfunc(status, held->data(), held->size(), cbdata, release, held);
    });
    return PMIX_SUCCESS;
  });
}
