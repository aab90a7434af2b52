// SPDX-License-Identifier: BSD-3-Clause
// When a server has handled a message. A processor does one thing at a time, in the order of the calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/sim/wires.hpp"

namespace weft::simulation {

/// What a server does with each message, as its sender and as its receiver: seals or opens it, packs or
/// unpacks it.
struct ServerCost {
  sim::Time message = 0;    ///< ns
  double byte = 0;          ///< ns
  /// ns until a process that has something to do comes to a core, where more of them than there are cores
  /// look for something to do: of a server for each message and for the begin, of a rank for the end.
  sim::Time turn = 0;
  std::uint32_t cores = 0;  ///< that the servers of all nodes share; 0: each server has one to itself

  bool is_free() const noexcept { return message == 0 && byte == 0 && turn == 0; }
  sim::Time of(std::uint64_t messages, std::uint64_t bytes) const noexcept {
    return message * static_cast<sim::Time>(messages) +
           static_cast<sim::Time>(byte * static_cast<double>(bytes));
  }
};

class Processors {
 public:
  Processors(const ServerCost& cost, std::uint32_t servers)
      : is_shared_(cost.cores != 0), free_at_(is_shared_ ? cost.cores : servers) {}

  /// Work of that length that can begin at `from`. Returns when it ends.
  sim::Time work(std::uint32_t server, sim::Time from, sim::Time length) {
    auto& free_at = is_shared_ ? *std::min_element(free_at_.begin(), free_at_.end()) : free_at_[server];
    return free_at = std::max(from, free_at) + length;
  }

 private:
  bool is_shared_;
  std::vector<sim::Time> free_at_;
};

}  // namespace weft::simulation
