// SPDX-License-Identifier: BSD-3-Clause
// Abort and log.
#include <cstdio>
#include <cstring>

#include "core/server/server.hpp"

namespace weft::server {

void Server::abort_request(const SessionRef& session, std::uint64_t tag, link::Abort message) {
  if (module_.abort == nullptr) return answer(session, tag, PMIX_ERR_NOT_SUPPORTED);
  // Both live until the host answers: it may read them then.
  auto held = std::make_shared<link::Abort>(std::move(message));
  const auto& clients = session->job->clients;
  const auto registered = clients.find(session->proc.rank);
  auto* object = registered == clients.end() ? nullptr : registered->second.object;
  OpUpcall::make(
      upcalls_, [this, session, tag, held](pmix_status_t status) { answer(session, tag, status); },
      [&](void* open) {
        return module_.abort(&session->proc, object, held->status, held->message.c_str(),
                             held->procs.empty() ? nullptr : held->procs.data(), held->procs.size(),
                             on_op_done, open);
      });
}

void Server::log_request(const SessionRef& session, std::uint64_t tag, link::Log message) {
  if (module_.log == nullptr) return answer(session, tag, PMIX_ERR_NOT_SUPPORTED);
  auto held = std::make_shared<link::Log>(std::move(message));
  OpUpcall::make(
      upcalls_, [this, session, tag, held](pmix_status_t status) { answer(session, tag, status); },
      [&](void* open) {
        module_.log(&session->proc, held->records.data(), held->records.size(), held->directives.data(),
                    held->directives.size(), on_op_done, open);
        return PMIX_SUCCESS;
      });
}

}  // namespace weft::server
