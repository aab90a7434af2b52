// SPDX-License-Identifier: BSD-3-Clause
// A TCP connection between the two processes of a pair, beside the fabric. The channel carries addresses and
// keys, and its end tells the server that the client has finished.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::bench {

class SideChannel {
 public:
  /// Both functions end the program on any error, or when the watchdog's time has passed. at: HOST:PORT.
  static SideChannel accept(const std::string& at);
  static SideChannel connect(const std::string& at);
  SideChannel(SideChannel&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  SideChannel& operator=(SideChannel&&) = delete;
  ~SideChannel();

  void send(std::span<const std::byte> bytes);
  std::vector<std::byte> receive();
  /// The other side has ended. A system call.
  bool is_closed() const noexcept;
  /// Readable when the channel is closed, for a server that sleeps.
  int fd() const noexcept { return socket_; }

 private:
  explicit SideChannel(int socket) noexcept : socket_(socket) {}
  int socket_;
};

}  // namespace weft::bench
