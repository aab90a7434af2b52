// SPDX-License-Identifier: BSD-3-Clause
// Events between this process and the others of its node.
#include "core/client/client.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

using link::MessageType;

void Client::open_events() {
  events_ = std::make_unique<events::Registry>(events::Identity{self_, {}});
  events_->run_later_by([this](std::function<void()> task) { connection_->run_later(std::move(task)); });
  server_events_.emplace(*connection_, *events_);
  if (singleton_) return;
  events_->on_removed([this](std::size_t handler) {
    connection_->run_later([this, handler] { server_events_->unsubscribe(handler); });
  });
}

void Client::on_push(link::Frame frame) {
  if (frame.type == MessageType::board_moved) {
    const auto moved = link::decode<link::BoardMoved>(frame.payload);
    if (moved) fences_->board_moved(moved->board);
  } else if (frame.type == MessageType::output) {
    if (auto output = link::decode<link::Output>(frame.payload)) outputs_.deliver(std::move(*output));
  } else if (frame.type == MessageType::event) {
    server_events_->deliver(frame);
  } else if (frame.type == MessageType::group_question) {
    server_events_->answer(frame);
  } else if (frame.type == MessageType::group_change) {
    if (auto change = link::decode<link::GroupChange>(frame.payload)) groups_.take(std::move(*change));
  }
}

void Client::on_lost() {
  fences_->server_lost();
  events_->deliver({PMIX_ERR_LOST_CONNECTION, server_, PMIX_RANGE_PROC_LOCAL, {}});
}

void Client::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, ServerEvents::Done done) {
  if (singleton_) return connection_->run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  server_events_->subscribe(handler, std::move(codes), std::move(done));
}

void Client::notify(events::Event event, std::function<void(pmix_status_t)> done) {
  if (!singleton_) return server_events_->notify(std::move(event), std::move(done));
  if (event.range == PMIX_RANGE_RM)
    return connection_->run_later([done = std::move(done)] { done(PMIX_ERR_UNREACH); });
  server_events_->notify_here(std::move(event), std::move(done));
}

}  // namespace weft::client
