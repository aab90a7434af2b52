// SPDX-License-Identifier: BSD-3-Clause
// What processes have printed, on its way to the servers of all nodes: the host carries it, as long as it
// takes to each, in the order in which it was printed.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "core/server/loop/loop.hpp"
#include "simulation/places.hpp"

namespace weft::simulation {

class Printed {
 public:
  using TimePoint = server::Loop::TimePoint;
  struct Text {
    NodeNumber node = 0;  ///< to which it goes
    pmix_proc_t source{};
    std::vector<std::byte> bytes{};
  };

  Printed(NodeNumber nodes, std::uint64_t seed) : random_(seed), last_(nodes) {}

  void print(const std::vector<NodeNumber>& to, Text text, TimePoint now);
  /// When the next comes; max(): never.
  TimePoint next() const { return texts_.empty() ? TimePoint::max() : texts_.begin()->first; }
  /// The next that has come; nothing: none has.
  std::optional<Text> take(TimePoint now);
  /// The node does nothing until then.
  void put_off(Text text, TimePoint until);

 private:
  std::mt19937_64 random_;
  std::vector<TimePoint> last_;  ///< of each node: the last text
  std::multimap<TimePoint, Text> texts_;
};

}  // namespace weft::simulation
