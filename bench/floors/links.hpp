// SPDX-License-Identifier: BSD-3-Clause
// Bare TCP between the daemons of a floor: a connection for each pair of hosts, without Nagle's algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

class Links {
 public:
  enum class Wait { read, epoll };
  /// Connects to the hosts before this one, accepts those after it. at: HOST of each; errors end the program.
  Links(const std::vector<std::string>& at, unsigned me, unsigned port, Wait wait);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  ~Links();

  void send(unsigned to, std::uint64_t word);
  /// Sleeps until the next word of that host has arrived.
  std::uint64_t receive(unsigned from);
  unsigned size() const { return static_cast<unsigned>(sockets_.size()); }

 private:
  void adopt(unsigned host, int socket);
  void collect();

  Wait wait_;
  int epoll_ = -1;
  std::vector<int> sockets_;
  std::vector<std::vector<std::uint64_t>> arrived_;  ///< words received and not taken yet
};

}  // namespace weft::bench
