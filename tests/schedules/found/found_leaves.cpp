// SPDX-License-Identifier: BSD-3-Clause
// Groups that processes leave while others are in their fences and ends.
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

/// A member leaves while the end of the group begins again without a lost node.
Schedule leave_while_a_node_is_lost() {
  auto out = on(3, 1, 10000907, 5000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {0, 1, 2},
       .pauses = {us(0), us(0), us(8)},
       .group = "group0",
       .adjusts = true},
      {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0", .is_loose = true},
      {.kind = Kind::destruct, .members = {0, 1, 2}, .pauses = {us(0), us(0), us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 2, us(13)}};
  out.finalizes = true;
  return out;
}

/// One server fences with a member that leaves, and whose node is lost, and another one without it.
Schedule fence_while_a_member_leaves_and_is_lost() {
  auto out = on(6, 1, 10775, 5000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {2, 3, 4},
       .pauses = {us(0), us(0), us(20)},
       .group = "group0",
       .asks = true},
      {.kind = Kind::leave, .members = {4}, .pauses = {us(52)}, .group = "group0"},
      {.kind = Kind::fence_group, .members = {2, 3, 4}, .pauses = {us(0), us(0), us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 4, us(87)}};
  out.finalizes = true;
  return out;
}

/// A member leaves and its node is lost: of two members of another node one had called before, and one calls
/// after the leave.
Schedule fence_that_fails_for_a_leave() {
  auto out = on(2, 2, 213024437, 200000);
  out.finalizes = true;
  const auto all = first(4);
  const std::vector<microseconds> none(4);
  out.operations = {
      {.kind = Kind::invite,
       .members = all,
       .pauses = pause(4, 3, 45),
       .group = "group0",
       .target = 3,
       .answers = std::vector<Answer>(4, Answer::accepts),
       .is_optional = true,
       .elects = true},
      {.kind = Kind::fence_job, .members = all, .pauses = none},
      {.kind = Kind::leave, .members = {3}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::fence_group, .members = all, .pauses = pause(4, 0, 2342), .group = "group0"},
      {.kind = Kind::fence_job, .members = all, .pauses = none}};
  out.faults = {{Fault::Kind::node_lost, 1, us(752)}};
  return out;
}

/// Two members leave: the keeper has made its own leave, and is lost before it hears of the other's.
Schedule leave_that_waits_for_a_lost_keeper() {
  auto out = on(3, 2, 400014906, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = {1, 3},
                     .pauses = std::vector<microseconds>(2),
                     .group = "group0",
                     .differs = true},
                    {.kind = Kind::leave, .members = {3}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(7)}};
  return out;
}

/// The keeper leaves its group, and is lost before all have heard which one follows.
Schedule leave_that_names_a_keeper() {
  auto out = on(3, 2, 801058811, 200000);
  out.operations = {{.kind = Kind::construct,
                     .members = {1, 2, 3, 4},
                     .pauses = {us(0), us(0), us(26), us(0)},
                     .group = "group0",
                     .differs = true},
                    {.kind = Kind::fence_group,
                     .members = {1, 2, 3, 4},
                     .pauses = {us(0), us(25), us(0), us(0)},
                     .group = "group0"},
                    {.kind = Kind::fence_job,
                     .members = {0, 1, 2, 3, 4, 5},
                     .pauses = {us(57), us(0), us(0), us(0), us(34), us(32)},
                     .collects = true},
                    {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::destruct,
                     .members = {1, 2, 3, 4},
                     .pauses = {us(0), us(8), us(38), us(0)},
                     .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(932)}};
  return out;
}

/// A process dies after it has asked to leave, and its server takes part for it in a fence that the others
/// have given up for that leave.
Schedule fence_of_a_process_that_dies_as_it_leaves() {
  auto out = on(5, 2, 901182659, 5000);
  out.operations = {{.kind = Kind::invite,
                     .members = {0, 1, 4, 5, 6, 7, 8, 9},
                     .pauses = {us(34), us(23), us(0), us(0), us(0), us(27), us(0), us(0)},
                     .group = "group1",
                     .adjusts = true,
                     .target = 9,
                     .answers = {Answer::accepts, Answer::declines, Answer::accepts, Answer::declines,
                                 Answer::accepts, Answer::accepts, Answer::accepts, Answer::none}},
                    {.kind = Kind::invite,
                     .members = {0, 1, 3, 4, 7, 8, 9},
                     .pauses = {us(0), us(48), us(0), us(0), us(0), us(0), us(46)},
                     .group = "group1",
                     .adjusts = true,
                     .target = 1,
                     .answers = {Answer::accepts, Answer::declines, Answer::accepts, Answer::accepts,
                                 Answer::accepts, Answer::accepts, Answer::accepts},
                     .is_optional = true,
                     .decides = true,
                     .elects = true},
                    {.kind = Kind::leave, .members = {4}, .pauses = {us(37)}, .group = "group1"},
                    {.kind = Kind::fence_group,
                     .members = {0, 1, 3, 4, 5, 6, 7, 8, 9},
                     .pauses = {us(0), us(0), us(0), us(0), us(0), us(25), us(9), us(0), us(0)},
                     .group = "group1",
                     .timeout = 2}};
  out.faults = {{Fault::Kind::process_ends, 3, us(90)},
                {Fault::Kind::process_ends, 1, us(135)},
                {Fault::Kind::process_ends, 9, us(232)},
                {Fault::Kind::process_ends, 4, us(246)},
                {Fault::Kind::process_ends, 8, us(247)}};
  out.finalizes = true;
  return out;
}

/// The last member leaves between the report of a server to a view and the decision about the group.
Schedule leave_while_servers_agree_on_its_group() {
  auto out = on(3, 1, 900117026, 5000);
  out.operations = {
      {.kind = Kind::construct, .members = {1, 2}, .pauses = {us(16), us(0)}, .group = "group0"},
      {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::construct,
       .members = {0, 1, 2},
       .pauses = {us(2157), us(0), us(0)},
       .group = "group1",
       .adjusts = true,
       .asks = true,
       .refuses = true},
      {.kind = Kind::leave, .members = {2}, .pauses = {us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_leaves, 1, us(985)}};
  return out;
}

/// A server that waits for those that are left asks the node of the process that has left, which ends as it
/// leaves.
Schedule destruct_while_a_process_that_has_left_ends() {
  auto out = on(5, 1, 923052329, 5000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {0, 2, 3},
       .pauses = {us(54), us(0), us(575)},
       .group = "group0",
       .asks = true},
      {.kind = Kind::leave, .members = {3}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::destruct, .members = {0, 2, 3}, .pauses = {us(0), us(23), us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 3, us(591)}};
  out.finalizes = true;
  return out;
}

/// The end of an invitation to the group comes to a server when the last member there has left it.
Schedule leave_while_the_group_is_extended() {
  auto out = on(6, 2, 931096683, 5000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {0, 3, 6, 7, 8, 11},
       .pauses = {us(4863), us(0), us(0), us(0), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 3,
       .answers = std::vector<Answer>(6, Answer::accepts),
       .is_optional = true,
       .elects = true},
      {.kind = Kind::leave, .members = {8}, .pauses = {us(23)}, .group = "group0", .is_loose = true},
      {.kind = Kind::invite,
       .members = {1, 5, 7, 9, 11},
       .pauses = {us(0), us(0), us(0), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 7,
       .answers = {Answer::accepts, Answer::accepts, Answer::accepts, Answer::declines, Answer::accepts},
       .is_optional = true,
       .timeout = 3}};
  out.faults = {{Fault::Kind::node_lost, 2, us(1260)}};
  out.finalizes = true;
  return out;
}

/// A server has ended a fence well, and is in the next one, among others, when a server that is still in
/// the first asks it.
Schedule fence_behind_a_fence_that_a_member_has_left() {
  auto out = on(4, 1, 940225087, 5000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {0, 1, 2, 3},
       .pauses = {us(0), us(0), us(0), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 1,
       .answers = std::vector<Answer>(4, Answer::accepts),
       .decides = true,
       .timeout = 3},
      {.kind = Kind::fence_group,
       .members = {0, 1, 2, 3},
       .pauses = {us(0), us(509), us(0), us(0)},
       .group = "group0"},
      {.kind = Kind::leave, .members = {1}, .pauses = {us(0)}, .group = "group0", .is_loose = true},
      {.kind = Kind::fence_group,
       .members = {0, 1, 2, 3},
       .pauses = {us(0), us(0), us(0), us(0)},
       .group = "group0"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(342)}};
  return out;
}

}  // namespace

std::vector<Found> found_leaves() {
  return {{"the end of a group waits for a member that has left", leave_while_a_node_is_lost()},
          {"a fence fails for two reasons", fence_while_a_member_leaves_and_is_lost()},
          {"a late call waits after a leave", fence_that_fails_for_a_leave()},
          {"a leave waits for a lost keeper", leave_that_waits_for_a_lost_keeper()},
          {"some do not hear of the leave that names the next keeper", leave_that_names_a_keeper()},
          {"a server takes part in a fence for a process that has left",
           fence_of_a_process_that_dies_as_it_leaves()},
          {"a process is told of members of the group that it has left",
           leave_while_servers_agree_on_its_group()},
          {"those that are left wait in different attempts of the end of a group",
           destruct_while_a_process_that_has_left_ends()},
          {"a group is there again where its last member has left it", leave_while_the_group_is_extended()},
          {"a fence waits behind one that another server has ended well",
           fence_behind_a_fence_that_a_member_has_left()}};
}

}  // namespace weft::schedules
