// SPDX-License-Identifier: BSD-3-Clause
// The largest power of two <= n takes part in the doubling. Among the first 2 * rest members each even member
// also acts for its odd neighbour: it takes the neighbour's block first, and sends it all blocks last.
#include <bit>

#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {
namespace {

/// The members that take part, renumbered: 0..power-1.
struct Players {
  std::uint32_t rest, power;

  Index member(std::uint32_t player) const { return Index(player < rest ? 2 * player : player + rest); }
  /// The first block of a player; the blocks of players first..last-1 are contiguous.
  std::uint32_t begin(std::uint32_t player) const { return player < rest ? 2 * player : player + rest; }
  Blocks blocks(std::uint32_t first, std::uint32_t count) const {
    return {Index(begin(first)), begin(first + count) - begin(first)};
  }
};

}  // namespace

Schedule recursive_doubling(std::uint32_t n, Index me) {
  Schedule schedule;
  const std::uint32_t power = std::bit_floor(n), rest = n - power, at = number(me);
  const Players players{rest, power};
  const bool stands_for_two = at < 2 * rest && at % 2 == 0;
  if (at < 2 * rest && at % 2 == 1) {
    const auto stand_in = Index(at - 1);
    schedule.push_back({.sends = {{stand_in, {me, 1}}}, .receives = {}});
    // All blocks but the member's own: around the circle from the block after it.
    schedule.push_back({.sends = {}, .receives = {{stand_in, {Index((at + 1) % n), n - 1}}}});
    return schedule;
  }
  if (stands_for_two) schedule.push_back({.sends = {}, .receives = {{Index(at + 1), {Index(at + 1), 1}}}});
  const std::uint32_t player = at < 2 * rest ? at / 2 : at - rest;
  for (std::uint32_t distance = 1; distance < power; distance *= 2) {
    const std::uint32_t mine = player & ~(distance - 1), other = player ^ distance;
    const Index peer = players.member(other);
    schedule.push_back({.sends = {{peer, players.blocks(mine, distance)}},
                        .receives = {{peer, players.blocks(other & ~(distance - 1), distance)}}});
  }
  if (stands_for_two) {
    const auto odd = Index(at + 1);
    schedule.push_back({.sends = {{odd, {Index((at + 2) % n), n - 1}}}, .receives = {}});
  }
  return schedule;
}

}  // namespace weft::collectives
