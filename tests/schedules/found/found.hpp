// SPDX-License-Identifier: BSD-3-Clause
// Schedules that went wrong once, by what the processes did, and the words that they are written with.
#pragma once

#include <vector>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {

std::vector<Found> found_operations();
std::vector<Found> found_invitations();
std::vector<Found> found_changes();
std::vector<Found> found_leaves();
std::vector<Found> found_bootstraps();
std::vector<Found> found_names();
std::vector<Found> found_spawns();

inline microseconds us(int count) {
  return microseconds(count);
}
/// Nothing, on nodes with so many ranks. jitter: nanoseconds.
Schedule on(std::uint32_t nodes, std::uint32_t ranks_a_node,
            std::uint64_t seed = simulation::World::Shape().seed, std::uint64_t jitter = 0);
std::vector<Rank> first(Rank count);
/// The pause of that member, of so many.
std::vector<microseconds> pause(std::size_t count, std::size_t member, int of);

}  // namespace weft::schedules
