// SPDX-License-Identifier: BSD-3-Clause
// What weftsim is asked about, and what it says of each operation of a job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/choice.hpp"
#include "tools/weftsim/networks.hpp"

namespace weft::weftsim {

inline constexpr std::array<std::string_view, 7> operation_names{
    "launch", "init", "barrier", "full_fence", "first_touch", "group", "loss"};

struct Loss {
  std::uint32_t node = 0;
  Time at = 0;
};

struct Job {
  std::uint32_t nodes = 1, ranks_a_node = 1;
  std::uint64_t card_bytes = 64;  ///< that a rank gives to a full fence
  std::uint32_t touched = 4;      ///< peers of other nodes whose cards a rank gets after a sparse fence
  Network network{};
  NodeFigures node = node_figures();
  std::optional<collectives::Choice> collective{};
  std::optional<Loss> lost{};
  Time skew = 0;  ///< nodes begin so much later at most
  std::uint64_t seed = 1;
  bool wires_only = false;

  std::uint64_t ranks() const noexcept { return std::uint64_t{nodes} * ranks_a_node; }
};

struct Part {
  std::string what;
  Time time = 0;
};

struct Operation {
  std::string name, algorithm;
  Time time = 0;                                    ///< from the first beginning to the last end
  std::vector<Part> parts{};                        ///< of the time
  std::uint64_t messages = 0, bytes = 0;            ///< of all nodes
  std::uint64_t most_messages = 0, most_bytes = 0;  ///< that one node sends
  std::uint64_t memory = 0;  ///< bytes that a node needs for it, at most, beside what the job has
  std::vector<simulation::Hop> path{};
  Time path_begun = 0;
  std::optional<Time> line_rate{};  ///< what the bytes take at the rate of the wire
  std::uint32_t waiting = 0;        ///< nodes that a lost node has left waiting
  std::string note{};
};

}  // namespace weft::weftsim
