// SPDX-License-Identifier: BSD-3-Clause
// What the servers' cost model chooses on the networks of weftsim, against what takes the least time there.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "simulation/schedules/model.hpp"
#include "simulation/schedules/phase.hpp"
#include "tools/weftsim/networks.hpp"

namespace weft::weftsim {
namespace {

using collectives::Choice;
using collectives::Kind;
using collectives::Rule;

struct Cell {
  std::uint32_t n;
  std::uint64_t bytes;  ///< of each member; a barrier: 0
};

/// Of the whole operation, as the servers run it.
double time_of(const Rule& rule, const Cell& cell, const simulation::Costs& costs) {
  const auto run = simulation::run_collective(
      cell.n,
      simulation::phases_of({.members = cell.n,
                             .kind = cell.bytes == 0 ? Kind::barrier : Kind::exchange,
                             .bytes = cell.bytes,
                             .rule = rule}),
      costs);
  return static_cast<double>(run->last);
}

std::vector<Cell> cells() {
  std::vector<Cell> out;
  for (const std::uint32_t n : {3u, 4u, 6u, 8u, 12u, 16u, 31u, 64u, 128u})
    for (const std::uint64_t bytes : {0u, 64u, 1024u, 4096u, 16384u, 65536u, 262144u, 1048576u})
      if (n * bytes <= (std::uint64_t{64} << 20)) out.push_back({n, bytes});
  return out;
}

TEST(Choice, is_within_a_tenth_of_the_best_in_nine_of_ten_cells) {
  std::size_t good = 0, all = 0;
  std::string bad;
  for (const auto& network : networks()) {
    for (const auto& cell : cells()) {
      const auto costs = costs_of(network, 2 * cell.n, false);  // a server and a rank each
      const Rule rule({}, simulation::model_of(costs));
      const bool is_barrier = cell.bytes == 0;
      const auto took = time_of(rule, cell, costs);
      auto least = took;
      std::string best;
      for (const auto& other : is_barrier ? Rule::barriers() : Rule::exchanges())
        if (const auto time = time_of(Rule(other), cell, costs); time < least) {
          least = time;
          best = to_text(other);
        }
      ++all;
      if (took <= 1.1 * least)
        ++good;
      else
        bad += std::string(network.name) + " " + std::to_string(cell.n) + " x " + std::to_string(cell.bytes) +
               ": " + std::to_string(took / least) + " of " + best + "\n";
    }
  }
  RecordProperty("good", static_cast<int>(good));
  RecordProperty("all", static_cast<int>(all));
  EXPECT_GE(10 * good, 9 * all) << good << " of " << all << "\n" << bad;
}

}  // namespace
}  // namespace weft::weftsim
