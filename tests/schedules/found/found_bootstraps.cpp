// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

/// A member calls before its leader, and gives up; then the leader learns that another member is lost.
Schedule leader_that_comes_after_a_member_has_given_up() {
  auto out = on(4, 2, 15536);
  out.operations = {
      {.kind = Kind::fence_set, .members = {0, 1, 3, 4, 5, 6}, .pauses = pause(6, 4, 4105), .collects = true},
      {.kind = Kind::construct,
       .members = {0, 1, 5, 6, 7},
       .pauses = std::vector<microseconds>(5),
       .group = "group1",
       .asks = true,
       .differs = true,
       .leaders = 1,
       .timeout = 1}};
  out.faults = {{Fault::Kind::node_lost, 2, us(2813)}};
  return out;
}

/// The same, where another leader would have named that member, and is lost.
Schedule leader_that_does_not_know_who_has_given_up() {
  auto out = on(4, 2, 15959, 5000);
  const std::vector<Rank> others{0, 1, 2, 4, 6, 7};
  out.operations = {
      {.kind = Kind::construct,
       .members = others,
       .pauses = pause(6, 5, 2321),
       .group = "group0",
       .differs = true},
      {.kind = Kind::fence_group, .members = others, .pauses = pause(6, 0, 10), .group = "group0"},
      {.kind = Kind::construct,
       .members = {0, 2, 3, 5, 6},
       .pauses = std::vector<microseconds>(5),
       .group = "group1",
       .adjusts = true,
       .asks = true,
       .leaders = 2,
       .timeout = 1}};
  out.faults = {{Fault::Kind::node_lost, 1, us(268)}, {Fault::Kind::node_lost, 3, us(2097)}};
  return out;
}

/// A member that has called ends, and the leader is lost, which alone knew that both are members.
Schedule member_that_ends_before_its_leader_calls() {
  auto out = on(2, 3, 11837);
  out.operations = {{.kind = Kind::get, .members = {3}, .pauses = {us(0)}, .target = 0},
                    {.kind = Kind::construct,
                     .members = {0, 2, 3, 4, 5},
                     .pauses = pause(5, 2, 53),
                     .group = "group0",
                     .differs = true,
                     .leaders = 1,
                     .timeout = 3}};
  out.faults = {{Fault::Kind::node_lost, 0, us(4)}, {Fault::Kind::process_ends, 4, us(61)}};
  out.finalizes = true;
  return out;
}

/// The leader ends, then the server at which it has called; a member that it has named calls after that.
Schedule member_that_comes_after_its_leader_and_the_server() {
  auto out = on(2, 3, 9787, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = first(6),
                     .pauses = pause(6, 3, 1996),
                     .group = "group0",
                     .adjusts = true,
                     .leaders = 1,
                     .timeout = 3}};
  out.faults = {{Fault::Kind::process_ends, 0, us(405)}, {Fault::Kind::node_lost, 0, us(1965)}};
  return out;
}

/// The time-out of one caller passes when the others have had the last message of the construct.
Schedule late_and_made() {
  auto out = on(5, 2, 505070891, 200000);
  out.operations = {
      {.kind = Kind::fence_set, .members = {3, 4, 5}, .pauses = {us(0), us(0), us(0)}},
      {.kind = Kind::invite,
       .members = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
       .pauses = {us(0), us(0), us(0), us(0), us(0), us(37), us(0), us(58), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 8,
       .answers = {Answer::declines, Answer::accepts, Answer::accepts, Answer::accepts, Answer::accepts,
                   Answer::accepts, Answer::accepts, Answer::accepts, Answer::declines, Answer::none},
       .decides = true,
       .timeout = 2},
      {.kind = Kind::construct,
       .members = {0, 4},
       .pauses = {us(14), us(0)},
       .group = "group1",
       .leaders = 1,
       .timeout = 2}};
  out.faults = {{Fault::Kind::node_lost, 1, us(176)}};
  out.finalizes = true;
  return out;
}

/// As before, and members end then.
Schedule late_and_a_member_ends() {
  auto out = on(3, 2, 508082014, 5000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {0, 2, 3, 4, 5},
       .pauses = {us(0), us(0), us(0), us(0), us(0)},
       .group = "group0",
       .target = 0,
       .answers = {Answer::accepts, Answer::accepts, Answer::accepts, Answer::accepts, Answer::none},
       .elects = true,
       .timeout = 2},
      {.kind = Kind::destruct,
       .members = {0, 2, 3, 4, 5},
       .pauses = {us(0), us(39), us(0), us(0), us(0)},
       .group = "group0"},
      {.kind = Kind::construct,
       .members = {1, 2},
       .pauses = {us(52), us(0)},
       .group = "group1",
       .leaders = 1,
       .timeout = 2},
      {.kind = Kind::destruct, .members = {1, 2}, .pauses = {us(0), us(0)}, .group = "group1"}};
  out.faults = {{Fault::Kind::process_ends, 0, us(305)}};
  return out;
}

}  // namespace

std::vector<Found> found_bootstraps() {
  return {{"a bootstrap fails for two reasons", leader_that_comes_after_a_member_has_given_up()},
          {"it does so where a leader is lost", leader_that_does_not_know_who_has_given_up()},
          {"a member that ends takes some along", member_that_ends_before_its_leader_calls()},
          {"a member that comes late waits alone", member_that_comes_after_its_leader_and_the_server()},
          {"a time-out ends alone what others have made", late_and_made()},
          {"an end is waited for by those that were late", late_and_a_member_ends()}};
}

}  // namespace weft::schedules
