// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agent_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/tools/launch/sample_messages.hpp"

namespace weft::launch {
namespace {

using Words = std::vector<std::string>;

TEST(AgentParts, each_node_is_in_one_of_them) {
  for (const std::uint32_t arity : {0U, 1U, 2U, 3U, 32U}) {
    for (std::size_t nodes = 1; nodes <= 100; ++nodes) {
      auto message = message_for(nodes);
      message.agent.arity = arity;
      const auto parts = parts_of(message);
      ASSERT_EQ(parts.size(), arity == 0 ? nodes : std::min<std::size_t>(arity, nodes));
      std::vector<NodeName> all;
      std::size_t smallest = nodes, largest = 0;
      for (const auto& part : parts) {
        all.insert(all.end(), part.nodes.begin(), part.nodes.end());
        smallest = std::min(smallest, part.nodes.size());
        largest = std::max(largest, part.nodes.size());
        EXPECT_EQ(part.key, message.key);
        EXPECT_EQ(part.audience, StartMessage::Audience::one);
      }
      ASSERT_EQ(all, message.nodes);
      ASSERT_GE(smallest, 1U);
      ASSERT_LE(largest - smallest, 1U);
    }
  }
}

/// Walks the tree as the daemons do: each starts what is behind it in its part.
void walk(const StartMessage& message, std::size_t depth, std::vector<std::size_t>& depth_of) {
  for (auto& part : parts_of(message)) {
    depth_of.at(part.nodes.front().number) = depth;
    part.nodes.erase(part.nodes.begin());
    if (!part.nodes.empty()) walk(part, depth + 1, depth_of);
  }
}

TEST(AgentParts, the_tree_reaches_all_in_few_steps) {
  auto message = message_for(10'000);
  std::vector<std::size_t> depth_of(10'000);
  walk(message, 1, depth_of);
  EXPECT_EQ(*std::min_element(depth_of.begin(), depth_of.end()), 1U);
  EXPECT_EQ(*std::max_element(depth_of.begin(), depth_of.end()), 3U);
}

TEST(AgentParts, slurm_has_one_for_all) {
  auto message = message_for(50);
  message.agent = {Agent::Kind::slurm, {"srun"}, 0, "/opt/weftd"};
  const auto parts = parts_of(message);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].nodes, message.nodes);
  EXPECT_EQ(parts[0].audience, StartMessage::Audience::all);
}

TEST(AgentCommand, ssh) {
  auto message = message_for(1);
  message.agent = {Agent::Kind::remote, {"ssh", "-x"}, 32, "/opt/bin/weftd"};
  EXPECT_EQ(agent_command(message), (Words{"ssh", "-x", "n0", "/opt/bin/weftd"}));
  message.agent.weftd = "/my dir/it's/weftd";
  EXPECT_EQ(agent_command(message).back(), R"('/my dir/it'\''s/weftd')");
}

TEST(AgentCommand, template) {
  auto message = message_for(3);
  message.nodes.erase(message.nodes.begin(), message.nodes.begin() + 2);
  message.agent = {Agent::Kind::remote, {"my-start", "--on={host}/{node}", "--", "{command}"}, 0, "/w"};
  EXPECT_EQ(agent_command(message), (Words{"my-start", "--on=n2/2", "--", "/w"}));
}

TEST(AgentCommand, slurm) {
  auto message = message_for(3);
  message.agent = {Agent::Kind::slurm, {"srun"}, 0, "/opt/weftd"};
  const auto words = agent_command(message);
  EXPECT_EQ(words.front(), "srun");
  EXPECT_EQ(words.back(), "/opt/weftd");
  for (const char* word :
       {"--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--nodelist=n[0-2]", "--overlap"})
    EXPECT_NE(std::find(words.begin(), words.end(), word), words.end()) << word;
}

TEST(AgentWords, one_warning_of_sruns) {
  const Agent slurm{Agent::Kind::slurm, {"srun"}, 0, "/w"}, ssh{Agent::Kind::remote, {"ssh"}, 0, "/w"};
  EXPECT_TRUE(is_noise(slurm, "srun: cluster configuration lacks support for cpu binding"));
  EXPECT_FALSE(is_noise(slurm, "srun: error: Only allocated 1 nodes asked for 2"));
  EXPECT_FALSE(is_noise(ssh, "srun: cluster configuration lacks support for cpu binding"));
}

TEST(AgentCommand, nothing_secret_is_on_it) {
  for (const auto kind : {Agent::Kind::fork, Agent::Kind::remote, Agent::Kind::slurm}) {
    auto message = message_for(2);
    message.agent.kind = kind;
    auto other = message;
    other.key = base::Secret::random(StartMessage::key_bytes);
    other.contact = "elsewhere";
    EXPECT_EQ(agent_command(message), agent_command(other));
  }
}

TEST(SplitWords, as_a_shell_would) {
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_EQ(split_words("  ssh  -p 22\t"), (Words{"ssh", "-p", "22"}));
  EXPECT_EQ(split_words(R"(a 'b c' "d 'e" f\ g '' x'y'"z")"), (Words{"a", "b c", "d 'e", "f g", "", "xyz"}));
  EXPECT_EQ(split_words("'a"), std::nullopt);
  EXPECT_EQ(split_words("a\\"), std::nullopt);
  for (const Words& words : {Words{"a b", "it's", "", "$x;`y`", "plain"}, Words{"\\", "\"", "*"}}) {
    std::string line;
    for (const auto& word : words) line += quoted(word) + " ";
    EXPECT_EQ(split_words(line), words) << line;
  }
}

TEST(AgentWords, a_failure_names_node_command_cause_and_remedy) {
  auto message = message_for(6);
  message.agent = {Agent::Kind::remote, {"ssh"}, 32, "/opt/weftd"};
  const auto words = agent_command(message);
  const auto line = agent_ended(message, words, 255 << 8, "ssh: Could not resolve hostname n0", "");
  EXPECT_EQ(
      line,
      "node 'n0' and 5 that it was to start: agent 'ssh n0 /opt/weftd' exited with status 255; the last "
      "it "
      "said was: ssh: Could not resolve hostname n0. What to do: see that 'ssh n0 true' works from here "
      "without a question, or correct the host list");
  EXPECT_NE(agent_ended(message, words, 127 << 8, "", "").find("install Weft as '/opt/weftd'"),
            std::string::npos);
  EXPECT_NE(agent_ended(message, words, 9, "", "").find("was killed by signal 9 and said nothing"),
            std::string::npos);
  EXPECT_NE(agent_ended(message, words, std::nullopt, "", "").find("' ended"), std::string::npos);
  EXPECT_EQ(agent_missing(message, words, "").find("the 6 nodes 'n0' to 'n5': the agent 'ssh' is not there"),
            0U);
  const auto inner = agent_ended(message, words, 255 << 8, "refused", "n7");
  EXPECT_NE(inner.find("see that 'ssh n0 true' works from node 'n7' without"), std::string::npos) << inner;
  EXPECT_NE(inner.find("--agent-arity 0"), std::string::npos) << inner;
  EXPECT_NE(agent_missing(message, words, "n7").find("'ssh' is not on node 'n7'"), std::string::npos);
  const auto library =
      agent_ended(message, words, 127 << 8,
                  "/opt/weftd: error while loading shared libraries: libx.so.1: cannot open", "");
  EXPECT_NE(library.find("What to do: install that library"), std::string::npos) << library;
  const auto own = agent_ended(message, words, 125 << 8, "weftd: [n0] no fabric; set WEFT_TRANSPORT", "");
  EXPECT_EQ(own.find("What to do"), std::string::npos) << own;  // it has said so itself
  message.agent.kind = Agent::Kind::slurm;
  EXPECT_EQ(agent_ended(message, words, 256, "", "").find("the 6 nodes 'n0' to 'n5'"), 0U);
}

}  // namespace
}  // namespace weft::launch
