// SPDX-License-Identifier: BSD-3-Clause
// What processes have printed, on its way to the servers of all nodes: the host carries it, as long as it
// takes to each, in the order in which it was printed.
#pragma once

#include <random>
#include <vector>

#include "simulation/mail.hpp"

namespace weft::simulation {

class Printed {
 public:
  struct Text {
    NodeNumber node = 0;  ///< to which it goes
    pmix_proc_t source{};
    std::vector<std::byte> bytes{};
  };

  Printed(NodeNumber nodes, std::uint64_t seed) : random_(seed), texts_(nodes) {}

  void print(const std::vector<NodeNumber>& to, Text text, Mail<Text>::TimePoint now) {
    for (const auto node : to) {
      text.node = node;
      texts_.send(text, std::chrono::microseconds(random_() % (random_() % 8 == 0 ? 3000 : 60)), now);
    }
  }
  Mail<Text>& texts() noexcept { return texts_; }

 private:
  std::mt19937_64 random_;
  Mail<Text> texts_;
};

}  // namespace weft::simulation
