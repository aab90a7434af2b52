// SPDX-License-Identifier: BSD-3-Clause
// Constructs and ends of groups, and bootstraps.
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

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

/// One node for a member that has ended, the other for a handler that has aborted it.
Schedule construct_that_two_nodes_refuse() {
  auto out = on(5, 3, 202037824);
  const auto pauses = [](std::size_t count, std::size_t at, int of, std::size_t other, int its) {
    auto all = pause(count, at, of);
    all[other] = us(its);
    return all;
  };
  out.operations = {{.kind = Kind::construct,
                     .members = {0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13},
                     .pauses = pauses(13, 1, 1384, 11, 4183),
                     .group = "group0",
                     .adjusts = true,
                     .differs = true},
                    {.kind = Kind::fence_set,
                     .members = {0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 13},
                     .pauses = pause(11, 2, 3763),
                     .collects = true},
                    {.kind = Kind::construct,
                     .members = {0, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13},
                     .pauses = pauses(11, 3, 2, 9, 48),
                     .group = "group1",
                     .asks = true,
                     .differs = true,
                     .refuses = true}};
  out.faults = {{Fault::Kind::node_lost, 3, us(329)},
                {Fault::Kind::process_ends, 5, us(2489)},
                {Fault::Kind::node_lost, 2, us(8844)}};
  return out;
}

/// The end of a group has failed, so that the next of its name is refused where the group is still known.
Schedule construct_of_a_group_that_is_there() {
  auto out = on(4, 2, 313022834, 5000);
  out.finalizes = true;
  out.operations = {{.kind = Kind::construct,
                     .members = {1, 3, 6},
                     .pauses = pause(3, 2, 4768),
                     .group = "group1",
                     .adjusts = true,
                     .asks = true,
                     .refuses = true},
                    {.kind = Kind::join, .members = {1}, .pauses = {us(48)}, .group = "group1"},
                    {.kind = Kind::destruct,
                     .members = {1, 3, 6},
                     .pauses = std::vector<microseconds>(3),
                     .group = "group1"},
                    {.kind = Kind::construct,
                     .members = {1, 2, 3, 4, 5, 6, 7},
                     .pauses = std::vector<microseconds>(7),
                     .group = "group1",
                     .adjusts = true,
                     .differs = true}};
  out.faults = {{Fault::Kind::process_ends, 3, us(4528)}};
  return out;
}

/// Two nodes give an attempt up at a time, one before its part is with the others: there it has ended.
Schedule time_out_at_two_nodes() {
  auto out = on(2, 3, 710002095, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = {0, 1, 2, 3, 4, 5},
                     .pauses = {us(0), us(0), us(0), us(2869), us(0), us(0)},
                     .group = "group0",
                     .adjusts = true,
                     .differs = true},
                    {.kind = Kind::construct,
                     .members = {0, 3},
                     .pauses = {us(0), us(0)},
                     .group = "group2",
                     .leaders = 2,
                     .timeout = 4},
                    {.kind = Kind::destruct,
                     .members = {0, 1, 2, 3, 4, 5},
                     .pauses = {us(0), us(0), us(0), us(0), us(0), us(0)},
                     .group = "group0",
                     .timeout = 3}};
  out.faults = {{Fault::Kind::process_ends, 3, us(2349)}};
  out.finalizes = true;
  return out;
}

/// A member leaves and ends at once: a fence fails for either, and later calls are in another one.
Schedule fence_of_a_member_that_leaves_and_ends() {
  auto out = on(6, 1, 812005749, 5000);
  out.operations = {{.kind = Kind::construct,
                     .members = {0, 1, 2, 4, 5},
                     .pauses = {us(0), us(0), us(0), us(0), us(48)},
                     .group = "group0",
                     .asks = true,
                     .differs = true,
                     .timeout = 3},
                    {.kind = Kind::leave, .members = {2}, .pauses = {us(0)}, .group = "group0"},
                    {.kind = Kind::fence_group,
                     .members = {0, 1, 2, 4, 5},
                     .pauses = {us(0), us(0), us(0), us(0), us(0)},
                     .group = "group0"}};
  out.faults = {{Fault::Kind::process_ends, 2, us(72)}};
  return out;
}

/// A leave asks for a view about the group's keeper, whose server leaves, before that node counts as lost.
Schedule view_that_knows_fewer_losses() {
  auto out = on(3, 2, 1001260, 5000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {0, 2},
       .pauses = {us(0), us(0)},
       .group = "group0",
       .target = 2,
       .answers = {Answer::accepts, Answer::accepts},
       .is_optional = true,
       .elects = true},
      {.kind = Kind::fence_set, .members = {0, 2, 3, 4, 5}, .pauses = {us(0), us(0), us(0), us(0), us(1536)}},
      {.kind = Kind::leave, .members = {0}, .pauses = {us(0)}, .group = "group0"}};
  out.faults = {{Fault::Kind::node_leaves, 1, us(1406)}};
  out.finalizes = true;
  return out;
}

/// A server says that it leaves in the middle of a view that it leads, and the next one leads another.
Schedule view_of_a_server_that_leaves() {
  auto out = on(6, 1, 5003435, 5000);
  out.operations = {
      {.kind = Kind::invite,
       .members = {3, 5},
       .pauses = {us(57), us(0)},
       .group = "group0",
       .adjusts = true,
       .target = 3,
       .answers = {Answer::accepts, Answer::accepts},
       .is_optional = true,
       .elects = true},
      {.kind = Kind::fence_group, .members = {3, 5}, .pauses = {us(0), us(39)}, .group = "group0"},
      {.kind = Kind::connect, .members = {0, 1, 2, 3, 5}, .pauses = {us(12), us(0), us(0), us(0), us(2431)}},
      {.kind = Kind::construct,
       .members = {0, 1, 2, 3, 4, 5},
       .pauses = {us(0), us(0), us(0), us(0), us(0), us(0)},
       .group = "group1",
       .adjusts = true,
       .differs = true}};
  out.faults = {{Fault::Kind::node_lost, 3, us(1294)},
                {Fault::Kind::node_lost, 1, us(2576)},
                {Fault::Kind::node_leaves, 0, us(2705)}};
  return out;
}

}  // namespace

std::vector<Found> found_operations() {
  return {{"two ranks wait in the end of a group for ever", end_of_a_group_without_a_lost_node()},
          {"a construct fails for two reasons", construct_that_fails_for_two_reasons()},
          {"a construct is aborted at one node and fails at another", abort_while_a_node_is_lost()},
          {"a leader that comes late waits alone", leader_that_comes_late()},
          {"it does so where the server that ended the attempt is lost", leader_that_comes_after_a_loss()},
          {"a late question begins an operation anew", question_that_comes_late()},
          {"a construct is the rival of the one before", construct_that_follows_a_loss()},
          {"a construct that two nodes refuse has two ends", construct_that_two_nodes_refuse()},
          {"a construct fails without a reason", construct_of_a_group_that_is_there()},
          {"a time-out waits for ever at one of two nodes", time_out_at_two_nodes()},
          {"the ends of two fences are taken for one", fence_of_a_member_that_leaves_and_ends()},
          {"a view is about fewer losses than a server knows of", view_that_knows_fewer_losses()},
          {"a server that leaves decides beside the next one", view_of_a_server_that_leaves()}};
}

}  // namespace weft::schedules
