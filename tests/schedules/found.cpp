// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

microseconds us(int count) {
  return microseconds(count);
}

/// Nothing, on nodes with so many ranks. jitter: nanoseconds.
Schedule on(std::uint32_t nodes, std::uint32_t ranks_a_node,
            std::uint64_t seed = simulation::World::Shape().seed, std::uint64_t jitter = 0) {
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

/// The pause of that member, of so many.
std::vector<microseconds> pause(std::size_t count, std::size_t member, int of) {
  std::vector<microseconds> out(count);
  out.at(member) = us(of);
  return out;
}

/// Two nodes have begun the end of a group again without a node that is lost; the last one's only member dies
/// before it calls. Its node knew the group with the lost member alone, and took no part.
Schedule end_of_a_group_without_a_lost_node() {
  auto out = on(4, 1);
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

/// A process that never answered an invitation answers the next one to a group of that name.
Schedule invitation_after_one_without_an_answer() {
  using A = Answer;
  auto out = on(3, 1);
  const std::vector<Rank> all{0, 1, 2};
  const std::vector<microseconds> none(3);
  out.operations = {{.kind = Kind::invite,
                     .members = all,
                     .pauses = none,
                     .group = "group",
                     .target = 1,
                     .answers = {A::declines, A::accepts, A::none},
                     .timeout = 1},
                    {.kind = Kind::invite,
                     .members = all,
                     .pauses = none,
                     .group = "group",
                     .target = 1,
                     .answers = {A::accepts, A::accepts, A::accepts}}};
  return out;
}

/// All that a member invites to its group are in it already.
Schedule invitation_of_members() {
  auto out = on(2, 1);
  const std::vector<Rank> all{0, 1};
  const std::vector<microseconds> none(2);
  out.operations = {{.kind = Kind::construct, .members = all, .pauses = none, .group = "group"},
                    {.kind = Kind::invite,
                     .members = all,
                     .pauses = none,
                     .group = "group",
                     .target = 1,
                     .answers = {Answer::accepts, Answer::accepts}}};
  return out;
}

/// A process ends between the report of its server to the one that follows a lost coordinator, and that one's
/// word.
Schedule end_while_an_invitation_is_handed_over() {
  auto out = on(6, 1, 1002766, 200000);
  out.operations = {{.kind = Kind::invite,
                     .members = {0, 1, 2, 3, 4, 5},
                     .pauses = {us(0), us(0), us(0), us(0), us(4352), us(0)},
                     .group = "group0",
                     .target = 2,
                     .answers = std::vector<Answer>(6, Answer::accepts),
                     .is_optional = true,
                     .elects = true}};
  out.faults = {{Fault::Kind::node_lost, 2, us(3399)},
                {Fault::Kind::process_ends, 0, us(4133)},
                {Fault::Kind::process_ends, 1, us(4727)}};
  return out;
}

/// A coordinator is lost that has told some servers alone why there is no group.
Schedule refused_invitation_whose_coordinator_is_lost() {
  using A = Answer;
  auto out = on(3, 3, 668, 200000);
  out.operations = {{.kind = Kind::invite,
                     .members = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                     .pauses = {us(10), us(47), us(0), us(0), us(27), us(57), us(0), us(33), us(0)},
                     .group = "group0",
                     .target = 7,
                     .answers = {A::accepts, A::accepts, A::declines, A::accepts, A::accepts, A::accepts,
                                 A::accepts, A::accepts, A::none},
                     .timeout = 3}};
  out.faults = {{Fault::Kind::node_lost, 2, us(388)}};
  return out;
}

/// The invitation itself comes to a server only when that has said that it knows of none, to the one that
/// follows the lost coordinator.
Schedule invitation_that_comes_after_the_question() {
  using A = Answer;
  auto out = on(5, 2, 1003644, 200000);
  out.operations = {{.kind = Kind::invite,
                     .members = {1, 2, 3, 6, 7, 8},
                     .pauses = {us(0), us(0), us(0), us(59), us(0), us(45)},
                     .group = "group0",
                     .adjusts = true,
                     .target = 6,
                     .answers = {A::none, A::declines, A::accepts, A::accepts, A::accepts, A::accepts},
                     .timeout = 3},
                    {.kind = Kind::fence_group,
                     .members = {1, 2, 3, 6, 7, 8},
                     .pauses = std::vector<microseconds>(6),
                     .group = "group0"},
                    {.kind = Kind::connect, .members = {1, 2, 4, 6}, .pauses = std::vector<microseconds>(4)}};
  out.faults = {{Fault::Kind::node_lost, 3, us(115)}};
  out.finalizes = true;
  return out;
}

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

/// Handlers have aborted a construct that goes on without a lost node; a server whose member has died before
/// it called comes to that attempt later, and fails it for the death.
Schedule construct_that_fails_for_two_reasons() {
  auto out = on(4, 2, 5862, 5000);
  const std::vector<Rank> all{0, 1, 2, 3, 4, 5, 6, 7};
  const auto late = [&](std::size_t which, int pause) {
    std::vector<microseconds> pauses(all.size());
    pauses[which] = us(pause);
    return pauses;
  };
  out.operations = {
      {.kind = Kind::fence_job, .members = all, .pauses = late(5, 1881)},
      {.kind = Kind::construct, .members = {1, 3, 4}, .pauses = {us(0), us(0), us(878)}, .group = "group0"},
      {.kind = Kind::construct,
       .members = all,
       .pauses = late(3, 41),
       .group = "group1",
       .asks = true,
       .refuses = true}};
  out.faults = {{Fault::Kind::node_lost, 0, us(311)}, {Fault::Kind::process_ends, 5, us(5306)}};
  return out;
}

/// Handlers abort a construct at a server that does not know yet that a node of it is lost.
Schedule abort_while_a_node_is_lost() {
  auto out = on(5, 3, 40002995, 200000);
  out.operations = {{.kind = Kind::construct,
                     .members = {1, 3, 5, 8, 13, 14},
                     .pauses = {us(0), us(0), us(0), us(0), us(0), us(2881)},
                     .group = "group0",
                     .adjusts = true,
                     .differs = true},
                    {.kind = Kind::construct,
                     .members = {3, 5, 6, 7, 9, 12, 14},
                     .pauses = std::vector<microseconds>(7),
                     .group = "group1",
                     .asks = true,
                     .differs = true,
                     .refuses = true}};
  out.faults = {{Fault::Kind::node_lost, 4, us(1145)},
                {Fault::Kind::process_ends, 3, us(1714)},
                {Fault::Kind::node_lost, 2, us(3780)}};
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

/// A member of a bootstrap ends before one of the leaders calls: that one's call is of the attempt that has
/// failed, which no other process is in any more.
Schedule leader_that_comes_late() {
  auto out = on(2, 3, 203);
  out.operations = {{.kind = Kind::construct,
                     .members = {1, 2, 4},
                     .pauses = {us(0), us(1402), us(0)},
                     .group = "group0",
                     .adjusts = true,
                     .asks = true,
                     .differs = true,
                     .leaders = 2,
                     .timeout = 2}};
  out.faults = {{Fault::Kind::process_ends, 4, us(721)}};
  out.finalizes = true;
  return out;
}

/// The same, and the server that has ended the attempt is lost before that leader calls.
Schedule leader_that_comes_after_a_loss() {
  auto out = leader_that_comes_late();
  out.shape.nodes = 3;
  out.shape.ranks_a_node = 2;
  out.shape.seed = 705;
  out.shape.network.jitter = 200000;
  auto& construct = out.operations.front();
  construct.members = {0, 2, 5};
  construct.pauses = {us(0), us(2036), us(0)};
  construct.adjusts = false;
  out.faults = {{Fault::Kind::process_ends, 5, us(446)}, {Fault::Kind::node_lost, 2, us(963)}};
  return out;
}

/// A process is invited that has died, and its node is lost before its server has said so.
Schedule invitation_of_a_process_that_has_died() {
  using A = Answer;
  auto out = on(2, 2, 215029488, 200000);
  out.operations = {{.kind = Kind::invite,
                     .members = {0, 2},
                     .pauses = {us(0), us(56)},
                     .group = "group0",
                     .target = 0,
                     .answers = {A::accepts, A::accepts},
                     .is_optional = true,
                     .timeout = 3},
                    {.kind = Kind::destruct, .members = {0, 2}, .pauses = {us(0), us(0)}, .group = "group0"},
                    {.kind = Kind::invite,
                     .members = {0, 1, 2},
                     .pauses = {us(0), us(0), us(0)},
                     .group = "group1",
                     .target = 2,
                     .answers = {A::accepts, A::accepts, A::accepts},
                     .is_optional = true},
                    {.kind = Kind::invite,
                     .members = {0, 1, 2, 3},
                     .pauses = {us(0), us(43), us(0), us(30)},
                     .group = "group2",
                     .adjusts = true,
                     .target = 3,
                     .answers = {A::accepts, A::accepts, A::accepts, A::declines},
                     .decides = true}};
  out.faults = {{Fault::Kind::process_ends, 1, us(230)},
                {Fault::Kind::process_ends, 0, us(374)},
                {Fault::Kind::node_lost, 0, us(693)}};
  return out;
}

/// A process asks to join, and is invited by another member at the same time.
Schedule join_while_invited() {
  using A = Answer;
  auto out = on(4, 1, 214007689, 200000);
  out.operations = {{.kind = Kind::invite,
                     .members = {1, 3},
                     .pauses = {us(0), us(0)},
                     .group = "group0",
                     .adjusts = true,
                     .target = 3,
                     .answers = {A::declines, A::accepts},
                     .is_optional = true,
                     .decides = true,
                     .elects = true},
                    {.kind = Kind::join, .members = {0}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::invite,
                     .members = {0, 1, 2, 3},
                     .pauses = std::vector<microseconds>(4),
                     .group = "group0",
                     .adjusts = true,
                     .target = 3,
                     .answers = std::vector<A>(4, A::accepts),
                     .is_optional = true,
                     .elects = true,
                     .timeout = 2}};
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

/// A node whose only member has died is asked once more about the attempt that a lost node has ended.
Schedule question_that_comes_late() {
  auto out = on(4, 2, 211029887, 200000);
  out.operations = {
      {.kind = Kind::fence_job, .members = first(8), .pauses = pause(8, 7, 3761), .collects = true},
      {.kind = Kind::fence_set, .members = {0, 1, 3, 5, 6, 7}, .pauses = pause(6, 5, 683)},
      {.kind = Kind::construct,
       .members = {1, 2, 3, 4, 6},
       .pauses = std::vector<microseconds>(5),
       .group = "group1",
       .adjusts = true,
       .differs = true},
      {.kind = Kind::join, .members = {5}, .pauses = {us(0)}, .group = "group1"}};
  out.faults = {{Fault::Kind::node_lost, 0, us(1729)}, {Fault::Kind::process_ends, 4, us(4391)}};
  return out;
}

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

/// Some nodes have begun a construct again without a lost node that the others do not know of yet.
Schedule construct_that_follows_a_loss() {
  auto out = on(6, 2, 214030102);
  out.finalizes = true;
  const std::vector<Rank> here{0, 4, 5, 11};
  out.operations = {
      {.kind = Kind::invite,
       .members = here,
       .pauses = {us(57), us(0), us(0), us(29)},
       .group = "group0",
       .target = 11,
       .answers = std::vector<Answer>(4, Answer::accepts),
       .is_optional = true},
      {.kind = Kind::fence_job, .members = first(12), .pauses = pause(12, 5, 806)},
      {.kind = Kind::leave, .members = {0}, .pauses = {us(53)}, .group = "group0"},
      {.kind = Kind::fence_group, .members = here, .pauses = std::vector<microseconds>(4), .group = "group0"},
      {.kind = Kind::construct,
       .members = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11},
       .pauses = {us(35), us(0), us(0), us(3549), us(0), us(0), us(0), us(0), us(0), us(0), us(0)},
       .group = "group1",
       .adjusts = true,
       .differs = true}};
  out.faults = {{Fault::Kind::node_lost, 5, us(878)}, {Fault::Kind::node_lost, 2, us(1038)}};
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

}  // namespace

std::vector<Found> found() {
  return {{"two ranks wait in the end of a group for ever", end_of_a_group_without_a_lost_node()},
          {"an answer goes to an invitation that is over", invitation_after_one_without_an_answer()},
          {"an invitation of members alone fails", invitation_of_members()},
          {"an invitation waits for a process that has ended", end_while_an_invitation_is_handed_over()},
          {"an invitation fails for two reasons", refused_invitation_whose_coordinator_is_lost()},
          {"a process waits for a lost coordinator", invitation_that_comes_after_the_question()},
          {"the end of a group waits for a member that has left", leave_while_a_node_is_lost()},
          {"a construct fails for two reasons", construct_that_fails_for_two_reasons()},
          {"a construct is aborted at one node and fails at another", abort_while_a_node_is_lost()},
          {"a fence fails for two reasons", fence_while_a_member_leaves_and_is_lost()},
          {"a leader that comes late waits alone", leader_that_comes_late()},
          {"it does so where the server that ended the attempt is lost", leader_that_comes_after_a_loss()},
          {"an invitation waits for a process of a lost node", invitation_of_a_process_that_has_died()},
          {"a join fails because of an invitation", join_while_invited()},
          {"a late call waits after a leave", fence_that_fails_for_a_leave()},
          {"a late question begins an operation anew", question_that_comes_late()},
          {"a group ends without a member that has joined", join_where_a_node_takes_part_for_the_dead()},
          {"a construct is the rival of the one before", construct_that_follows_a_loss()},
          {"a fence waits for one that has failed", fence_while_a_process_joins_and_is_lost()}};
}

}  // namespace weft::schedules
