// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#include "tools/weftrun/command_line/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/messages/stop.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

using Words = std::vector<std::string>;

std::string refusal(const Words& words) {
  try {
    parse_options(words);
  } catch (const Stop& stop) {
    EXPECT_EQ(stop.exit_code(), exit_status::usage);
    return stop.what();
  }
  return "accepted";
}

TEST(CommandLine, options_end_at_the_program) {
  const Options options =
      parse_options({"-n", "3", "--tag-output", "prog", "-n", "7", "--wdir", "-np", "--help"});
  ASSERT_EQ(options.apps.size(), 1U);
  EXPECT_EQ(options.apps[0].ranks, 3U);
  EXPECT_EQ(options.apps[0].argv, (Words{"prog", "-n", "7", "--wdir", "-np", "--help"}));
  EXPECT_TRUE(options.tag_output);
}

TEST(CommandLine, spellings_of_mpirun) {
  for (const Words& words :
       {Words{"-np", "4", "p"}, Words{"--np", "4", "p"}, Words{"-n4", "p"}, Words{"--np=4", "p"}}) {
    EXPECT_EQ(parse_options(words).apps.at(0).ranks, 4U) << words[0];
  }
  EXPECT_EQ(parse_options({"-wdir", "/tmp", "p"}).apps.at(0).directory, "/tmp");
  EXPECT_EQ(parse_options({"-bind-to", "core", "-map-by", "numa", "p"}).bind, job::BindTo::core);
  EXPECT_EQ(parse_options({"--oversubscribe", "--allow-run-as-root", "p"}).apps.at(0).argv, Words{"p"});
}

TEST(CommandLine, settings) {
  const auto app = parse_options({"-x", "A", "-x", "B=1=2", "-x", "C=", "p", "-x", "D"}).apps.at(0);
  ASSERT_EQ(app.settings.size(), 3U);
  EXPECT_EQ(app.settings[0].name, "A");
  EXPECT_FALSE(app.settings[0].value);
  EXPECT_EQ(app.settings[1].value, "1=2");
  EXPECT_EQ(app.settings[2].value, "");
  EXPECT_EQ(app.argv, (Words{"p", "-x", "D"}));
}

TEST(CommandLine, several_programs) {
  const Options options = parse_options(
      {"--timeout", "1.5", "-n", "2", "a", "x", ":", "-n", "3", "-x", "V=1", "--wdir", "/", "b"});
  ASSERT_EQ(options.apps.size(), 2U);
  EXPECT_EQ(options.limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(options.apps[0].argv, (Words{"a", "x"}));
  EXPECT_TRUE(options.apps[0].directory.empty());
  EXPECT_EQ(options.apps[1].ranks, 3U);
  EXPECT_EQ(options.apps[1].directory, "/");
  EXPECT_EQ(options.apps[1].settings.size(), 1U);
}

TEST(CommandLine, nodes) {
  const Options hosts =
      parse_options({"--host", "a:2,b", "-host", "c", "-H", "n[1-2]", "--agent", "my ssh", "p", "--host"});
  EXPECT_EQ(hosts.hosts, (Words{"a:2,b", "c", "n[1-2]"}));
  EXPECT_EQ(hosts.agent, "my ssh");
  EXPECT_EQ(hosts.apps.at(0).argv, (Words{"p", "--host"}));
  EXPECT_EQ(parse_options({"-hostfile", "f", "p"}).hostfile, "f");
  EXPECT_EQ(parse_options({"-machinefile", "f", "p"}).hostfile, "f");
  const Options made = parse_options({"--virtual-nodes", "3:4", "--weftd", "/w", "--agent-arity", "0", "p"});
  EXPECT_EQ(made.virtual_nodes->nodes, 3U);
  EXPECT_EQ(made.virtual_nodes->slots, 4U);
  EXPECT_EQ(made.arity, 0U);
  EXPECT_EQ(parse_options({"--virtual-nodes", "3", "p"}).virtual_nodes->slots, 0U);
  EXPECT_EQ(parse_options({"--on-failure", "continue", "p"}).on_failure, OnFailure::go_on);
}

TEST(CommandLine, placement) {
  EXPECT_EQ(parse_options({"-N", "3", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"-npernode", "3", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"--map-by", "ppr:3:node", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"--map-by", "node", "--rank-by", "slot", "p"}).map, job::MapBy::node);
  EXPECT_EQ(parse_options({"--rank-by", "node", "p"}).order, placement::RankBy::node);
  EXPECT_EQ(parse_options({"--bind-to", "hwthread", "p"}).bind, job::BindTo::hwthread);
  EXPECT_FALSE(parse_options({"p"}).oversubscribe);
  EXPECT_TRUE(parse_options({"--oversubscribe", "--dry-run", "--explain", "p"}).oversubscribe);
}

TEST(CommandLine, whether_pmi_is_served) {
  EXPECT_EQ(parse_options({"p"}).pmi, job::Pmi::automatic);
  EXPECT_EQ(parse_options({"--pmi", "auto", "p"}).pmi, job::Pmi::automatic);
  EXPECT_EQ(parse_options({"--pmi=on", "p"}).pmi, job::Pmi::always);
  EXPECT_EQ(parse_options({"-pmi", "off", "p"}).pmi, job::Pmi::never);
  EXPECT_THROW(parse_options({"--pmi", "2", "p"}), messages::Stop);
}

TEST(CommandLine, which_ranks_read_input) {
  EXPECT_EQ(parse_options({"p"}).input.rank, Rank{0});
  EXPECT_EQ(parse_options({"--stdin", "3", "p"}).input.rank, Rank{3});
  EXPECT_EQ(parse_options({"--stdin", "all", "p"}).input.kind, job::InputTarget::Kind::all);
  EXPECT_EQ(parse_options({"--stdin=none", "p"}).input.kind, job::InputTarget::Kind::none);
}

TEST(CommandLine, what_is_wrong_is_named) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{}, "no program is named"},
      {{"-n", "2"}, "no program is named"},
      {{"-n", "0", "p"}, "-n '0'"},
      {{"-n", "-1", "p"}, "-1"},
      {{"-n", "two", "p"}, "-n 'two'"},
      {{"-n", "4294967296", "p"}, "-n '4294967296'"},
      {{"-n", "16777217", "p"}, "-n '16777217'"},
      {{"--bind-to", "l2", "p"}, "--bind-to 'l2' is unknown; it can be none, core, numa, socket or hwthread"},
      {{"--map-by", "ppr:2:core", "p"}, "it is ppr:N:node"},
      {{"--map-by", "ppr:0:node", "p"}, "--map-by ppr: '0'"},
      {{"--map-by", "ppr:2", "p"}, "it is ppr:N:node"},
      {{"-N", "2", "--map-by", "ppr:2:node", "p"}, "say the same"},
      {{"-N", "65536", "p"}, "-N '65536'"},
      {{"--rank-by", "core", "p"}, "--rank-by 'core' is unknown; it can be slot or node"},
      {{"--virtual-nodes", "0", "p"}, "--virtual-nodes '0'"},
      {{"--virtual-nodes", "2:", "p"}, "--virtual-nodes K: ''"},
      {{"--virtual-nodes", "2", "--host", "a", "p"}, "give one of them"},
      {{"--host", "a", "--hostfile", "f", "p"}, "give one of them"},
      {{"--agent-arity", "-1", "p"}, "-1"},
      {{"--on-failure", "wait", "p"}, "--on-failure 'wait' is unknown; it can be end or continue"},
      {{"--map-by", "x", "p"}, "--map-by 'x'"},
      {{"--timeout", "0", "p"}, "--timeout '0'"},
      {{"--timeout", "nan", "p"}, "--timeout 'nan'"},
      {{"--timeout", "5s", "p"}, "--timeout '5s'"},
      {{"--stdin", "some", "p"}, "--stdin 'some'"},
      {{"-x", "=1", "p"}, "-x '=1'"},
      {{"--bogus", "p"}, "there is no option '--bogus'"},
      {{"-n", "1", "a", ":", "b"}, "needs its own -n; 'b' has none"},
      {{"-n", "1", "a", ":"}, "no program is named"},
      {{"-n", "1", "a", ":", "-n", "1", "--timeout", "3", "b"}, "there is no option '--timeout'"},
      {{""}, "the program's name is empty"},
      {{"-hosts", "x", "p"}, "there is no option '-hosts'; write --host LIST"},
      {{"-hostfilex", "p"}, "there is no option '-hostfilex'; is it --hostfile?"},
      {{"--hosst=x", "p"}, "there is no option '--hosst'; is it --host?"},
      {{"-Hosts", "x", "p"}, "there is no option '-Hosts'"},
      {{"-xyz", "p"}, "there is no option '-xyz'"},
      {{"-qx", "p"}, "there is no option '-qx'"},
      {{"-n=4", "p"}, "there is no option '-n'"},
      {{"--n", "4", "p"}, "there is no option '--n'; is it --np?"},
      {{"-hn", "4", "p"}, "there is no option '-hn'"},
      {{"-4", "p"}, "there is no option '-4'"},
      {{"--mca", "a", "b", "p"}, "there is no option '--mca'; a parameter of Open MPI is a variable here"},
      {{"-n", "2", "-ppn", "2", "p"}, "there is no option '-ppn'; write -N N"},
      {{"-f", "hosts", "p"}, "there is no option '-f'; write --hostfile FILE"},
      {{"-genv", "A", "1", "p"}, "there is no option '-genv'; write -x NAME=VALUE"},
      {{"--rankfile=f", "p"}, "there is no option '--rankfile'; ranks cannot be placed one by one"},
      {{"--map-by", "ppr:2:socket", "p"}, "--map-by 'ppr:2:socket' is unknown; with ppr it is ppr:N:node"},
      {{"--map-by", "socket:PE=2", "p"}, "there is no option for a number of cores"},
      {{"--map-by", "hwthread", "p"}, "--bind-to hwthread"},
  };
  for (const auto& [words, expected] : cases) {
    const std::string said = refusal(words);
    EXPECT_NE(said.find(expected), std::string::npos) << said << "\n  lacks: " << expected;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(CommandLine, no_option_has_an_empty_value) {
  for (const char* option : {"-n",        "--np",          "-np",     "-x",           "--wdir",
                             "--pset",    "--host",        "-H",      "--hostfile",   "--virtual-nodes",
                             "--agent",   "--agent-arity", "--weftd", "--on-failure", "--bind-to",
                             "--map-by",  "--rank-by",     "-N",      "--npernode",   "--output-dir",
                             "--timeout", "--stdin",       "--pmi"}) {
    const std::string expected = std::string(option) + " has an empty value";
    EXPECT_EQ(refusal({option, "", "p"}).find(expected), 0U) << option;
    if (option[1] == '-') {
      EXPECT_EQ(refusal({std::string(option) + "=", "p"}).find(expected), 0U) << option;
    }
  }
  EXPECT_EQ(parse_options({"-x", "A=", "p", ""}).apps.at(0).argv, (Words{"p", ""}));
}

TEST(CommandLine, short_options_without_a_blank) {
  EXPECT_TRUE(parse_options({"-qv", "p"}).quiet);
  EXPECT_EQ(parse_options({"-N2", "-n4", "p"}).per_node, 2U);
  EXPECT_EQ(parse_options({"-host=a", "p"}).hosts, Words{"a"});
  EXPECT_NE(parse_options({"-help"}).help, "");
}

}  // namespace
}  // namespace weft::weftrun
