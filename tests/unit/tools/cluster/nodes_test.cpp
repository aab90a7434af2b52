// SPDX-License-Identifier: BSD-3-Clause
// How far daemons are, as their launcher knows it.
#include "tools/cluster/nodes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace weft::cluster {
namespace {

using S = NodeState;
using E = NodeEvent;
using Numbers = std::vector<std::uint32_t>;

TEST(NodeSteps, every_row) {
  // What is not here changes nothing.
  const std::map<std::pair<S, E>, S> rows = {
      {{S::starting, E::hello}, S::reported},     {{S::starting, E::dismissed}, S::leaving},
      {{S::starting, E::lost}, S::lost},          {{S::reported, E::contact_taken}, S::connected},
      {{S::reported, E::dismissed}, S::leaving},  {{S::reported, E::lost}, S::lost},
      {{S::connected, E::dismissed}, S::leaving}, {{S::connected, E::lost}, S::lost},
      {{S::leaving, E::lost}, S::lost},           {{S::spare, E::wanted}, S::starting},
  };
  for (int state = 0; state < node_states; ++state)
    for (int event = 0; event < node_events; ++event) {
      const auto from = static_cast<S>(state);
      const auto row = rows.find({from, static_cast<E>(event)});
      EXPECT_EQ(node_step(from, static_cast<E>(event)), row == rows.end() ? from : row->second)
          << state << " " << event;
    }
}

TEST(Nodes, the_launchers_own_has_no_daemon) {
  Nodes nodes({"a", "b", "c"}, 1);
  EXPECT_EQ(nodes.daemons(), (Numbers{0, 2}));
  EXPECT_FALSE(nodes.is_daemon(1) || nodes.is_daemon(3));
  EXPECT_EQ(nodes.servers(), 3u);
  EXPECT_EQ(Nodes({"a", "b"}, std::nullopt).servers(), 3u) << "the launcher's is behind those of the nodes";
}

TEST(Nodes, a_spare_has_a_daemon_when_it_is_wanted) {
  Nodes nodes({"a", "b", "c"}, std::nullopt, 2);
  EXPECT_EQ(nodes.daemons(), (Numbers{0}));
  EXPECT_EQ(nodes.count(), 1u);
  EXPECT_EQ(nodes.servers(), 4u) << "they are counted from the start";
  EXPECT_FALSE(nodes.step(2, E::lost)) << "it has nothing to lose";
  EXPECT_TRUE(nodes.step(2, E::wanted));
  EXPECT_FALSE(nodes.step(2, E::wanted));
  EXPECT_EQ(nodes.daemons(), (Numbers{0, 2}));
  EXPECT_EQ(nodes.count(S::starting), 2u);
}

TEST(Nodes, one_that_there_is_room_for_is_a_spare_without_a_name) {
  Nodes nodes({"a"}, std::nullopt, 0, 2);
  EXPECT_EQ(nodes.servers(), 4u);
  EXPECT_EQ(nodes.daemons(), (Numbers{0}));
  nodes.name(2, "c");
  EXPECT_TRUE(nodes.step(2, E::wanted));
  EXPECT_EQ(nodes.host(2), "c");
  EXPECT_EQ(nodes.daemons(), (Numbers{0, 2}));
}

TEST(Nodes, orders_reach_those_that_have_said_hello_and_are_not_lost) {
  Nodes nodes({"a", "b", "c", "d"}, std::nullopt);
  EXPECT_TRUE(nodes.reachable().empty());
  for (const std::uint32_t number : {0u, 1u, 2u}) EXPECT_TRUE(nodes.step(number, E::hello));
  EXPECT_FALSE(nodes.step(0, E::hello)) << "it has said so before";
  nodes.step(0, E::contact_taken);
  nodes.step(2, E::lost);
  EXPECT_EQ(nodes.reachable(), (Numbers{0, 1}));
  EXPECT_TRUE(nodes.has_reported(2) && nodes.is_lost(2));
  nodes.step(0, E::dismissed);
  EXPECT_EQ(nodes.reachable(), (Numbers{0, 1}));
  EXPECT_EQ(nodes.count(S::connected), 0u);
  EXPECT_EQ(nodes.count(S::starting), 1u);
}

TEST(Nodes, what_a_daemon_has_said_of_its_machine) {
  Nodes nodes({"a", "b"}, std::nullopt);
  EXPECT_EQ(nodes.addresses(1), "");
  nodes.set_addresses(1, "10.0.0.2");
  EXPECT_EQ(nodes.addresses(1), "10.0.0.2");
  EXPECT_EQ(nodes.addresses(0), "");
  EXPECT_FALSE(nodes.is_settled(1));
  nodes.step(1, E::hello);
  EXPECT_FALSE(nodes.is_settled(1));
  nodes.step(1, E::contact_taken);
  EXPECT_TRUE(nodes.is_settled(1));
  nodes.step(0, E::lost);
  EXPECT_TRUE(nodes.is_settled(0));
}

}  // namespace
}  // namespace weft::cluster
