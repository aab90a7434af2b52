// SPDX-License-Identifier: BSD-3-Clause
// Two processes find each other: a TCP connection beside the fabric, over which addresses and keys travel, and whose
// end tells the server that the client is done.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::bench {

class Meeting {
 public:
  /// Ends the program if nobody comes within the watchdog's time, or on any error. at: HOST:PORT.
  static Meeting await(const std::string& at);
  static Meeting join(const std::string& at);
  Meeting(Meeting&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  Meeting& operator=(Meeting&&) = delete;
  ~Meeting();

  void give(std::span<const std::byte> bytes);
  std::vector<std::byte> take();
  /// The other side has left. A system call.
  bool over() const noexcept;
  /// Readable when it is over, for a server that sleeps.
  int fd() const noexcept { return socket_; }

 private:
  explicit Meeting(int socket) noexcept : socket_(socket) {}
  int socket_;
};

}  // namespace weft::bench
