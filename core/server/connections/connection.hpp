// SPDX-License-Identifier: BSD-3-Clause
// The socket of one client or tool at its server, and what the server knows of the process behind it. The
// loop's thread only.
#pragma once

#include <poll.h>

#include <array>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/link/frame.hpp"
#include "core/server/connections/open_requests.hpp"
#include "core/server/connections/subscription.hpp"
#include "core/store/segment/layout.hpp"
#include "pmix_common.h"

namespace weft::server {

struct Job;

/// Asio may hand an event of a descriptor that was closed in the same round to the next one that is opened: a
/// pidfd that is said to be readable is asked before it is believed.
inline bool process_has_ended(int pidfd) {
  pollfd watch{pidfd, POLLIN, 0};
  return ::poll(&watch, 1, 0) == 1;
}

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  using Socket = asio::local::stream_protocol::socket;
  /// The owner of the connections, which outlives them.
  class Owner {
   public:
    virtual void on_frame(const std::shared_ptr<ClientConnection>& from, link::Frame frame) = 0;
    /// Once a connection, however it ended.
    virtual void on_closed(const std::shared_ptr<ClientConnection>& connection) = 0;

   protected:
    ~Owner() = default;
  };

  ClientConnection(Socket socket, Owner& owner)
      : socket_(std::move(socket)),
        pid_watch_(socket_.get_executor()),
        hello_limit_(socket_.get_executor()),
        write_limit_(socket_.get_executor()),
        owner_(owner) {}

  /// Starts reading: one hello of at most a page, and nothing else until the client has proved its identity.
  /// Without one it closes after `patience`.
  void start(std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// The process behind the socket; also ends the connection when the process ends while others hold the
  /// socket.
  Result<void> watch_process();
  void send(link::MessageType type, std::uint64_t tag, const std::vector<std::byte>& payload);
  /// Bytes that wait for a client which does not read. Beyond, events to it are dropped, and no request of it
  /// is read until half of that has gone.
  static constexpr std::size_t most_waiting = std::size_t{64} << 20;
  /// Not a reply: dropped beyond most_waiting. The first time that is said in the log.
  void send_push(link::MessageType type, const std::vector<std::byte>& payload) {
    send_push(type, payload, nullptr);
  }
  /// sent: true: it is in the socket; false: dropped, or the connection has ended. Once, perhaps at once.
  using Sent = std::function<void(bool is_sent)>;
  void send_push(link::MessageType type, const std::vector<std::byte>& payload, Sent sent);
  void send_event(const std::vector<std::byte>& payload) { send_push(link::MessageType::event, payload); }
  /// The reply to a request that carries nothing but how it ended.
  void reply(std::uint64_t tag, pmix_status_t status);
  void close();
  /// Closes when all is read that the process has written, then calls `then`.
  void close_when_drained(std::function<void()> then = nullptr);
  /// Closes at the server's end, and not before what was sent to the process is in its socket, or `patience`
  /// has passed.
  void close_when_exchanged(std::chrono::milliseconds patience = std::chrono::seconds(1));
  /// The host accepts the process: its frames, which wait in the socket until now, are read from here on.
  void admit();
  int native_handle() { return socket_.native_handle(); }
  /// The process has written or closed, and that was not read yet.
  bool has_unread_bytes();

  // The server's knowledge about the client.
  bool is_known = false;  ///< its hello was accepted
  bool is_tool = false;   ///< a member of no job
  bool finalized = false;
  bool leaving = false;  ///< the host ends it: of its frames only orders of clean-up count
  bool has_segment = false;
  bool attached = false;      ///< it found the segment by itself
  bool card_is_ours = false;  ///< the server writes its card
  pmix_proc_t proc{};
  Job* job = nullptr;
  std::uint32_t local = store::none;
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  Subscription subscription;
  OpenRequests requests;           ///< taken at the dispatch, given back with the reply
  bool was_told_of_limit = false;  ///< the log has said that it asks for too much at a time

 private:
  void wait_for_process();
  void read_next();
  void read_header();
  void read_payload();
  void read_rest(std::size_t bytes);
  void hand_over();
  bool guarded(const std::function<void()>& work);
  void send_frame(std::vector<std::byte> frame, Sent sent);
  void write_next();
  void on_written();
  void on_read_end();

  Socket socket_;
  asio::posix::stream_descriptor pid_watch_;
  asio::steady_timer hello_limit_, write_limit_;
  Owner& owner_;
  std::vector<std::function<void()>> when_closed_;
  std::array<std::byte, link::frame_header_bytes> front_{};
  link::Frame frame_{};
  struct Outgoing {
    std::vector<std::byte> frame;
    Sent sent;
  };
  std::deque<Outgoing> outbox_;
  std::size_t outbox_bytes_ = 0;
  bool has_dropped_ = false;  ///< since its outbox was last empty
  bool is_held_ = false;      ///< its requests wait until it has read replies
  bool is_ending_ = false;
  bool writes_rest_ = false;  ///< what is in the outbox goes out before the end
  bool has_read_all_ = false;
  bool closed_ = false;
  bool admitted_ = false;
  bool in_owner_ = false;
};

}  // namespace weft::server
