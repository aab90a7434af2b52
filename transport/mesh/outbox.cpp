// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/outbox.hpp"

#include <utility>

namespace weft::mesh {

struct Outbox::Message : Sending {
  Outbox* outbox = nullptr;
  NodeNumber to = 0;
  std::vector<std::byte> header, payload;
};

Outbox::Outbox(Mesh& mesh, std::uint16_t message_id, Keeps keeps)
    : mesh_(mesh), message_id_(message_id), keeps_(std::move(keeps)) {}

Outbox::~Outbox() = default;

void Outbox::send(NodeNumber to, Bytes header, std::vector<std::byte> payload) {
  if (is_closed_) return;
  auto message = std::make_unique<Message>();
  message->outbox = this;
  message->to = to;
  message->header.assign(header.begin(), header.end());
  message->payload = std::move(payload);
  message->done = [](Work& work, Result<void>) noexcept {
    // The watcher reports a lost node; no other failure can end a message.
    auto& sent = static_cast<Message&>(static_cast<Sending&>(work));
    sent.outbox->sending_.erase(&sent);
  };
  attempt(std::move(message));
}

void Outbox::attempt(std::unique_ptr<Message> message) {
  const auto sent = mesh_.send(message->to, message_id_, message->header, message->payload, *message);
  const auto* one = message.get();
  if (sent)
    sending_[one] = std::move(message);  // done() runs in the mesh's progress(), not before
  else if (sent.error().code == Errc::again || keeps_(message->to, message->header, sent.error()))
    waiting_.push_back(std::move(message));
}

void Outbox::retry() {
  for (auto count = waiting_.size(); count > 0; --count) {
    auto message = std::move(waiting_.front());
    waiting_.pop_front();
    attempt(std::move(message));
  }
}

void Outbox::close() noexcept {
  is_closed_ = true;
  waiting_.clear();
}

void Outbox::drop(NodeNumber to) {
  std::erase_if(waiting_, [&](const auto& message) { return message->to == to; });
}

}  // namespace weft::mesh
