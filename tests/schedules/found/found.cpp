// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedules/found/found.hpp"

#include <iterator>
#include <numeric>

namespace weft::schedules {

Schedule on(std::uint32_t nodes, std::uint32_t ranks_a_node, std::uint64_t seed, std::uint64_t jitter) {
  Schedule out;
  out.shape.nodes = nodes;
  out.shape.ranks_a_node = ranks_a_node;
  out.shape.seed = seed;
  out.shape.network = usual_network();
  out.shape.network.jitter = jitter;
  return out;
}

std::vector<Rank> first(Rank count) {
  std::vector<Rank> out(count);
  std::iota(out.begin(), out.end(), Rank{0});
  return out;
}

std::vector<microseconds> pause(std::size_t count, std::size_t member, int of) {
  std::vector<microseconds> out(count);
  out.at(member) = us(of);
  return out;
}

std::vector<Found> found() {
  auto out = found_operations();
  for (auto* more :
       {&found_invitations, &found_changes, &found_leaves, &found_bootstraps, &found_names, &found_spawns})
    std::ranges::move(more(), std::back_inserter(out));
  return out;
}

}  // namespace weft::schedules
