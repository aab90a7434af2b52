// SPDX-License-Identifier: BSD-3-Clause
// Groups that processes join while others are in their fences and ends.
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

/// A process joins a group on a node that is in the group's end for a member that has died.
Schedule join_where_a_node_takes_part_for_the_dead() {
  auto out = on(5, 2, 215030092, 5000);
  const auto all = first(10);
  const std::vector<microseconds> none(10);
  out.operations = {
      {.kind = Kind::construct,
       .members = {0, 2, 5, 6, 8, 9},
       .pauses = std::vector<microseconds>(6),
       .group = "group0",
       .adjusts = true,
       .asks = true},
      {.kind = Kind::fence_set, .members = {0, 2, 4, 7, 8, 9}, .pauses = pause(6, 5, 1323), .collects = true},
      {.kind = Kind::invite,
       .members = all,
       .pauses = none,
       .group = "group0",
       .adjusts = true,
       .target = 0,
       .answers = std::vector<Answer>(10, Answer::accepts)},
      {.kind = Kind::destruct, .members = all, .pauses = none, .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 2, us(1061)}, {Fault::Kind::node_lost, 2, us(1977)}};
  return out;
}

/// A process joins and its node is lost: the fence with it fails at one node, and another is in one without.
Schedule fence_while_a_process_joins_and_is_lost() {
  auto out = on(3, 1, 210016369);
  const auto all = first(3);
  const std::vector<microseconds> none(3);
  out.operations = {
      {.kind = Kind::fence_job, .members = all, .pauses = pause(3, 1, 44)},
      {.kind = Kind::invite,
       .members = all,
       .pauses = pause(3, 2, 23),
       .group = "group0",
       .adjusts = true,
       .target = 1,
       .answers = std::vector<Answer>(3, Answer::accepts),
       .is_optional = true,
       .decides = true,
       .elects = true},
      {.kind = Kind::fence_job, .members = all, .pauses = none, .collects = true},
      {.kind = Kind::construct, .members = {1, 2}, .pauses = {us(33), us(0)}, .group = "group1"},
      {.kind = Kind::join, .members = {0}, .pauses = {us(0)}, .group = "group1"},
      {.kind = Kind::fence_group, .members = all, .pauses = pause(3, 1, 31), .group = "group1"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(130)}};
  return out;
}

/// The keeper is lost, and its change of the members has come to a node where the group is still being made.
Schedule change_that_comes_early() {
  auto out = on(5, 1, 215059549, 200000);
  out.finalizes = true;
  const auto all = first(5);
  out.operations = {
      {.kind = Kind::construct,
       .members = all,
       .pauses = {us(0), us(45), us(0), us(43), us(0)},
       .group = "group0",
       .adjusts = true},
      {.kind = Kind::leave, .members = {2}, .pauses = {us(0)}, .group = "group0", .is_loose = true},
      {.kind = Kind::leave, .members = {2}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::destruct, .members = all, .pauses = std::vector<microseconds>(5), .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 3, us(257)}, {Fault::Kind::node_lost, 0, us(1876)}};
  return out;
}

/// A process joins and ends: one server is in the end of the group with it, another one is in that without.
Schedule end_of_a_group_while_a_process_joins_and_ends() {
  auto out = on(4, 2, 314010949, 5000);
  out.finalizes = true;
  out.operations = {
      {.kind = Kind::construct, .members = {0, 7}, .pauses = {us(0), us(52)}, .group = "group0"},
      {.kind = Kind::join, .members = {1}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::destruct,
       .members = {0, 1, 7},
       .pauses = std::vector<microseconds>(3),
       .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 1, us(77)}};
  return out;
}

/// The same, and the server of that process is lost, too, which alone had said how the other one has failed.
Schedule end_of_a_group_while_a_node_joins_and_is_lost() {
  auto out = on(4, 1, 505040563, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = {0, 2},
                     .pauses = {us(0), us(39)},
                     .group = "group0",
                     .differs = true},
                    {.kind = Kind::join, .members = {3}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::destruct,
                     .members = {0, 2, 3},
                     .pauses = std::vector<microseconds>(3),
                     .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 3, us(80)}, {Fault::Kind::node_lost, 3, us(119)}};
  return out;
}

/// The only member of a node dies before the construct has ended there: that node is in no fence that fails.
Schedule fence_that_a_node_has_not_known() {
  auto out = on(6, 3, 310000980, 200000);
  out.finalizes = true;
  const std::vector<Rank> members{2, 4, 5, 7, 14, 16};
  const std::vector<microseconds> none(6);
  auto job = pause(18, 1, 59);
  job[5] = us(58), job[6] = us(30), job[9] = us(12), job[14] = us(51);
  auto construct = pause(6, 0, 5);
  construct[1] = us(55), construct[4] = us(59);
  out.operations = {
      {.kind = Kind::fence_job, .members = first(18), .pauses = job},
      {.kind = Kind::construct, .members = members, .pauses = construct, .group = "group0", .asks = true},
      {.kind = Kind::fence_group, .members = members, .pauses = none, .group = "group0"},
      {.kind = Kind::construct,
       .members = {0, 2, 3, 5, 7, 8, 9, 10, 12, 13, 14, 15, 16},
       .pauses = std::vector<microseconds>(13),
       .group = "group1"},
      {.kind = Kind::leave, .members = {4}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::fence_group, .members = members, .pauses = none, .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 14, us(525)}};
  return out;
}

/// Members end a group beside one that has joined and is lost, and a node whose member has ended knows the
/// new members.
Schedule destruct_beside_a_join_that_is_lost() {
  auto out = on(5, 1, 503023895, 200000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {1, 2, 3, 4},
       .pauses = {us(0), us(4727), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .differs = true},
      {.kind = Kind::join, .members = {0}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::leave, .members = {2}, .pauses = {us(0)}, .group = "group0", .is_loose = true},
      {.kind = Kind::connect, .members = {1, 2, 3, 4}, .pauses = {us(0), us(0), us(0), us(0)}},
      {.kind = Kind::destruct,
       .members = {0, 1, 2, 3, 4},
       .pauses = {us(0), us(0), us(0), us(0), us(0)},
       .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 4, us(4404)}, {Fault::Kind::node_lost, 0, us(5735)}};
  out.finalizes = true;
  return out;
}

/// The last members end, and their nodes the group, while a process joins.
Schedule join_where_the_members_have_ended_it() {
  auto out = on(3, 1, 507098160, 200000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {0, 2},
       .pauses = {us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .asks = true},
      {.kind = Kind::join, .members = {1}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::fence_group, .members = {0, 1, 2}, .pauses = {us(0), us(0), us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 0, us(512)},
                {Fault::Kind::node_lost, 0, us(564)},
                {Fault::Kind::process_ends, 2, us(1875)}};
  return out;
}

/// Of two members that end the group one knows of a join, whose node is lost, and the other does not yet.
Schedule destruct_of_newer_members() {
  auto out = on(5, 1, 514104053, 0);
  out.operations = {
      {.kind = Kind::invite,
       .members = {1, 4},
       .pauses = {us(0), us(0)},
       .group = "group0",
       .target = 1,
       .answers = {Answer::accepts, Answer::accepts},
       .decides = true,
       .elects = true},
      {.kind = Kind::join, .members = {3}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::destruct, .members = {1, 3, 4}, .pauses = {us(0), us(0), us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 3, us(27)}};
  return out;
}

/// A leave of a group waits for a lost keeper, and another group has its name by then.
Schedule change_of_a_group_before() {
  auto out = on(4, 1, 515105615, 200000);
  out.operations = {{.kind = Kind::construct, .members = {0, 1}, .pauses = {us(0), us(0)}, .group = "group0"},
                    {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::notify, .members = {3}, .pauses = {us(0)}},
                    {.kind = Kind::construct,
                     .members = {0, 1, 2},
                     .pauses = {us(0), us(0), us(0)},
                     .group = "group0",
                     .adjusts = true}};
  out.faults = {{Fault::Kind::node_lost, 0, us(144)}};
  out.finalizes = true;
  return out;
}

/// A fence fails for a leave, and is to fail among those that are left, of which a node is lost.
Schedule fence_that_is_owed_with_a_loss() {
  auto out = on(3, 3, 508048451, 0);
  out.operations = {{.kind = Kind::invite,
                     .members = {1, 2, 4, 5, 6, 7},
                     .pauses = {us(0), us(0), us(53), us(0), us(0), us(0)},
                     .group = "group0",
                     .target = 1,
                     .answers = {Answer::declines, Answer::accepts, Answer::accepts, Answer::accepts,
                                 Answer::accepts, Answer::accepts},
                     .elects = true},
                    {.kind = Kind::leave, .members = {6}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::fence_group,
                     .members = {1, 2, 4, 5, 6, 7},
                     .pauses = {us(0), us(58), us(0), us(32), us(0), us(0)},
                     .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 2, us(66)}};
  return out;
}

/// A process is let in where its members have ended the group meanwhile.
Schedule join_of_an_ended_group() {
  auto out = on(3, 3, 502013113, 200000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {1, 3, 5, 6, 7},
       .pauses = {us(0), us(0), us(0), us(38), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 3,
       .answers = {Answer::accepts, Answer::accepts, Answer::declines, Answer::declines, Answer::none},
       .decides = true,
       .timeout = 3},
      {.kind = Kind::join, .members = {2}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::fence_job,
       .members = {0, 1, 2, 3, 4, 5, 6, 7, 8},
       .pauses = {us(0), us(0), us(0), us(22), us(38), us(23), us(0), us(0), us(1701)},
       .collects = true},
      {.kind = Kind::destruct,
       .members = {1, 2, 3, 5, 6, 7},
       .pauses = {us(0), us(0), us(35), us(0), us(0), us(0)},
       .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 2, us(3678)},
                {Fault::Kind::process_ends, 4, us(3781)},
                {Fault::Kind::process_ends, 2, us(4271)}};
  return out;
}

/// A process accepts an invitation before it has heard of the end of its leave, which a lost node holds up.
Schedule invitation_of_a_process_that_leaves() {
  auto out = on(4, 1, 800155016, 5000);
  out.operations = {
      {.kind = Kind::fence_set,
       .members = {0, 1, 2, 3},
       .pauses = {us(0), us(0), us(29), us(55)},
       .collects = true},
      {.kind = Kind::fence_job, .members = {0, 1, 2, 3}, .pauses = {us(0), us(0), us(0), us(38)}},
      {.kind = Kind::construct,
       .members = {0, 1, 2, 3},
       .pauses = {us(0), us(0), us(0), us(56)},
       .group = "group0",
       .adjusts = true},
      {.kind = Kind::construct,
       .members = {2, 3},
       .pauses = {us(0), us(0)},
       .group = "group1",
       .leaders = 1,
       .timeout = 2},
      {.kind = Kind::leave, .members = {0}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::invite,
       .members = {0, 1, 3},
       .pauses = {us(0), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 3,
       .answers = {Answer::accepts, Answer::declines, Answer::accepts},
       .decides = true,
       .timeout = 1}};
  out.faults = {{Fault::Kind::node_lost, 2, us(164)}};
  return out;
}

}  // namespace

std::vector<Found> found_changes() {
  return {{"a group ends without a member that has joined", join_where_a_node_takes_part_for_the_dead()},
          {"a fence waits for one that has failed", fence_while_a_process_joins_and_is_lost()},
          {"a change that comes early is lost with the keeper", change_that_comes_early()},
          {"the end of a group fails for two reasons", end_of_a_group_while_a_process_joins_and_ends()},
          {"the end of a group waits for a lost word", end_of_a_group_while_a_node_joins_and_is_lost()},
          {"a fence waits for a node that has not known it", fence_that_a_node_has_not_known()},
          {"a node without members knows newer ones than those that end the group",
           destruct_beside_a_join_that_is_lost()},
          {"a process joins a group that has ended where its members were",
           join_where_the_members_have_ended_it()},
          {"the node that knows the newer members takes the older ones for a mistake",
           destruct_of_newer_members()},
          {"a change comes to the next group of its name", change_of_a_group_before()},
          {"late callers decide for those that called before", fence_that_is_owed_with_a_loss()},
          {"a group comes back after its end", join_of_an_ended_group()},
          {"a process forgets the group that it has joined again", invitation_of_a_process_that_leaves()}};
}

}  // namespace weft::schedules
