// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Security": the host's, or served by credentials/.
#include <memory>

#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

using CredentialUpcall = Upcall<data::Value, LentInfos>;

/// The pmix_credential_cbfunc_t.
void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t* infos,
                   std::size_t ninfo, void* pointer) {
  auto value = credential != nullptr && credential->bytes != nullptr
                   ? data::Value::of_bytes(as_bytes({credential->bytes, credential->size}))
                   : data::Value();
  CredentialUpcall::finish_from_host(pointer, status, std::move(value),
                                     LentInfos(infos, ninfo, nullptr, nullptr));
}

/// The pmix_validation_cbfunc_t.
void on_validated(pmix_status_t status, pmix_info_t* infos, std::size_t ninfo, void* pointer) {
  InfoUpcall::finish_from_host(pointer, status, LentInfos(infos, ninfo, nullptr, nullptr));
}

void on_get_credential(const RequestRooms& rooms, const Requester& from, link::GetCredential message) {
  if (!rooms.host.offers(&pmix_server_module_t::get_credential)) return rooms.credentials.get(from, message);
  from.add_user(message.directives);
  const auto held = hold(from.proc(), std::move(message));
  const auto end = [held, from](pmix_status_t status, data::Value credential, LentInfos lent) {
    auto infos = lent.take();
    if (infos) return from.answer({status, std::move(credential), std::move(*infos)});
    from.answer({status == PMIX_SUCCESS ? PMIX_ERR_NOMEM : status, {}, {}});
  };
  rooms.host.ask<CredentialUpcall>(
      &pmix_server_module_t::get_credential, "get_credential", end, [&](auto get_credential, void* open) {
        const auto& infos = held->message.directives;
        return get_credential(&held->requester, infos.data(), infos.size(), on_credential, open);
      });
}

void on_validate_credential(const RequestRooms& rooms, const Requester& from,
                            link::ValidateCredential message) {
  if (!rooms.host.offers(&pmix_server_module_t::validate_credential))
    return rooms.credentials.validate(from, message);
  from.add_user(message.directives);
  const auto held = std::make_shared<BytesCall<link::ValidateCredential>>(
      from.proc(), std::move(message), &link::ValidateCredential::credential);
  rooms.host.ask<InfoUpcall>(&pmix_server_module_t::validate_credential, "validate_credential",
                             ending(held, answering(from)), [&](auto validate, void* open) {
                               const auto& infos = held->message.directives;
                               return validate(&held->requester, &held->object, infos.data(), infos.size(),
                                               on_validated, open);
                             });
}

}  // namespace

std::span<const Request> security_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::get_credential, Senders::all, Reply::later, 1, decoded<on_get_credential>},
      {MessageType::validate_credential, Senders::all, Reply::later, 1, decoded<on_validate_credential>},
  };
  return requests;
}

}  // namespace weft::server
