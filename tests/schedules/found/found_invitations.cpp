// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

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

/// The server of a process that has not answered ends in good order.
Schedule invitation_of_a_server_that_leaves() {
  using A = Answer;
  auto out = on(4, 1, 235, 0);
  out.operations = {{.kind = Kind::invite,
                     .members = {0, 2, 3},
                     .pauses = {us(0), us(28), us(0)},
                     .group = "group0",
                     .adjusts = true,
                     .target = 3,
                     .answers = std::vector<A>(3, A::accepts),
                     .decides = true,
                     .elects = true}};
  out.faults = {{Fault::Kind::node_leaves, 2, us(16)}};
  return out;
}

/// The inviter of one that has accepted is lost when the other servers have the new member.
Schedule extension_that_is_made_before_a_loss() {
  auto out = on(5, 1, 901231712, 0);
  out.operations = {
      {.kind = Kind::connect, .members = {0, 1, 2, 3, 4}, .pauses = {us(0), us(0), us(0), us(0), us(214)}},
      {.kind = Kind::construct,
       .members = {1, 3, 4},
       .pauses = {us(0), us(0), us(4)},
       .group = "group0",
       .is_bare = true},
      {.kind = Kind::invite,
       .members = {0, 1, 4},
       .pauses = {us(16), us(16), us(0)},
       .group = "group0",
       .target = 1,
       .answers = {Answer::accepts, Answer::accepts, Answer::accepts},
       .decides = true}};
  out.faults = {{Fault::Kind::node_lost, 1, us(284)}};
  return out;
}

/// A process that is invited to a group joins it by itself, and the invitation fails.
Schedule join_beside_an_invitation_that_fails() {
  auto out = on(3, 3, 900139017, 5000);
  out.operations = {
      {.kind = Kind::construct,
       .members = {1, 4},
       .pauses = {us(0), us(0)},
       .group = "group0",
       .is_bare = true},
      {.kind = Kind::join, .members = {7}, .pauses = {us(0)}, .group = "group0"},
      {.kind = Kind::invite,
       .members = {0, 1, 2, 3, 4, 5, 6, 7, 8},
       .pauses = {us(0), us(32), us(0), us(0), us(0), us(0), us(0), us(0), us(0)},
       .group = "group0",
       .target = 1,
       .answers = {Answer::accepts, Answer::accepts, Answer::none, Answer::accepts, Answer::accepts,
                   Answer::declines, Answer::declines, Answer::accepts, Answer::accepts},
       .timeout = 3}};
  out.finalizes = true;
  return out;
}

/// The last members end while a group gets more, which its keeper told of the change before itself.
Schedule extension_beside_the_last_ends() {
  auto out = on(6, 2, 1300215685, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = {5, 6, 7},
                     .pauses = std::vector<microseconds>(3),
                     .group = "group0",
                     .asks = true,
                     .differs = true,
                     .refuses = true},
                    {.kind = Kind::leave, .members = {6}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::invite,
                     .members = first(12),
                     .pauses = std::vector<microseconds>(12),
                     .group = "group0",
                     .target = 7,
                     .answers = std::vector<Answer>(12, Answer::accepts),
                     .decides = true,
                     .elects = true}};
  auto& invite = out.operations.back();
  invite.answers[1] = invite.answers[4] = Answer::declines;
  invite.pauses[7] = us(52);
  invite.pauses[11] = us(4982);
  out.faults = {{Fault::Kind::node_leaves, 2, us(2097)}, {Fault::Kind::process_ends, 7, us(2738)}};
  out.finalizes = true;
  return out;
}

}  // namespace

std::vector<Found> found_invitations() {
  return {{"an answer goes to an invitation that is over", invitation_after_one_without_an_answer()},
          {"an invitation of members alone fails", invitation_of_members()},
          {"an invitation waits for a process that has ended", end_while_an_invitation_is_handed_over()},
          {"an invitation fails for two reasons", refused_invitation_whose_coordinator_is_lost()},
          {"a process waits for a lost coordinator", invitation_that_comes_after_the_question()},
          {"an invitation waits for a process of a lost node", invitation_of_a_process_that_has_died()},
          {"a join fails because of an invitation", join_while_invited()},
          {"an invitation waits for a server that has left", invitation_of_a_server_that_leaves()},
          {"a group has a member that hears that it is none", extension_that_is_made_before_a_loss()},
          {"an invitation that has failed is good for a process that has joined",
           join_beside_an_invitation_that_fails()},
          {"an invitation ends well for some of those that have accepted", extension_beside_the_last_ends()}};
}

}  // namespace weft::schedules
