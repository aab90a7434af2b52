// SPDX-License-Identifier: BSD-3-Clause
// What only the server can do for a client.
#include "core/client/client.hpp"
#include "core/client/tool.hpp"
#include "core/data/status.hpp"

namespace weft::client {

using link::MessageType;

namespace {

/// The status that an answer of type done carries.
pmix_status_t status_in(const Result<link::Frame>& answer) {
  if (!answer) return data::to_status(answer.error());
  const auto done = link::decode<link::Done>(answer->payload);
  return done ? done->status : PMIX_ERR_COMM_FAILURE;
}

}  // namespace

pmix_status_t Client::abort(int status, std::string_view message, const pmix_proc_t* procs,
                            std::size_t nprocs) {
  if (singleton_) return PMIX_ERR_UNREACH;
  link::Abort request{status, std::string(message), {}};
  if (nprocs != 0) request.procs.assign(procs, procs + nprocs);
  return status_in(connection_->ask(MessageType::abort, link::encode(request)));
}

void Client::log_later(data::Infos records, data::Infos directives, std::function<void(pmix_status_t)> done) {
  const link::Log message{std::move(records), std::move(directives)};
  connection_->request(MessageType::log, link::encode(message),
                       [done = std::move(done)](Result<link::Frame> answer) { done(status_in(answer)); });
}

void Client::query_later(link::Query query, std::function<void(pmix_status_t, data::Infos)> done) {
  query_through(*connection_, query, std::move(done));
}

}  // namespace weft::client
