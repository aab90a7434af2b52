// SPDX-License-Identifier: BSD-3-Clause
// Bare TCP between the daemons of a floor: a connection for each two hosts, without Nagle's algorithm.
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
  /// Sleeps until that host's next word is here.
  std::uint64_t receive(unsigned from);
  unsigned size() const { return static_cast<unsigned>(sockets_.size()); }

 private:
  void adopt(unsigned host, int socket);
  void collect();

  Wait wait_;
  int epoll_ = -1;
  std::vector<int> sockets_;
  std::vector<std::vector<std::uint64_t>> arrived_;  ///< epoll only: words that nobody has asked for yet
};

}  // namespace weft::bench
