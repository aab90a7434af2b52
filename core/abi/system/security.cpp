// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Security". Credentials are the host's or, where it has none, its servers'.
#include "core/abi/calls/results.hpp"
#include "core/abi/roles/requests.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::guarded_ask;
using weft::link::GetCredential;
using weft::link::ValidateCredential;

namespace {

pmix_status_t make_validate(const pmix_byte_object_t* credential, const pmix_info_t* info, size_t ninfo,
                            ValidateCredential& out) {
  if (credential == nullptr || credential->bytes == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto bytes = weft::as_bytes({credential->bytes, credential->size});
  out.credential.assign(bytes.begin(), bytes.end());
  return copy_infos(info, ninfo, out.directives);
}

/// The credential in an answer; NULL: there is none.
pmix_byte_object_t* credential_in(weft::link::Answer& answer) {
  auto& value = answer.value.get();
  return value.type == PMIX_BYTE_OBJECT ? &value.data.bo : nullptr;
}

}  // namespace

/// PMIx_Get_credential: has the host certify the caller or, where it does not, the server.
///   info        of a server: PMIX_CRED_TYPE (char*, the best first: "munge,weft", which is also what counts
///               without it): "munge" certifies the user on all machines of one munge key, and names the
///               process in its run; "weft" counts in the run alone. PMIX_TIMEOUT (int, seconds)
///   credential  written on success; its bytes are the caller's to free. A server's is text with its NUL,
///               counts for 300 seconds, and is not used up by being validated
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _TIMEOUT, _NOT_SUPPORTED (no
///   such type here), and the host's
///   Tests: tests/multiproc/job/credentials_test.py
pmix_status_t PMIx_Get_credential(const pmix_info_t* info, size_t ninfo, pmix_byte_object_t* credential) {
  return guarded_ask([&]() -> pmix_status_t {
    GetCredential message;
    if (credential == nullptr) return PMIX_ERR_BAD_PARAM;
    if (const auto status = copy_infos(info, ninfo, message.directives); status != PMIX_SUCCESS)
      return status;
    auto answer = ask(message);
    if (answer.status != PMIX_SUCCESS) return answer.status;
    if (credential_in(answer) == nullptr) return PMIX_ERR_NOT_FOUND;
    *credential = answer.value.release().data.bo;
    return PMIX_SUCCESS;
  });
}

pmix_status_t PMIx_Get_credential_nb(const pmix_info_t* info, size_t ninfo, pmix_credential_cbfunc_t cbfunc,
                                     void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GetCredential message;
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    if (const auto status = copy_infos(info, ninfo, message.directives); status != PMIX_SUCCESS)
      return status;
    return ask_later(message, [cbfunc, cbdata](weft::link::Answer answer) {
      cbfunc(answer.status, credential_in(answer), answer.infos.data(), answer.infos.size(), cbdata);
    });
  });
}

/// PMIx_Validate_credential: has the host check a credential or, where it does not, the server.
///   results  what the credential says of its owner, to be freed with PMIX_INFO_FREE. Of a server:
///            PMIX_CRED_TYPE, PMIX_USERID, PMIX_GRPID, and PMIX_PROCID where the credential is of this run
///   Errors: as PMIx_Get_credential, and PMIX_ERR_INVALID_CRED: of another run, changed, expired, or none.
///   _NOT_SUPPORTED: a credential of munge where there is no munge
pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t* credential, const pmix_info_t* info,
                                       size_t ninfo, pmix_info_t** results, size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    ValidateCredential message;
    if (const auto status = make_validate(credential, info, ninfo, message); status != PMIX_SUCCESS)
      return status;
    auto answer = ask(message);
    if (answer.status != PMIX_SUCCESS) return answer.status;
    return weft::abi::hand_over(std::move(answer.infos), results, nresults);
  });
}

pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t* credential, const pmix_info_t* info,
                                          size_t ninfo, pmix_validation_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    ValidateCredential message;
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    if (const auto status = make_validate(credential, info, ninfo, message); status != PMIX_SUCCESS)
      return status;
    return ask_later(message, [cbfunc, cbdata](weft::link::Answer answer) {
      cbfunc(answer.status, answer.infos.data(), answer.infos.size(), cbdata);
    });
  });
}
