// SPDX-License-Identifier: BSD-3-Clause
// A request of core/link/requests.hpp and its answer.
#pragma once

#include <functional>

#include "core/client/connection/connection.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

/// The answer in a frame of type done or answer; of a failed request its status.
link::Answer read_answer(const Result<link::Frame>& frame);

/// done(answer) runs on the connection's thread, once.
template <class Message>
void request(Connection& connection, const Message& message, std::function<void(link::Answer)> done) {
  connection.request(
      Message::type, link::encode(message),
      [done = std::move(done)](const Result<link::Frame>& frame) { done(read_answer(frame)); });
}
/// Sends a request and waits for its answer; on the thread itself by serving.
template <class Message>
link::Answer ask(Connection& connection, const Message& message) {
  return read_answer(connection.ask(Message::type, link::encode(message)));
}

/// Without an answer, so without a thread that reads it.
template <class Message>
pmix_status_t tell(Connection& connection, const Message& message) {
  return connection.send(Message::type, link::encode(message)) ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION;
}

// Requests whose answers are not of the form above.

/// done: on the connection's thread, once; PMIX_ERR_LOST_CONNECTION: there is no server, or it went.
void request_value(Connection& connection, const link::Get& get,
                   std::function<void(pmix_status_t, data::Value)> done);
/// As request_value(), waiting. found: written on PMIX_SUCCESS only.
pmix_status_t ask_value(Connection& connection, const link::Get& get, data::Value& found);
void request_log(Connection& connection, const link::Log& log, std::function<void(pmix_status_t)> done);
void request_query(Connection& connection, const link::Query& query,
                   std::function<void(pmix_status_t, data::Infos)> done);

}  // namespace weft::client
