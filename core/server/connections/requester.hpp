// SPDX-License-Identifier: BSD-3-Clause
// The client behind a request, which may be gone when the host answers: then the answer is dropped.
#pragma once

#include "core/link/requests.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/types.hpp"

namespace weft::server {

struct Requester {
  ConnectionRef connection;
  std::uint64_t tag = 0;  ///< 0: no answer is wanted

  const pmix_proc_t& proc() const noexcept { return connection->proc; }
  void reply(pmix_status_t status) const {
    if (tag != 0) connection->reply(tag, status);
  }
  void answer(const link::Answer& answer) const {
    if (tag != 0) answer_encoded(link::encode(answer));
  }
  /// The answer() for many requesters of one answer. bytes: of a link::Answer.
  void answer_encoded(const std::vector<std::byte>& bytes) const {
    if (tag != 0) connection->send(link::MessageType::answer, tag, bytes);
  }
  /// Adds PMIX_USERID and PMIX_GRPID of the client, which the Standard has every request tell the host. The
  /// kernel has reported them for the client's socket.
  void add_user(data::Infos& infos) const {
    infos.add(PMIX_USERID, data::Value::of(static_cast<std::uint32_t>(connection->uid)));
    infos.add(PMIX_GRPID, data::Value::of(static_cast<std::uint32_t>(connection->gid)));
  }
};

}  // namespace weft::server
