// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/server_events.hpp"

#include <algorithm>
#include <memory>

#include "core/client/request.hpp"
#include "core/link/messages.hpp"

namespace weft::client {

using link::MessageType;

namespace {

/// A failed request is told as the loss of the server.
pmix_status_t status_in(const Result<link::Frame>& answer) {
  const auto ended = answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
  return ended ? ended->status : PMIX_ERR_LOST_CONNECTION;
}

}  // namespace

/// A default handler is no reason to leave out a code: events may be for those alone that name it.
bool ServerEvents::has_subscribed(const std::vector<pmix_status_t>& codes) {
  const std::lock_guard lock(mutex_);
  if (codes.empty()) return subscribed_all_;
  return std::all_of(codes.begin(), codes.end(),
                     [&](pmix_status_t code) { return subscribed_.count(code) != 0; });
}

void ServerEvents::subscribe(std::vector<pmix_status_t> codes, Done done) {
  if (has_subscribed(codes)) return connection_.run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  const auto message = link::encode(link::Subscribe{codes});
  connection_.request(
      MessageType::subscribe, message,
      [this, codes = std::move(codes), done = std::move(done)](const Result<link::Frame>& answer) {
        const auto status = status_in(answer);
        if (status == PMIX_SUCCESS) {
          const std::lock_guard lock(mutex_);
          subscribed_all_ |= codes.empty();
          subscribed_.insert(codes.begin(), codes.end());
        }
        done(status);
      });
}

void ServerEvents::notify_here(events::Event event, Done done) {
  events::stamp(event);
  auto shared = std::make_shared<events::Event>(std::move(event));
  connection_.run_later([this, shared] { handlers_.deliver(std::move(*shared)); });
  connection_.run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
}

void ServerEvents::notify(events::Event event, Done done) {
  if (event.range == PMIX_RANGE_PROC_LOCAL) return notify_here(std::move(event), std::move(done));
  const bool is_for_host = event.range == PMIX_RANGE_RM;
  events::stamp(event);
  auto message = link::EventMessage{event.code, event.source, event.range, {}};
  if (auto copy = data::Infos::copy_of(event.infos.data(), event.infos.size()))
    message.infos = std::move(*copy);
  // Our own handlers on our thread, in the order in which events are raised.
  auto shared = std::make_shared<events::Event>(std::move(event));
  if (!is_for_host) connection_.run_later([this, shared] { handlers_.deliver(std::move(*shared)); });
  connection_.request(
      MessageType::notify, link::encode(message),
      [done = std::move(done)](const Result<link::Frame>& answer) { done(status_in(answer)); });
}

void ServerEvents::deliver(const link::Frame& frame) {
  auto message = link::decode<link::EventMessage>(frame.payload);
  if (message)
    handlers_.deliver({message->code, message->source, message->range, std::move(message->infos),
                       std::nullopt, frame.payload.size()});
}

}  // namespace weft::client
