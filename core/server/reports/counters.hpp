// SPDX-License-Identifier: BSD-3-Clause
// All figures that a server reports of itself: one list, made of the tables of the rooms. Each server of a
// release has the same list, in the same order. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/server/counter.hpp"

namespace weft::server {

class CardExchange;
class Cluster;
class Fences;
class Modex;
class Published;

/// Null: a server without a way to other nodes has nothing to count there, and its counters stand at 0.
struct CountedRooms {
  Fences* fences = nullptr;
  CardExchange* exchange = nullptr;
  Modex* modex = nullptr;
  Cluster* cluster = nullptr;
  Published* published = nullptr;
};

struct Count {
  const char* name;
  const char* text;
  std::uint64_t value;
  Measure measure;
};

std::vector<Count> counts_of(const CountedRooms& rooms);
std::size_t count_of_counters() noexcept;

}  // namespace weft::server
