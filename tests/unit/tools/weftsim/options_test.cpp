// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/options.hpp"

#include <gtest/gtest.h>

#include "tools/weftsim/messages.hpp"

namespace weft::weftsim {
namespace {

std::string refusal(const std::vector<std::string>& args) {
  try {
    parse_options(args);
  } catch (const Stop& stop) {
    EXPECT_EQ(stop.exit_code(), exit_status::usage);
    return stop.what();
  }
  return "accepted";
}

TEST(Options, defaults) {
  const auto options = parse_options({"--nodes", "8"});
  EXPECT_EQ(options.ask, Options::Ask::job);
  EXPECT_EQ(options.job.nodes, 8u);
  EXPECT_EQ(options.job.ranks_a_node, 1u);
  EXPECT_EQ(options.job.card_bytes, 64u);
  EXPECT_EQ(options.job.network.name, "ndr");
  EXPECT_EQ(options.operations.size(), operation_names.size());
  EXPECT_FALSE(options.servers || options.json || options.job.lost || options.job.collective);
}

TEST(Options, all) {
  const auto options = parse_options({"--nodes",
                                      "100",
                                      "--ppn",
                                      "128",
                                      "--card",
                                      "256",
                                      "--touch",
                                      "7",
                                      "--network",
                                      "efa",
                                      "--lose",
                                      "99@1.5ms",
                                      "--skew",
                                      "20",
                                      "--seed",
                                      "5",
                                      "--collective",
                                      "tree:8:2",
                                      "--wires-only",
                                      "--servers",
                                      "-j",
                                      "--operations",
                                      "barrier,full_fence,barrier"});
  const auto& job = options.job;
  EXPECT_EQ(job.ranks(), 12'800u);
  EXPECT_EQ(job.card_bytes, 256u);
  EXPECT_EQ(job.touched, 7u);
  EXPECT_EQ(job.network.name, "efa");
  ASSERT_TRUE(job.lost && job.collective);
  EXPECT_EQ(job.lost->node, 99u);
  EXPECT_EQ(job.lost->at, 1'500'000);
  EXPECT_EQ(job.skew, 20'000);
  EXPECT_EQ(job.seed, 5u);
  EXPECT_EQ(job.collective->width, 8u);
  EXPECT_TRUE(job.wires_only && options.servers && options.json);
  EXPECT_EQ(options.operations, (std::vector<std::string>{"barrier", "full_fence"}));
}

TEST(Options, figures_are_set_by_name) {
  const auto job =
      parse_options({"--nodes", "2", "--network", "efa", "--set", "latency=1200.5", "--set", "card=7"}).job;
  EXPECT_EQ(job.network.latency.value, 1200.5);
  EXPECT_EQ(job.network.latency.source, "set on the command line");
  EXPECT_EQ(job.network.overhead.value, network_of("efa")->overhead.value);
  EXPECT_EQ(job.node.card.value, 7);
  for (const char* text : {"latency", "latency=", "latency=x", "latency=-1", "latency=1us", "lat=1", "=1",
                           "cores=1e9", "gap=nan"})
    EXPECT_NE(refusal({"--nodes", "2", "--set", text}).find(text), std::string::npos) << text;
}

TEST(Options, what_asks_for_no_job_needs_no_nodes) {
  EXPECT_EQ(parse_options({"--networks"}).ask, Options::Ask::networks);
  EXPECT_EQ(parse_options({"--targets"}).ask, Options::Ask::targets);
  EXPECT_EQ(parse_options({"-V"}).ask, Options::Ask::version);
  EXPECT_NE(parse_options({"--help"}).help.find("--nodes"), std::string::npos);
}

TEST(Options, what_is_wrong_is_named) {
  EXPECT_NE(refusal({}).find("--nodes is missing"), std::string::npos);
  for (const char* nodes : {"0", "-1", "x", "1048577", "1.5"})
    EXPECT_NE(refusal({"--nodes", nodes}).find("--nodes"), std::string::npos) << nodes;
  EXPECT_NE(refusal({"--nodes", "2", "--ppn", "0"}).find("--ppn"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--network", "token-ring"}).find("slingshot, ndr"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--operations", "barrier,fance"}).find("'fance'"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--operations", "barrier,"}).find("''"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--collective", "bush"}).find("'bush'"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--lose", "2@1us"}).find("no node 2"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "--skew", "-1"}).find("--skew"), std::string::npos);
  EXPECT_NE(refusal({"--nodes", "2", "7"}).find("weftsim --help"), std::string::npos);
  EXPECT_NE(refusal({"--targets", "--json"}).find("--targets"), std::string::npos);
}

TEST(Options, a_loss_is_a_node_and_a_time_with_its_unit) {
  EXPECT_EQ(parse_loss("0@0us").at, 0);
  EXPECT_EQ(parse_loss("3@2s").at, 2'000'000'000);
  for (const char* text :
       {"", "3", "@", "3@", "3@5", "3@5min", "x@5us", "3@-1us", "3@us", "3@1e30s", "3@nanus", "3 @1us"})
    EXPECT_THROW(parse_loss(text), Stop) << text;
}

}  // namespace
}  // namespace weft::weftsim
