// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

microseconds us(int count) {
  return microseconds(count);
}

/// Two nodes have begun the end of a group again without a node that is lost; the last one's only member dies
/// before it calls. Its node knew the group with the lost member alone, and took no part.
Schedule end_of_a_group_without_a_lost_node() {
  Schedule out;
  out.shape.nodes = 4;
  out.shape.ranks_a_node = 1;
  out.shape.network = usual_network();
  const std::vector<Rank> all{0, 1, 2, 3};
  out.operations = {
      {.kind = Kind::construct,
       .members = all,
       .pauses = {us(0), us(0), us(0), us(4654)},
       .group = "group",
       .adjusts = true},
      {.kind = Kind::fence_set, .members = all, .pauses = {us(0), us(0), us(2885), us(0)}},
      {.kind = Kind::destruct, .members = all, .pauses = {us(0), us(0), us(1795), us(0)}, .group = "group"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(6859)}, {Fault::Kind::process_ends, 2, us(8645)}};
  return out;
}

}  // namespace

std::vector<Found> found() {
  return {{"two ranks wait in the end of a group for ever", end_of_a_group_without_a_lost_node()}};
}

}  // namespace weft::schedules
