// SPDX-License-Identifier: BSD-3-Clause
// The command line of all programs that measure two processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::bench {

struct PairOptions {
  enum class Mode { rtt, get, bandwidth, connect };
  enum class Wait { poll, sleep };
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  bool serve = false;
  std::string at = "localhost:7471";  ///< HOST:PORT of the server's side channel
  std::string transport;
  bool tells_of_loss = false;          ///< UCX: connections that end with their peer, as Weft's do
  std::vector<Mode> modes{Mode::rtt};  ///< connect cannot be combined
  Wait wait = Wait::poll;
  std::vector<std::size_t> bytes{64};
  std::size_t memory_bytes = most_bytes;  ///< of the memory that the client reads
  unsigned budget_ms = 300;               ///< wall time of one measurement
  unsigned pause_ms = 0;                  ///< before each operation of modes rtt and get
  unsigned limit_s = 60;                  ///< a watchdog ends the program after this time
  int core = -1;                          ///< -1: the client the first that it may use, the server the last
  bool unbound = false;                   ///< not bound to a core
  bool json = false;
  std::string commit;
};

inline bool only_connects(const PairOptions& o) {
  return o.modes == std::vector{PairOptions::Mode::connect};
}

/// nullopt: the command line was wrong or requested help; main returns `status`.
std::optional<PairOptions> parse_pair_options(int argc, char** argv, const char* about, int& status);

/// Binds this process to the core that the options name, if any, and starts the watchdog.
void settle(const PairOptions& options);

}  // namespace weft::bench
