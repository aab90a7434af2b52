// SPDX-License-Identifier: BSD-3-Clause
// One client's socket on the server's side. The loop thread only.
#pragma once

#include <poll.h>

#include <array>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/link/frame.hpp"
#include "core/store/layout.hpp"
#include "pmix_common.h"

namespace weft::server {

struct Job;

/// Asio may hand an event of a descriptor that was closed in the same round to the next one that is opened: a pidfd
/// that is said to be readable is asked before it is believed.
inline bool process_has_ended(int pidfd) {
  pollfd watch{pidfd, POLLIN, 0};
  return ::poll(&watch, 1, 0) == 1;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Socket = asio::local::stream_protocol::socket;
  struct Hooks {
    std::function<void(const std::shared_ptr<Session>&, link::Frame)> frame;
    std::function<void(const std::shared_ptr<Session>&)> closed;  ///< once, however it ended
  };

  Session(Socket socket, Hooks hooks)
      : socket_(std::move(socket)), pid_watch_(socket_.get_executor()), hooks_(std::move(hooks)) {}

  /// Starts reading. limits: nothing but hello, and no more than a page, before the client proved who it is.
  void start();
  /// The process behind the socket; also ends the session when the process ends while others hold the socket.
  Result<void> watch_process();
  void send(link::MessageType type, std::uint64_t tag, const std::vector<std::byte>& payload);
  void close();
  /// Closes once all is read that the process has written: its last words count, whoever ends the session.
  void close_after_last_words(std::function<void()> then = nullptr);
  /// The host accepts the process: its frames are read from here on, which wait until then.
  void admit();
  int native_handle() { return socket_.native_handle(); }

  // What the server knows about the client.
  bool greeted = false;
  bool is_tool = false;  ///< it looks on: a member of no job
  bool finalized = false;
  bool leaving = false;  ///< the host wants it gone: of what it still says only clean-up registrations count
  bool has_segment = false;
  bool attached = false;      ///< it found the segment by itself and waits for no welcome
  bool card_is_ours = false;  ///< the server writes its card
  pmix_proc_t proc{};
  Job* job = nullptr;
  std::uint32_t local = store::none;
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  bool wants_all_events = false;
  std::vector<pmix_status_t> wanted_events;

  /// A fence of the whole job that the server enters for a client without a segment.
  struct ProxyFence {
    store::Generation generation;
    std::uint64_t tag;
    bool collect = false;
    bool arrived = false;
    std::shared_ptr<asio::steady_timer> timer = nullptr;  ///< of its deadline, if it has one
  };
  std::deque<ProxyFence> proxy_fences;
  store::Generation proxy_next = 0;
  bool proxy_stale = false;  ///< proxy_next ran ahead of a broken board

 private:
  void wait_for_process();
  void read_header();
  void read_payload();
  void write_next();

  Socket socket_;
  asio::posix::stream_descriptor pid_watch_;
  Hooks hooks_;
  std::vector<std::function<void()>> when_closed_;
  link::FrameHeader header_{};
  link::Frame frame_{};
  std::deque<std::vector<std::byte>> outbox_;
  bool closed_ = false;
  bool admitted_ = false;
  bool in_hook_ = false;
};

}  // namespace weft::server
