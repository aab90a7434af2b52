// SPDX-License-Identifier: BSD-3-Clause
// Published names.
#include "tests/schedules/found/found.hpp"

namespace weft::schedules {
namespace {

/// The keeper leaves between its reply and the moment in which the publisher's server hears of it, which is
/// the keeper from then on: that server took the name for one that it keeps, and did not find it.
Schedule publish_whose_keeper_leaves_with_its_reply() {
  auto out = on(3, 2, 4110986, 200000);
  out.operations = {{.kind = Kind::publish,
                     .members = {5},
                     .pauses = {us(0)},
                     .timeout = 1,
                     .name = 2,
                     .range = PMIX_RANGE_NAMESPACE,
                     .persistence = PMIX_PERSIST_SESSION},
                    {.kind = Kind::unpublish,
                     .members = {5},
                     .pauses = {us(0)},
                     .name = 2,
                     .range = PMIX_RANGE_NAMESPACE,
                     .persistence = PMIX_PERSIST_SESSION},
                    {.kind = Kind::invite,
                     .members = {0, 1},
                     .pauses = {us(0), us(0)},
                     .group = "group0",
                     .target = 1,
                     .answers = {Answer::declines, Answer::accepts}},
                    {.kind = Kind::fence_set, .members = first(6), .pauses = pause(6, 0, 0)}};
  out.faults = {{Fault::Kind::node_leaves, 1, us(42)}};
  out.finalizes = true;
  return out;
}

/// A server that a lookup waits at has said nothing to the server of its process, and did not hear of its
/// loss.
Schedule lookup_of_a_lost_node_that_waits() {
  auto out = on(3, 2, 4000380, 5000);
  out.operations = {{.kind = Kind::look_up,
                     .members = {2},
                     .pauses = {us(0)},
                     .timeout = longest_lookup,
                     .name = 3,
                     .waits = true}};
  out.faults = {{Fault::Kind::node_lost, 1, us(95)}};
  return out;
}

/// The reply of a keeper that had left came when the publisher's own server kept the names already, without
/// this one.
Schedule publish_whose_keeper_leaves_before_its_reply() {
  auto out = on(2, 3, 980159434, 200000);
  const auto publish = [](Rank by, int pause, pmix_persistence_t persistence) {
    return Operation{
        .kind = Kind::publish, .members = {by}, .pauses = {us(pause)}, .name = 1, .persistence = persistence};
  };
  out.operations = {{.kind = Kind::invite,
                     .members = {3, 4},
                     .pauses = {us(25), us(47)},
                     .group = "group0",
                     .adjusts = true,
                     .target = 4,
                     .answers = {Answer::accepts, Answer::accepts}},
                    {.kind = Kind::print, .members = {4}, .pauses = {us(14)}},
                    {.kind = Kind::construct,
                     .members = {3, 4},
                     .pauses = {us(0), us(55)},
                     .group = "group1",
                     .differs = true},
                    {.kind = Kind::join, .members = {1}, .pauses = {us(0)}, .group = "group0"},
                    publish(5, 24, PMIX_PERSIST_APP),
                    publish(3, 22, PMIX_PERSIST_FIRST_READ)};
  out.faults = {{Fault::Kind::node_leaves, 0, us(185)}};
  return out;
}

}  // namespace

std::vector<Found> found_names() {
  return {{"publish whose keeper leaves with its reply", publish_whose_keeper_leaves_with_its_reply()},
          {"publish whose keeper leaves before its reply", publish_whose_keeper_leaves_before_its_reply()},
          {"lookup of a lost node that waits", lookup_of_a_lost_node_that_waits()}};
}

}  // namespace weft::schedules
