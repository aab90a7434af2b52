// SPDX-License-Identifier: BSD-3-Clause
// Events between this process and the others of its node.
#include <algorithm>

#include "core/client/client.hpp"
#include "core/link/messages.hpp"

namespace weft::client {

using link::MessageType;

void Client::on_push(link::Frame frame) {
  if (frame.type == MessageType::board_moved) {
    const auto moved = link::decode<link::BoardMoved>(frame.payload);
    if (moved) fences_->board_moved(moved->board);
  } else if (frame.type == MessageType::output) {
    if (const auto output = link::decode<link::Output>(frame.payload)) outputs_.deliver(*output);
  } else if (frame.type == MessageType::event) {
    auto message = link::decode<link::EventMessage>(frame.payload);
    if (message)
      events_->deliver({message->code, message->source, message->range, std::move(message->infos),
                        std::nullopt, frame.payload.size()});
  }
}

void Client::on_lost() {
  fences_->server_lost();
  events_->deliver({PMIX_ERR_LOST_CONNECTION, server_, PMIX_RANGE_PROC_LOCAL, {}});
}

/// A default handler is no reason to leave out a code: events may be for those alone that name it.
bool Client::has_subscribed(const std::vector<pmix_status_t>& codes) {
  const std::lock_guard lock(subscribed_mutex_);
  if (codes.empty()) return subscribed_all_;
  return std::all_of(codes.begin(), codes.end(),
                     [&](pmix_status_t code) { return subscribed_.count(code) != 0; });
}

void Client::subscribe(std::vector<pmix_status_t> codes, std::function<void(pmix_status_t)> done) {
  if (singleton_ || has_subscribed(codes))
    return connection_->run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  const auto message = link::encode(link::Subscribe{codes});
  connection_->request(MessageType::subscribe, message,
                       [this, codes = std::move(codes), done = std::move(done)](Result<link::Frame> answer) {
                         const auto ended =
                             answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
                         const auto status = ended ? ended->status : PMIX_ERR_LOST_CONNECTION;
                         if (status == PMIX_SUCCESS) {
                           const std::lock_guard lock(subscribed_mutex_);
                           subscribed_all_ |= codes.empty();
                           subscribed_.insert(codes.begin(), codes.end());
                         }
                         done(status);
                       });
}

void Client::notify(events::Event event, std::function<void(pmix_status_t)> done) {
  const bool stays = singleton_ || event.range == PMIX_RANGE_PROC_LOCAL;
  const bool is_for_host = event.range == PMIX_RANGE_RM;
  if (singleton_ && is_for_host)
    return connection_->run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
  events::stamp(event);
  auto message = link::EventMessage{event.code, event.source, event.range, {}};
  if (!stays)
    if (auto copy = data::Infos::copy_of(event.infos.data(), event.infos.size()))
      message.infos = std::move(*copy);
  // Our own handlers on our thread, in the order in which events are raised.
  auto shared = std::make_shared<events::Event>(std::move(event));
  if (!is_for_host) connection_->run_later([this, shared] { events_->deliver(std::move(*shared)); });
  if (stays) return connection_->run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  connection_->request(
      MessageType::notify, link::encode(message), [done = std::move(done)](Result<link::Frame> answer) {
        const auto status = answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
        done(status ? status->status : PMIX_ERR_LOST_CONNECTION);
      });
}

}  // namespace weft::client
