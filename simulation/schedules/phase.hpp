// SPDX-License-Identifier: BSD-3-Clause
// A collective as one schedule after the other, each with what its messages carry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/message.hpp"
#include "collectives/rule.hpp"

namespace weft::simulation {

/// One schedule of all members.
struct Phase {
  std::string algorithm;
  std::function<collectives::Schedule(collectives::Index me)> schedule;
  /// The schedule of member i is that of member 0, every index moved on by i around the circle.
  bool is_rotation = false;
  std::uint64_t message_bytes = 0;  ///< of each message, without its blocks
  std::uint64_t block_bytes = 0;    ///< of each block of a message
};

/// A collective as the servers' engine runs it.
struct Collective {
  std::uint32_t members = 1;
  collectives::Kind kind = collectives::Kind::barrier;
  std::uint64_t bytes = 0;  ///< that each member contributes
  collectives::Rule rule{};
  /// What all contribute together at most where all of it goes at once: that of the servers
  /// (core/server/cluster/cluster.cpp).
  std::uint64_t most_in_all = 256u << 10;
};

/// Of an exchange of more than goes at once: one phase for the lengths, one for the bytes.
std::vector<Phase> phases_of(const Collective& collective);

/// A member passes on to its children, arity of them, what it has from its parent; member 0 has it.
Phase broadcast(std::uint32_t members, std::uint32_t arity, std::uint64_t bytes);

}  // namespace weft::simulation
