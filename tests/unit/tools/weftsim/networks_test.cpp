// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/networks.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::weftsim {
namespace {

/// A figure without a source is a guess that looks like a fact.
void expect_source(const Figure& figure) {
  EXPECT_GE(figure.source.size(), 10u);
  EXPECT_GE(figure.value, 0);
}

TEST(Networks, each_has_a_name_of_its_own_and_each_figure_a_source) {
  std::set<std::string_view> names;
  for (const auto& network : networks()) {
    SCOPED_TRACE(std::string(network.name));
    EXPECT_TRUE(names.insert(network.name).second);
    EXPECT_EQ(network_of(network.name), &network);
    auto copy = network;
    for (const auto& each : figures_of(copy)) expect_source(*each.figure);
    // A short message takes some time.
    EXPECT_GT(network.latency.value + network.overhead.value, 0);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"slingshot", "ndr", "efa", "10gbe", "here"}));
  EXPECT_EQ(network_of("Slingshot"), nullptr);
}

TEST(Networks, what_a_node_costs_has_sources) {
  auto node = node_figures();
  for (const auto& each : figures_of(node)) expect_source(*each.figure);
}

TEST(Networks, wires_only_leaves_the_processors_out) {
  for (const auto& network : networks()) {
    EXPECT_TRUE(costs_of(network, 0, true).server.is_free());
    EXPECT_FALSE(costs_of(network, 0, false).server.is_free());
    EXPECT_EQ(costs_of(network, 0, true).message.latency, costs_of(network, 0, false).message.latency);
  }
}

}  // namespace
}  // namespace weft::weftsim
