// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::bench {

struct Options {
  std::vector<std::string> phases;  ///< empty: all
  bool json = false;
  bool list = false;
  std::vector<std::string> compared;                ///< two files of JSON lines; empty: measure
  unsigned repeats = 10;                            ///< of everything that needs fresh keys
  unsigned events = 10000;                          ///< in a row
  unsigned budget_ms = 300;                         ///< wall time of one repeated measurement
  std::vector<unsigned> card_bytes{64, 256, 4096};  ///< of the full fences
  unsigned get_bytes = 64;
  unsigned expected_ranks = 0;   ///< 0 = any
  unsigned expected_local = 0;   ///< of this node's ranks; 0 = any
  unsigned limit_s = 300;        ///< a watchdog ends the program after this
  int server_pid = 0;            ///< 0 = the parent
  std::int64_t launched_at = 0;  ///< CLOCK_MONOTONIC in ns when the launcher was started; 0 = unknown
  std::string commit;
};

/// nullopt: the command line was wrong or asked for help; `status` is what main returns then.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace weft::bench
