// SPDX-License-Identifier: BSD-3-Clause
// Jobs that processes start, whose namespaces end while others are in operations with their processes.
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

Operation spawn_of(simulation::JobNumber job, Rank by, int pause = 0) {
  return {.kind = Kind::spawn, .members = {by}, .pauses = {us(pause)}, .job = job};
}

/// Keeps the process from its next operation for longer than a namespace that has ended is known.
Operation long_lookup(Rank by) {
  return {
      .kind = Kind::look_up, .members = {by}, .pauses = {us(0)}, .timeout = longest_lookup, .waits = true};
}

/// A server whose own processes had all called forgot the namespace, and its result named it as a whole.
Schedule construct_without_a_job_that_is_lost() {
  auto out = on(3, 2, 980172322, 5000);
  out.shape.spawned = {{2, 2}};
  out.operations = {spawn_of(1, 5),
                    long_lookup(3),
                    {.kind = Kind::construct,
                     .members = first(8),
                     .pauses = std::vector<microseconds>(8),
                     .group = "group0",
                     .adjusts = true}};
  out.faults = {{Fault::Kind::node_lost, 2, us(8976)}};
  out.finalizes = true;
  return out;
}

/// Where handlers decide, a server that still gathered failed for the namespace that it forgot.
Schedule construct_that_asks_about_a_job_that_is_lost() {
  auto out = on(4, 2, 980126561, 5000);
  out.shape.spawned = {{2, 2, 1, 2}, {1, 1, 2}, {0, 1, 1}};
  out.operations = {long_lookup(7),
                    spawn_of(1, 2),
                    spawn_of(2, 3),
                    spawn_of(3, 1),
                    {.kind = Kind::construct,
                     .members = {0, 3, 4, 6, 7, 8, 11, 12, 15, 16, 17},
                     .pauses = std::vector<microseconds>(11),
                     .group = "group0",
                     .asks = true}};
  out.faults = {{Fault::Kind::node_lost, 2, us(3577)}};
  out.finalizes = true;
  return out;
}

/// A member calls when its server has forgotten another one's namespace: the others waited for that server.
Schedule construct_of_a_job_that_is_forgotten() {
  auto out = on(4, 2, 981051888, 200000);
  out.shape.spawned = {{3, 2}, {3, 3}, {3, 2}};
  const std::vector<Rank> members{0, 3, 4, 6, 9, 10};
  const std::vector<microseconds> at_once(6);
  out.operations = {
      spawn_of(1, 0, 48),
      spawn_of(2, 7),
      {.kind = Kind::construct, .members = members, .pauses = at_once, .group = "group0", .is_bare = true},
      {.kind = Kind::invite,
       .members = {2, 3, 4, 5, 6, 8, 11, 12},
       .pauses = std::vector<microseconds>(8),
       .group = "group0",
       .target = 4,
       .answers = {Answer::accepts, Answer::accepts, Answer::accepts, Answer::accepts, Answer::declines,
                   Answer::accepts, Answer::accepts, Answer::accepts},
       .is_optional = true},
      {.kind = Kind::construct,
       .members = members,
       .pauses = at_once,
       .group = "group1",
       .asks = true,
       .refuses = true}};
  out.faults = {{Fault::Kind::process_ends, 10, us(2771)},
                {Fault::Kind::node_lost, 2, us(3374)},
                {Fault::Kind::node_lost, 3, us(6170)}};
  return out;
}

/// The same beside members of lost nodes: what that server had said was forgotten with the attempt that ended
/// by a loss, and the next one waited for it.
Schedule construct_of_a_job_that_is_forgotten_and_lost() {
  auto out = on(6, 2, 1500033682, 5000);
  out.shape.spawned = {{2, 4, 4}, {4, 0, 2, 4}, {5, 5}};
  const auto invitation = [](std::vector<Rank> members, Rank leader) {
    const auto count = members.size();
    return Operation{.kind = Kind::invite,
                     .members = std::move(members),
                     .pauses = std::vector<microseconds>(count),
                     .group = "group0",
                     .adjusts = true,
                     .target = leader,
                     .answers = std::vector<Answer>(count, Answer::accepts),
                     .elects = true};
  };
  auto first_one = invitation({0, 2, 3, 4, 5, 6, 8, 9, 10, 13, 14}, 10);
  first_one.answers[1] = first_one.answers[3] = first_one.answers[4] = Answer::declines;
  auto second_one = invitation({0, 1, 2, 5, 6, 8, 9, 10, 11, 13, 14, 16, 17, 19, 20}, 5);
  second_one.answers[2] = second_one.answers[7] = Answer::none;
  second_one.answers[13] = Answer::declines;
  second_one.is_optional = second_one.decides = true;
  second_one.timeout = 1;
  Operation construct{.kind = Kind::construct,
                      .members = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
                      .pauses = std::vector<microseconds>(20),
                      .group = "group1",
                      .adjusts = true,
                      .asks = true,
                      .refuses = true};
  construct.pauses.front() = us(715);
  out.operations = {spawn_of(1, 8), first_one, spawn_of(2, 1, 48), spawn_of(3, 7), second_one, construct};
  out.faults = {{Fault::Kind::node_lost, 5, us(3496)}, {Fault::Kind::node_leaves, 1, us(6213)}};
  return out;
}

/// A server whose callers had not asked that it goes on forgot the namespace while its refusal was under way,
/// and refused another attempt than that of the others.
Schedule construct_that_is_refused_for_a_job_that_is_lost() {
  auto out = on(4, 3, 1400605478);
  out.shape.spawned = {{3, 1}, {0}, {1, 2, 1, 0}};
  out.operations = {spawn_of(1, 11, 29),
                    long_lookup(4),
                    spawn_of(2, 2),
                    spawn_of(3, 1),
                    {.kind = Kind::construct,
                     .members = {1, 2, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 18},
                     .pauses = std::vector<microseconds>(14),
                     .group = "group0",
                     .adjusts = true,
                     .differs = true}};
  out.faults = {{Fault::Kind::node_lost, 0, us(775)}};
  out.finalizes = true;
  return out;
}

}  // namespace

std::vector<Found> found_spawns() {
  return {{"construct without a job that is lost", construct_without_a_job_that_is_lost()},
          {"construct that asks about a job that is lost", construct_that_asks_about_a_job_that_is_lost()},
          {"construct of a job that is forgotten", construct_of_a_job_that_is_forgotten()},
          {"construct of a job that is forgotten, beside losses",
           construct_of_a_job_that_is_forgotten_and_lost()},
          {"construct that is refused for a job that is lost",
           construct_that_is_refused_for_a_job_that_is_lost()}};
}

}  // namespace weft::schedules
