// SPDX-License-Identifier: BSD-3-Clause
// The account of a start: which phases there are, of which nodes, and how far it came.
#include "tools/weftrun/launcher/records/start_account.hpp"

#include <gtest/gtest.h>

namespace weft::weftrun {
namespace {

using messages::StartPhase;

const StartPhase* phase(const messages::StartAccount& account, const std::string& name) {
  for (const auto& each : account.phases)
    if (each.name == name) return &each;
  return nullptr;
}

job::NodeStart told() {
  job::NodeStart out;
  out.map = 10;
  out.spawn = 20;
  out.load = 30;
  out.init = 40;
  out.fence = 50;
  out.ranks = out.in_init = out.fenced = 2;
  out.fence_bytes = 100;
  return out;
}

TEST(StartAccountOf, one_node_has_no_phases_of_daemons) {
  StartAccount account(std::chrono::microseconds(1500), {"a"});
  account.server_is_ready();
  account.all_run();
  account.take(0, told());
  const auto out = account.result({.nspace = "j", .ranks = 2, .nodes = {0}, .own = 0});
  EXPECT_EQ(phase(out, "allocation")->own, 1500u);
  EXPECT_TRUE(phase(out, "server")->own);
  for (const char* name : {"agents", "connect", "order", "first touch"}) EXPECT_EQ(phase(out, name), nullptr);
  EXPECT_EQ(phase(out, "load")->nodes.at(0).microseconds, 30u);
  EXPECT_FALSE(phase(out, "first fence")->bytes) << "nothing is sent on a node";
  EXPECT_GE(out.running_after, 1500u);
  EXPECT_TRUE(out.silent.empty());
}

TEST(StartAccountOf, several_nodes_names_those_that_tell_nothing) {
  StartAccount account({}, {"a", "b", "c"});
  account.server_is_ready();
  account.agents_start();
  account.agents_run();
  for (const std::uint32_t node : {1u, 2u}) account.daemon_connected(node);
  account.daemon_connected(7);  // a spare node, which the job is not on
  account.order_goes_out();
  account.order_bytes(500);
  for (const std::uint32_t node : {1u, 2u}) account.node_started(node);
  account.take(0, told());
  account.take(1, told());
  const auto out = account.result({.nspace = "j", .ranks = 6, .nodes = {0, 1, 2}, .own = 0});
  EXPECT_EQ(phase(out, "connect")->of, 2u) << "weftrun's own node has no daemon";
  EXPECT_EQ(phase(out, "connect")->nodes.size(), 2u);
  EXPECT_EQ(phase(out, "order")->nodes.size(), 1u) << "of a node that has not told the way is not known";
  EXPECT_EQ(phase(out, "order")->bytes, 500u);
  EXPECT_EQ(phase(out, "map")->of, 3u);
  EXPECT_EQ(phase(out, "map")->nodes.size(), 2u);
  EXPECT_EQ(phase(out, "first fence")->bytes, 200u);
  EXPECT_TRUE(phase(out, "first touch")->nodes.empty());
  EXPECT_EQ(out.silent, std::vector<std::string>{"c"});
  EXPECT_FALSE(out.running_after);
}

TEST(StartAccountOf, a_start_that_failed_ends_where_it_came_to) {
  StartAccount account({}, {"a", "b"});
  account.server_is_ready();
  account.agents_start();
  account.agents_run();
  account.daemon_connected(0);
  const auto out = account.result({.nspace = "j", .ranks = 2, .nodes = {0, 1}});
  EXPECT_EQ(phase(out, "connect")->nodes.size(), 1u);
  EXPECT_TRUE(phase(out, "order")->nodes.empty());
  EXPECT_FALSE(phase(out, "order")->bytes);
  EXPECT_TRUE(phase(out, "map")->nodes.empty());
  EXPECT_EQ(out.silent.size(), 2u);
}

}  // namespace
}  // namespace weft::weftrun
