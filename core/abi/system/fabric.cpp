// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Fabric Support Definitions". The host says what is known of a fabric.
#include "core/abi/calls/results.hpp"
#include "core/abi/roles/requests.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::guarded_ask;
using weft::abi::guarded_status;
using weft::link::Fabric;

namespace {

void forget_infos(pmix_fabric_t& fabric) {
  if (fabric.info != nullptr) PMIx_Info_free(fabric.info, fabric.ninfo);
  fabric.info = nullptr;
  fabric.ninfo = 0;
}

/// The host's answer replaces the contents of the object.
pmix_status_t take(weft::link::Answer& answer, pmix_fabric_t& fabric) {
  if (answer.status != PMIX_SUCCESS) return answer.status;
  if (const auto* index = answer.infos.find(PMIX_FABRIC_INDEX))
    if (const auto number = weft::data::as_unsigned(index->value)) fabric.index = *number;
  forget_infos(fabric);
  return weft::abi::hand_over(std::move(answer.infos), &fabric.info, &fabric.ninfo);
}

pmix_status_t make_register(const pmix_fabric_t* fabric, const pmix_info_t* directives, size_t ndirs,
                            Fabric& out) {
  if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
  out.operation = PMIX_FABRIC_REQUEST_INFO;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_update(const pmix_fabric_t* fabric, Fabric& out) {
  if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
  out.operation = PMIX_FABRIC_UPDATE_INFO;
  out.directives.add(PMIX_FABRIC_INDEX, weft::data::Value::of_size(fabric->index));
  if (fabric->name != nullptr)
    out.directives.add(PMIX_FABRIC_IDENTIFIER, weft::data::Value::of(fabric->name));
  return PMIX_SUCCESS;
}

pmix_status_t call(const Fabric& message, pmix_fabric_t& fabric) {
  auto answer = ask(message);
  return take(answer, fabric);
}

pmix_status_t call_later(const Fabric& message, pmix_fabric_t& fabric, pmix_op_cbfunc_t cbfunc,
                         void* cbdata) {
  return ask_later(message, [&fabric, cbfunc, cbdata](weft::link::Answer answer) {
    const auto status = take(answer, fabric);
    if (cbfunc != nullptr) cbfunc(status, cbdata);
  });
}

}  // namespace

/// PMIx_Fabric_register: fills a fabric object with what the host knows of the fabric that the directives
/// name.
///   fabric      its info array is the library's from here on, until PMIx_Fabric_deregister
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _NOT_SUPPORTED (the host
///   knows no fabric: weftrun)
pmix_status_t PMIx_Fabric_register(pmix_fabric_t* fabric, const pmix_info_t* directives, size_t ndirs) {
  return guarded_ask([&]() -> pmix_status_t {
    Fabric message;
    const auto status = make_register(fabric, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call(message, *fabric) : status;
  });
}

/// PMIx_Fabric_register_nb: the object stays until the callback has run.
pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t* fabric, const pmix_info_t* directives, size_t ndirs,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Fabric message;
    const auto status = make_register(fabric, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call_later(message, *fabric, cbfunc, cbdata) : status;
  });
}

/// PMIx_Fabric_update: asks again. The host is told the object's index and name.
pmix_status_t PMIx_Fabric_update(pmix_fabric_t* fabric) {
  return guarded_ask([&]() -> pmix_status_t {
    Fabric message;
    const auto status = make_update(fabric, message);
    return status == PMIX_SUCCESS ? call(message, *fabric) : status;
  });
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Fabric message;
    const auto status = make_update(fabric, message);
    return status == PMIX_SUCCESS ? call_later(message, *fabric, cbfunc, cbdata) : status;
  });
}

/// PMIx_Fabric_deregister: frees what the object holds; the host is not told.
pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t* fabric) {
  return guarded_status([&]() -> pmix_status_t {
    if (weft::abi::roles().acting() == nullptr) return PMIX_ERR_INIT;
    if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
    forget_infos(*fabric);
    return PMIX_SUCCESS;
  });
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    const auto status = PMIx_Fabric_deregister(fabric);
    if (status != PMIX_SUCCESS || cbfunc == nullptr) return status;
    weft::abi::run_later([cbfunc, cbdata] { cbfunc(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
  });
}
