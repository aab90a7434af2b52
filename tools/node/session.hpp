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

#include "tools/node/answers.hpp"
#include "tools/node/protocol.hpp"

namespace weft::node {

/// What PMIx_server_init is told. One server: no fabric, and the rest is not looked at.
struct SessionIdentity {
  std::string nspace;
  std::uint32_t number = 0;
  std::uint32_t servers = 1;
  std::string host;
  std::string key;        ///< 32 bytes
  std::string transport;  ///< empty: the library's choice
  std::string contact;    ///< of the launcher, for a daemon
};

class Session {
 public:
  /// On the loop. answer: the sender waits for it, no longer than this object lives.
  using Answer = node::Answer;
  struct Events {
    std::function<void(std::uint32_t from, Subject subject, std::string bytes, Answer answer)> received;
    std::function<void(std::uint32_t node, std::string why)> lost;  ///< once a node
  };
  /// When the PMIx server runs. Throws Stop (own_failure).
  Session(asio::io_context& loop, const SessionIdentity& identity, Events events);
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

}  // namespace weft::node
