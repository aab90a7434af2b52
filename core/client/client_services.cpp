// SPDX-License-Identifier: BSD-3-Clause
// What only the server can do for a client.
#include "core/client/client.hpp"
#include "core/client/connection/request.hpp"

namespace weft::client {

pmix_status_t Client::abort(int status, std::string_view message, const pmix_proc_t* procs,
                            std::size_t nprocs) {
  if (singleton_) return PMIX_ERR_UNREACH;
  link::Abort request{status, std::string(message), {}};
  if (nprocs != 0) request.procs.assign(procs, procs + nprocs);
  return read_answer(connection_->ask(link::MessageType::abort, link::encode(request))).status;
}

void Client::query_later(link::Query query, std::function<void(pmix_status_t, data::Infos)> done) {
  request_query(*connection_, query, std::move(done));
}

}  // namespace weft::client
