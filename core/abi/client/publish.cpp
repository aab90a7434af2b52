// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Publish/Lookup Operations". The host keeps what is published, and says which
// processes may see it; where it has no such service, the servers do (core/server/published).
#include "core/abi/roles/requests.hpp"
#include "core/data/types/array.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::guarded_ask;
using weft::link::Lookup;
using weft::link::Publish;
using weft::link::Unpublish;

namespace {

pmix_status_t make_publish(const pmix_info_t* info, size_t ninfo, Publish& out) {
  return ninfo == 0 ? PMIX_ERR_BAD_PARAM : copy_infos(info, ninfo, out.infos);
}

pmix_status_t add_key(std::string_view key, std::vector<std::string>& keys) {
  if (key.empty() || key.size() > PMIX_MAX_KEYLEN) return PMIX_ERR_BAD_PARAM;
  keys.emplace_back(key);
  return PMIX_SUCCESS;
}

pmix_status_t add_keys(char** keys, std::vector<std::string>& out) {
  for (; keys != nullptr && *keys != nullptr; ++keys)
    if (const auto status = add_key(weft::abi::text_of(*keys, PMIX_MAX_KEYLEN + 1), out);
        status != PMIX_SUCCESS)
      return status;
  return PMIX_SUCCESS;
}

pmix_status_t make_lookup(char** keys, const pmix_info_t* info, size_t ninfo, Lookup& out) {
  if (keys == nullptr || *keys == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto status = add_keys(keys, out.keys);
  return status == PMIX_SUCCESS ? copy_infos(info, ninfo, out.directives) : status;
}

pmix_status_t make_unpublish(char** keys, const pmix_info_t* info, size_t ninfo, Unpublish& out) {
  const auto status = add_keys(keys, out.keys);
  return status == PMIX_SUCCESS ? copy_infos(info, ninfo, out.directives) : status;
}

/// The values that the server found become the caller's. PMIX_ERR_PARTIAL_SUCCESS: some keys were not found;
/// their values become PMIX_UNDEF.
pmix_status_t take_found(weft::link::Answer& answer, pmix_pdata_t* data, size_t ndata) {
  std::size_t missing = 0;
  std::vector<bool> is_missing(ndata);
  for (size_t i = 0; i < ndata; ++i) {
    bool is_found = false;
    for (auto& found : weft::data::elements_of<pmix_pdata_t>(answer.value.get(), PMIX_PDATA)) {
      if (std::strncmp(found.key, data[i].key, PMIX_MAX_KEYLEN) != 0 || found.value.type == PMIX_UNDEF)
        continue;
      data[i].proc = found.proc;
      data[i].value = found.value;
      found.value.type = PMIX_UNDEF;  // what it held is the caller's now
      is_found = true;
      break;
    }
    is_missing[i] = !is_found;
    missing += is_found ? 0 : 1;
  }
  if (missing == 0) return PMIX_SUCCESS;
  if (missing == ndata) return PMIX_ERR_NOT_FOUND;
  for (size_t i = 0; i < ndata; ++i)
    if (is_missing[i]) data[i].value.type = PMIX_UNDEF;
  return PMIX_ERR_PARTIAL_SUCCESS;
}

}  // namespace

/// PMIx_Publish: keys and values for other processes.
///   info  the data; among them PMIX_RANGE, PMIX_PERSISTENCE, PMIX_ACCESS_*, PMIX_TIMEOUT: directives
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _OUT_OF_RESOURCE,
///   _DUPLICATE_KEY, _TIMEOUT, and a host's own where the host keeps what is published. All of it is
///   published, or nothing. Cost: a round trip to the server, and one from there to the server that keeps the
///   key; PMIX_RANGE_LOCAL and _PROC_LOCAL need no other server.
pmix_status_t PMIx_Publish(const pmix_info_t* info, size_t ninfo) {
  return guarded_ask([&]() -> pmix_status_t {
    Publish message;
    const auto status = make_publish(info, ninfo, message);
    return status == PMIX_SUCCESS ? ask(message).status : status;
  });
}

pmix_status_t PMIx_Publish_nb(const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Publish message;
    const auto status = make_publish(info, ninfo, message);
    return status == PMIX_SUCCESS ? ask_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Lookup: finds published data.
///   data  by their keys; value and publisher are written where the key is found, PMIX_UNDEF as the type of a
///         value where others are
///   info  PMIX_RANGE (in which the publisher is), PMIX_WAIT, PMIX_TIMEOUT
///   Errors: as PMIx_Publish; PMIX_ERR_NOT_FOUND: no key is; PMIX_ERR_PARTIAL_SUCCESS: some are;
///   PMIX_ERR_NO_PERMISSIONS: all are there, and none for this user
pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t ndata, const pmix_info_t* info, size_t ninfo) {
  return guarded_ask([&]() -> pmix_status_t {
    if (data == nullptr || ndata == 0) return PMIX_ERR_BAD_PARAM;
    Lookup message;
    auto status = copy_infos(info, ninfo, message.directives);
    for (size_t i = 0; i < ndata && status == PMIX_SUCCESS; ++i)
      status = add_key(weft::abi::text_of(data[i].key, PMIX_MAX_KEYLEN), message.keys);
    if (status != PMIX_SUCCESS) return status;
    auto answer = ask(message);
    if (answer.status != PMIX_SUCCESS && answer.status != PMIX_ERR_PARTIAL_SUCCESS) return answer.status;
    return take_found(answer, data, ndata);
  });
}

/// PMIx_Lookup_nb: what is found is the library's and gone when the callback returns.
pmix_status_t PMIx_Lookup_nb(char** keys, const pmix_info_t* info, size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                             void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    Lookup message;
    if (const auto status = make_lookup(keys, info, ninfo, message); status != PMIX_SUCCESS) return status;
    return ask_later(message, [cbfunc, cbdata](weft::link::Answer answer) {
      const auto found = weft::data::elements_of<pmix_pdata_t>(answer.value.get(), PMIX_PDATA);
      cbfunc(answer.status, found.empty() ? nullptr : found.data(), found.size(), cbdata);
    });
  });
}

/// PMIx_Unpublish: takes back what this process has published, by default in PMIX_RANGE_SESSION. keys: NULL:
/// all of it, in all ranges unless one is given. Errors: as PMIx_Publish; PMIX_ERR_NOT_FOUND: none of the
/// keys is published by it.
pmix_status_t PMIx_Unpublish(char** keys, const pmix_info_t* info, size_t ninfo) {
  return guarded_ask([&]() -> pmix_status_t {
    Unpublish message;
    const auto status = make_unpublish(keys, info, ninfo, message);
    return status == PMIX_SUCCESS ? ask(message).status : status;
  });
}

pmix_status_t PMIx_Unpublish_nb(char** keys, const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Unpublish message;
    const auto status = make_unpublish(keys, info, ninfo, message);
    return status == PMIX_SUCCESS ? ask_later(message, cbfunc, cbdata) : status;
  });
}
