// SPDX-License-Identifier: BSD-3-Clause
// The pure parts of weftrun: command line, tagged lines, environment, wording.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/node/environment.hpp"
#include "tools/node/line_tagger.hpp"
#include "tools/node/messages.hpp"
#include "tools/node/stop.hpp"
#include "tools/weftrun/options.hpp"

namespace weft::weftrun {

using namespace node;
namespace {

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
  EXPECT_EQ(parse_options({"-bind-to", "core", "-map-by", "numa", "p"}).bind, BindTo::core);
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
  EXPECT_EQ(parse_options({"--map-by", "node", "--rank-by", "slot", "p"}).map, MapBy::node);
  EXPECT_EQ(parse_options({"--rank-by", "node", "p"}).order, RankBy::node);
  EXPECT_EQ(parse_options({"--bind-to", "hwthread", "p"}).bind, BindTo::hwthread);
  EXPECT_FALSE(parse_options({"p"}).oversubscribe);
  EXPECT_TRUE(parse_options({"--oversubscribe", "--dry-run", "--explain", "p"}).oversubscribe);
}

TEST(CommandLine, who_reads_input) {
  EXPECT_EQ(parse_options({"p"}).input.rank, Rank{0});
  EXPECT_EQ(parse_options({"--stdin", "3", "p"}).input.rank, Rank{3});
  EXPECT_EQ(parse_options({"--stdin", "all", "p"}).input.kind, InputTarget::Kind::all);
  EXPECT_EQ(parse_options({"--stdin=none", "p"}).input.kind, InputTarget::Kind::none);
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
  };
  for (const auto& [words, expected] : cases) {
    const std::string said = refusal(words);
    EXPECT_NE(said.find(expected), std::string::npos) << said << "\n  lacks: " << expected;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

std::string tagged(const std::vector<std::string>& chunks) {
  LineTagger tagger(Rank{7});
  std::string out;
  for (const auto& chunk : chunks) tagger.take(chunk, out);
  tagger.finish(out);
  return out;
}

TEST(Tagging, whole_lines) {
  EXPECT_EQ(tagged({}), "");
  EXPECT_EQ(tagged({"a\nb\n"}), "[7] a\n[7] b\n");
  EXPECT_EQ(tagged({"a", "b", "\n"}), "[7] ab\n");
  EXPECT_EQ(tagged({"\n\n"}), "[7] \n[7] \n");
  EXPECT_EQ(tagged({"a\nrest"}), "[7] a\n[7] rest\n");
}

TEST(Tagging, a_line_of_any_length_takes_bounded_memory) {
  const std::string longest(LineTagger::longest_line, 'x');
  EXPECT_EQ(tagged({longest + "\n"}), "[7] " + longest + "\n");
  EXPECT_EQ(tagged({longest + "y\nz\n"}), "[7] " + longest + "\n[7]+ y\n[7] z\n");
  EXPECT_EQ(tagged({longest, longest, "y"}), "[7] " + longest + "\n[7]+ " + longest + "\n[7]+ y\n");
}

TEST(Environment, other_jobs_are_forgotten) {
  EXPECT_TRUE(belongs_to_another_job("PMIX_RANK=3"));
  EXPECT_TRUE(belongs_to_another_job("PMIX_SERVER_URI41=x"));
  EXPECT_TRUE(belongs_to_another_job("OMPI_COMM_WORLD_RANK=1"));
  EXPECT_TRUE(belongs_to_another_job("OMPI_MCA_ess=pmi"));
  EXPECT_FALSE(belongs_to_another_job("OMPI_MCA_btl=self"));
  EXPECT_FALSE(belongs_to_another_job("PMIX_MCA_gds=hash"));
  EXPECT_FALSE(belongs_to_another_job("PATH=/bin"));
}

TEST(Environment, what_servers_read_is_handed_on) {
  char fence[] = "WEFT_FENCE=full", size[] = "WEFT_SEGMENT_BYTES=1",
       fabric[] = "FI_PROVIDER=", tls[] = "UCX_TLS=tcp";
  char token[] = "WEFT_TOKEN=1", segment[] = "WEFT_SEGMENT=1:2", chosen[] = "WEFT_TRANSPORT=ucx",
       path[] = "PATH=/bin", bare[] = "WEFT_FENCE";
  char* const inherited[] = {fence, token, size, segment, fabric, chosen, tls, path, bare, nullptr};
  EXPECT_EQ(server_settings(inherited), (Variables{fence, size, fabric, tls}));
  adopt_settings({"WEFT_TEST_SETTING=a=b", "UCX_TEST_SETTING="});
  EXPECT_STREQ(std::getenv("WEFT_TEST_SETTING"), "a=b");
  EXPECT_STREQ(std::getenv("UCX_TEST_SETTING"), "");
}

TEST(Environment, of_a_program) {
  char path[] = "PATH=/bin", old_rank[] = "PMIX_RANK=3", libraries[] = "LD_LIBRARY_PATH=/opt";
  char* const inherited[] = {path, old_rank, libraries, nullptr};
  App app;
  app.settings = {{"PATH", "/usr/bin"}, {"NEW", "1"}, {"NEW", "2"}, {"ABSENT", std::nullopt}};
  std::vector<std::string> missing;
  const auto variables = app_environment(inherited, app, "/weft/lib", true, missing);
  EXPECT_EQ(variables, (Variables{"PATH=/usr/bin", "LD_LIBRARY_PATH=/weft/lib:/opt", "NEW=2",
                                  "JSM_JSRUN_PORT=0", "OMPI_MCA_mpi_oversubscribe=1"}));
  EXPECT_EQ(missing, (Words{"ABSENT"}));
}

TEST(Environment, the_users_choice_stays) {
  char theirs[] = "OMPI_MCA_mpi_oversubscribe=0";
  char* const inherited[] = {theirs, nullptr};
  std::vector<std::string> missing;
  const auto variables = app_environment(inherited, App{}, "", true, missing);
  EXPECT_EQ(variables, (Variables{"OMPI_MCA_mpi_oversubscribe=0", "JSM_JSRUN_PORT=0"}));
}

TEST(Environment, of_a_rank_replaces_what_is_shared) {
  const Variables shared = {"A=1", "B=2"}, own = {"B=3", "C=4"};
  const auto envp = make_envp(shared, own);
  ASSERT_EQ(envp.size(), 4U);
  EXPECT_STREQ(envp[0], "A=1");
  EXPECT_STREQ(envp[1], "B=3");
  EXPECT_STREQ(envp[2], "C=4");
  EXPECT_EQ(envp[3], nullptr);
}

TEST(Wording, a_failure_names_rank_host_pid_and_program) {
  const messages::Where where{Rank{3}, "node7", 4711, "./ring", ""};
  for (const auto& line :
       {messages::rank_killed(where, 11, false), messages::rank_failed(where, 2, false),
        messages::rank_left_without_finalize(where), messages::rank_aborted(where, 5, "N/A", {})}) {
    EXPECT_EQ(line.find("rank 3 on node7 (pid 4711, ./ring)"), 0U) << line;
    EXPECT_NE(line.find("What to do: "), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_NE(messages::rank_killed(where, 11, false).find("signal 11 (SIGSEGV)"), std::string::npos);
}

}  // namespace
}  // namespace weft::weftrun
