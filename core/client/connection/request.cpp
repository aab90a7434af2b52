// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/request.hpp"

#include "core/data/names/status.hpp"

namespace weft::client {

using link::MessageType;

namespace {

/// The status with which the server has refused a request that has a reply of its own; nothing: it has not.
std::optional<pmix_status_t> refusal_in(const Result<link::Frame>& reply) {
  if (!reply) return data::to_status(reply.error());
  if (reply->type != MessageType::done) return std::nullopt;
  const auto done = link::decode<link::Done>(reply->payload);
  return done ? done->status : PMIX_ERR_COMM_FAILURE;
}

pmix_status_t read_value(const Result<link::Frame>& reply, data::Value& found) {
  if (const auto refusal = refusal_in(reply)) return *refusal;
  auto value = link::decode<link::GotValue>(reply->payload);
  if (!value) return data::to_status(value.error());
  if (value->status == PMIX_SUCCESS) found = std::move(value->value);
  return value->status;
}

}  // namespace

link::Answer read_answer(const Result<link::Frame>& frame) {
  if (!frame) return {data::to_status(frame.error()), {}, {}};
  if (frame->type == link::MessageType::done) {
    const auto done = link::decode<link::Done>(frame->payload);
    return {done ? done->status : PMIX_ERR_COMM_FAILURE, {}, {}};
  }
  auto answer = link::decode<link::Answer>(frame->payload);
  if (frame->type == link::MessageType::answer && answer) return std::move(*answer);
  return {PMIX_ERR_COMM_FAILURE, {}, {}};
}

pmix_status_t ask_value(Connection& connection, const link::Get& get, data::Value& found) {
  return read_value(connection.ask(MessageType::get, link::encode(get)), found);
}

void request_value(Connection& connection, const link::Get& get,
                   std::function<void(pmix_status_t, data::Value)> done) {
  connection.request(MessageType::get, link::encode(get),
                     [done = std::move(done)](const Result<link::Frame>& reply) {
                       data::Value found;
                       const auto status = read_value(reply, found);
                       done(status, std::move(found));
                     });
}

void request_log(Connection& connection, const link::Log& log, std::function<void(pmix_status_t)> done) {
  connection.request(
      MessageType::log, link::encode(log),
      [done = std::move(done)](const Result<link::Frame>& reply) { done(read_answer(reply).status); });
}

void request_query(Connection& connection, const link::Query& query,
                   std::function<void(pmix_status_t, data::Infos)> done) {
  connection.request(
      MessageType::query, link::encode(query), [done = std::move(done)](const Result<link::Frame>& reply) {
        if (const auto refusal = refusal_in(reply)) return done(*refusal, {});
        auto answer = link::decode<link::QueryAnswer>(reply->payload);
        const bool is_good = reply->type == MessageType::results && answer;
        is_good ? done(answer->status, std::move(answer->results)) : done(PMIX_ERR_COMM_FAILURE, {});
      });
}

}  // namespace weft::client
