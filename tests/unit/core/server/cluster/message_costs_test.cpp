// SPDX-License-Identifier: BSD-3-Clause
// Servers in virtual time find out what their messages cost.
#include "core/server/cluster/message_costs.hpp"

#include <gtest/gtest.h>

#include "simulation/world.hpp"

namespace weft::server {
namespace {

using collectives::Costs;
using simulation::World;
using namespace std::chrono_literals;

World::Shape apart(std::uint32_t nodes) {
  World::Shape out;
  out.nodes = nodes;
  out.ranks_a_node = 1;
  out.is_one_machine = false;
  out.network.message = {.latency = 20'000, .overhead = 1'000, .gap = 2'000, .gap_per_byte = 0.5};
  out.network.serial_nics = true;
  return out;
}

/// What the server of node 0 has found out.
Costs settled(World& world) {
  bool is_done = false;
  auto& costs = world.node(0)->cluster().costs();
  costs.settle([&] { is_done = true; });
  world.wake(0);
  const auto until = world.now() + 1s;
  while (!is_done && world.now() < until) world.step(until);
  EXPECT_TRUE(is_done);
  return costs.rule()->costs();
}

void expect_about(std::uint32_t value, double truth) {
  EXPECT_GT(value, truth / 2);
  EXPECT_LT(value, truth * 2);
}

TEST(MessageCosts, are_those_of_the_network) {
  World world(apart(3));
  const auto costs = settled(world);
  EXPECT_EQ(costs.source, Costs::Source::measured);
  EXPECT_EQ(costs.cores, 0u);
  expect_about(costs.latency, 20'000);
  EXPECT_LE(costs.message, 4'000u);
  expect_about(costs.wire_kib + 2 * costs.work_kib, 0.5 * 1024);
}

TEST(MessageCosts, are_found_out_once) {
  World world(apart(3));
  const auto first = settled(world);
  auto& costs = world.node(0)->cluster().costs();
  costs.take(Costs::on_one_machine(4));
  EXPECT_EQ(costs.rule()->costs().latency, first.latency);
  int settled_again = 0;
  costs.settle([&] { ++settled_again; });
  EXPECT_EQ(settled_again, 1);
}

TEST(MessageCosts, of_servers_on_one_machine_are_not_measured) {
  auto shape = apart(3);
  shape.is_one_machine = true;
  World world(shape);
  const auto before = world.now();
  const auto costs = settled(world);
  EXPECT_EQ(world.now(), before);
  EXPECT_EQ(costs.source, Costs::Source::one_machine);
  EXPECT_GE(costs.cores, 1u);
}

TEST(MessageCosts, stay_as_they_are_where_nothing_answers_in_time) {
  auto shape = apart(2);
  World world(shape);
  world.pause(1, 10s);
  const auto begun = world.now();
  const auto costs = settled(world);
  EXPECT_EQ(costs.source, Costs::Source::assumed);
  EXPECT_GE(world.now() - begun, MessageCosts::patience);
}

TEST(MessageCosts, come_with_the_launch) {
  World world(apart(2));
  auto& far = world.node(1)->cluster().costs();
  const auto found = settled(world);
  far.take(found);
  far.take(Costs{});
  EXPECT_EQ(far.rule()->costs().latency, found.latency);
  EXPECT_EQ(far.rule()->costs().source, Costs::Source::measured);
}

TEST(MessageCosts, of_measured_times_that_cannot_be_are_in_bounds) {
  const MessageCosts::Measured backwards{.small = 10us, .some_small = 1us, .one_long = 1us, .some_long = 0us};
  const auto costs = backwards.costs();
  EXPECT_EQ(costs.message, 0u);
  EXPECT_EQ(costs.wire_kib, 0u);
  EXPECT_EQ(costs.work_kib, 0u);
  EXPECT_LE(costs.latency, 1'000'000'000u);
}

}  // namespace
}  // namespace weft::server
