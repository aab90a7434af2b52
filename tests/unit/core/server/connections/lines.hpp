// SPDX-License-Identifier: BSD-3-Clause
// Connections of a server without a process at their other end: that end is the test's, which writes and
// reads frames.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/link/messages.hpp"
#include "core/server/connections/connection.hpp"

namespace weft::server {

/// An owner that keeps what connections tell it.
struct KeepingOwner final : ClientConnection::Owner {
  void on_frame(const std::shared_ptr<ClientConnection>&, link::Frame frame) override {
    frames.push_back(std::move(frame));
  }
  void on_closed(const std::shared_ptr<ClientConnection>&) override { ++closed; }
  std::vector<link::Frame> frames;
  int closed = 0;
};

/// A connection, and its other end.
struct Line {
  Line(asio::io_context& loop, ClientConnection::Owner& owner) : loop_(&loop) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    other = shm::Fd(ends[1]);
    connection = std::make_shared<ClientConnection>(
        ClientConnection::Socket(loop, asio::local::stream_protocol(), ends[0]), owner);
  }
  void turn() const {
    loop_->restart();
    loop_->poll();
  }
  void write(link::MessageType type, std::uint64_t tag, const std::vector<std::byte>& payload) const {
    EXPECT_TRUE(link::send_frame(other.get(), type, tag, payload));
    turn();
  }
  /// The next frame that the server has sent; nothing: there is none.
  std::optional<link::Frame> read() const {
    turn();
    pollfd watch{other.get(), POLLIN, 0};
    if (::poll(&watch, 1, 0) != 1) return std::nullopt;
    std::array<shm::Fd, link::welcome_fds> fds;
    auto frame = link::receive_frame(other.get(), &fds);
    return frame ? std::optional(std::move(*frame)) : std::nullopt;
  }
  /// The status of the next frame, which is a reply to that tag.
  pmix_status_t reply_to(std::uint64_t tag) const {
    const auto frame = read();
    if (!frame || frame->type != link::MessageType::done || frame->tag != tag) return PMIX_ERROR;
    const auto done = link::decode<link::Done>(frame->payload);
    return done ? done->status : PMIX_ERROR;
  }

  shm::Fd other;
  std::shared_ptr<ClientConnection> connection;

 private:
  asio::io_context* loop_;
};

}  // namespace weft::server
