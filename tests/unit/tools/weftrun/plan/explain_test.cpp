// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/explain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/tools/weftrun/plan/plan_context.hpp"

namespace weft::weftrun {
namespace {

using Words = std::vector<std::string>;

/// Where every node is as `description`, or only this machine.
std::string explained(const Words& words, const char* description, bool every_node, bool why) {
  const Options options = parse_options(words);
  KnownMachine machine = KnownMachine::of(description);
  machine.is_every_node = every_node;
  return explain(make_plan(options, plan_context()), options, machine, why);
}

constexpr const char* machine = "pack:2 [numa] core:2 pu:2";

TEST(Explain, one_node) {
  EXPECT_EQ(explained({"-n", "2", "./a"}, machine, false, false),
            "2 ranks on 1 node\n"
            "node 0 'head', 4 slots, this machine: ranks 0-1\n"
            "  bind-to none (default): 2 ranks for 4 slots: bound only where all are used\n"
            "  rank 0 (./a): slot 0, not bound\n"
            "  rank 1 (./a): slot 1, not bound\n");
  EXPECT_EQ(explained({"-n", "2", "--host", "head:2", "./a"}, machine, false, false),
            "2 ranks on 1 node\n"
            "node 0 'head', 2 slots, this machine: ranks 0-1\n"
            "  bind-to core (default): 2 ranks of 4 cores fill the slots: equal parts\n"
            "  rank 0 (./a): slot 0, cores 0-1 (processors 0-3)\n"
            "  rank 1 (./a): slot 1, cores 2-3 (processors 4-7)\n");
}

TEST(Explain, of_other_nodes_only_a_description_tells_processors) {
  const Words words = {"-n", "3", "--host", "head:1,b:2,c", "--bind-to", "socket", "./a"};
  EXPECT_EQ(explained(words, machine, false, false),
            "3 ranks on 2 nodes\n"
            "node 0 'head', 1 slot, this machine: rank 0\n"
            "  bind-to socket: as asked for\n"
            "  rank 0 (./a): slot 0, socket 0 (processors 0-3)\n"
            "node 1 'b', 2 slots, a daemon: ranks 1-2\n"
            "  the node itself chooses processors when it knows its own\n"
            "  rank 1 (./a): slot 0\n"
            "  rank 2 (./a): slot 1\n"
            "without ranks, and without a daemon: c\n");
  const auto all = explained(words, machine, true, false);
  EXPECT_NE(all.find("rank 2 (./a): slot 1, socket 1 (processors 4-7)"), std::string::npos) << all;
}

TEST(Explain, virtual_nodes_share_the_processors) {
  const auto text =
      explained({"--virtual-nodes", "2", "-n", "4", "--bind-to", "core", "p"}, machine, false, false);
  EXPECT_NE(text.find("rank 1 (p): slot 1, core 1 (processors 2-3)"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 2 (p): slot 0, core 2 (processors 4-5)"), std::string::npos) << text;
  const auto many = explained({"--virtual-nodes", "2", "-n", "6", "p"}, machine, false, false);
  EXPECT_NE(many.find("bind-to none (default): 6 ranks for 4 cores"), std::string::npos) << many;
  EXPECT_NE(many.find("rank 5 (p): slot 2, not bound"), std::string::npos) << many;
}

TEST(Explain, reasons_name_rule_list_and_limit) {
  const auto text = explained({"-n", "5", "--host", "a:2,b:2", "--oversubscribe", "--map-by", "node", "p"},
                              machine, true, true);
  for (const char* reason :
       {"nodes: --host", "daemons: agent 'ssh", "in a tree of arity 32",
        "map-by node: one rank to each node with a free slot in turn", "rank-by node (default)",
        "processors of each node, as WEFT_TOPOLOGY describes them (pack:2 [numa] core:2 pu:2): 4 cores, 8 "
        "hardware",
        "oversubscribed: more ranks than slots"})
    EXPECT_NE(text.find(reason), std::string::npos) << text << "\n  lacks: " << reason;
  const auto whole = explained({"-N", "1", "--host", "a:2,b:2", "p"}, machine, true, true);
  EXPECT_NE(whole.find("ranks: -n is not given, so there are 2: so many on each node"), std::string::npos)
      << whole;
  EXPECT_NE(whole.find("map-by ppr:1:node: 1 rank on each node"), std::string::npos) << whole;
}

TEST(Explain, this_machine_is_looked_at) {
  const Options options = parse_options({"-n", "1", "--bind-to", "core", "p"});
  const auto text = explain(make_plan(options, PlanContext::real()), options, KnownMachine::of(""), true);
  EXPECT_NE(text.find("processors of this machine, as far as weftrun may use them"), std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 0 (p): slot 0, core "), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::weftrun
