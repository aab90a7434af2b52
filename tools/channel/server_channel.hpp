// SPDX-License-Identifier: BSD-3-Clause
// Messages between this server and the other servers of its launch, and word of servers that are lost. The
// messages travel as events of the PMIx library (docs/design/nodes.md).
#pragma once

#include <pmix_common.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/channel/protocol.hpp"
#include "tools/channel/replies.hpp"
#include "tools/host/server_identity.hpp"

namespace weft::channel {

class ServerChannel {
 public:
  /// On the loop. reply: the sender waits for it, no longer than this object exists.
  struct Events {
    std::function<void(std::uint32_t from, MessageType type, std::string bytes, Reply reply)> received;
    std::function<void(std::uint32_t node, std::string why)> lost;  ///< once a node
  };
  /// While the PMIx server runs. Throws Stop (own_failure).
  ServerChannel(asio::io_context& loop, const host::ServerIdentity& identity, Events events);
  ~ServerChannel();  ///< before the PMIx server's end
  ServerChannel(const ServerChannel&) = delete;
  ServerChannel& operator=(const ServerChannel&) = delete;

  /// The text that the other servers need to reach this one.
  const std::string& contact() const noexcept { return contact_; }
  const std::string& transport() const noexcept { return transport_; }
  /// The transport and the device that carries it: "ucx:^tcp over mlx5_0:1".
  const std::string& way() const noexcept { return way_; }

  /// done: on the loop, when messages can be sent to this server; false: the contact cannot be understood.
  void add_contact(const std::string& contact, std::function<void(bool)> done);

  /// done: on the loop. true: the handlers of all receivers have replied; false: a receiver cannot be
  /// reached, or refuses, which a server also does with all that it has not replied to at its end. Between
  /// two servers messages are received in the order in which they were sent.
  using Done = std::function<void(bool)>;
  void send(const std::vector<std::uint32_t>& to, MessageType type, const std::string& bytes, Done done = {});
  template <class Message>
  void send(const std::vector<std::uint32_t>& to, const Message& message, Done done = {}) {
    send(to, Message::type, encode(message), std::move(done));
  }

 private:
  friend struct ServerChannelUpcalls;
  void ask_contact();
  void listen(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler);

  asio::io_context& loop_;
  std::string nspace_;
  std::uint32_t number_;  ///< of this server
  Events events_;
  std::string contact_, transport_, way_;
  std::vector<std::size_t> handlers_;
  PendingReplies pending_replies_;
};

}  // namespace weft::channel
