// SPDX-License-Identifier: BSD-3-Clause
// This server among those of the launch: where they are, what they say to each other, which are lost. Over the PMIx
// library's events between servers (docs/design/nodes.md).
#pragma once

#include <pmix_common.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/channel/answers.hpp"
#include "tools/channel/protocol.hpp"
#include "tools/host/server_identity.hpp"

namespace weft::channel {

class Session {
 public:
  /// On the loop. answer: the sender waits for it, no longer than this object lives.
  using Answer = channel::Answer;
  struct Events {
    std::function<void(std::uint32_t from, Subject subject, std::string bytes, Answer answer)> received;
    std::function<void(std::uint32_t node, std::string why)> lost;  ///< once a node
  };
  /// When the PMIx server runs. Throws Stop (own_failure).
  Session(asio::io_context& loop, const host::SessionIdentity& identity, Events events);
  ~Session();  ///< before the PMIx server's end
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Where this server is, for the others.
  const std::string& contact() const noexcept { return contact_; }
  const std::string& transport() const noexcept { return transport_; }

  /// done: on the loop, when they can be spoken to. false: they were not understood.
  void deliver(const std::vector<std::string>& contacts, std::function<void(bool)> done);

  /// done: on the loop. true: the handlers of all of them have answered; false: one of them cannot be reached. Between
  /// two servers messages are received in the order in which they were sent.
  using Done = std::function<void(bool)>;
  void send(const std::vector<std::uint32_t>& to, Subject subject, const std::string& bytes, Done done = {});
  template <class Message>
  void send(const std::vector<std::uint32_t>& to, const Message& message, Done done = {}) {
    send(to, Message::subject, encode(message), std::move(done));
  }

 private:
  friend struct SessionUpcalls;
  void learn_contact();
  void listen(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler);

  asio::io_context& loop_;
  std::string nspace_;
  Events events_;
  std::string contact_, transport_;
  std::vector<std::size_t> handlers_;
  Answers answers_;
};

}  // namespace weft::channel
