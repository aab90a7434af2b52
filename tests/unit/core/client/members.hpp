// SPDX-License-Identifier: BSD-3-Clause
// A client's side of a board without a server process: the test holds the other end of the socket and plays
// the server.
#pragma once

#include <sys/socket.h>

#include <deque>
#include <functional>
#include <future>
#include <vector>

#include "core/client/fence/board_fence.hpp"
#include "core/link/messages.hpp"
#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::client {

/// One client: connection, control area, and the server's end of both.
struct Wired {
  Wired() : Wired(pair()) {}
  ~Wired() { connection.stop(); }  // its thread uses the rest
  /// The next frame that the client sent.
  link::Frame received() {
    auto frame = link::receive_frame(server.get());
    if (!frame) std::abort();
    return std::move(*frame);
  }
  template <class Message>
  void reply(const link::Frame& request, link::MessageType type, const Message& message) {
    if (!link::send_frame(server.get(), type, request.tag, link::encode(message))) std::abort();
  }
  std::vector<shm::Notice> notices() {
    std::vector<shm::Notice> out;
    ring.drain([&](const shm::Notice& notice) { out.push_back(notice); });
    return out;
  }
  std::shared_ptr<BoardFence> at(store::Board& board, std::uint32_t me, store::BoardNumber number = 7,
                                 store::Incarnation incarnation = 1) {
    return std::make_shared<BoardFence>(
        BoardFence::Place{&board, number, me, incarnation, board.open_generation()}, control, policy,
        connection);
  }

  shm::Fd server;
  Connection connection;
  shm::NoticeRing ring;
  shm::Doorbell doorbell;
  std::atomic<std::uint64_t> dirty{0};
  Control control;
  shm::WaitPolicy policy = shm::WaitPolicy::for_waiters(64, 2);

 private:
  explicit Wired(std::array<int, 2> ends) : server(ends[0]), connection(shm::Fd(ends[1])) {
    control.ring = &ring;
    control.doorbell = &doorbell;
    control.dirty = &dirty;
    control.dirty_bit = 4;
    control.connection = &connection;
  }
  static std::array<int, 2> pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    return ends;
  }
};

/// A status that a callback brings.
struct Later {
  std::function<void(pmix_status_t)> done() {
    return [this](pmix_status_t status) { promise.set_value(status); };
  }
  pmix_status_t get() { return promise.get_future().get(); }
  std::promise<pmix_status_t> promise;
};

}  // namespace weft::client
