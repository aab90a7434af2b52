// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#include "tools/weftrun/command_line/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/messages/stop.hpp"
#include "tools/weftrun/command_line/option_table.hpp"
#include "tools/weftrun/command_line/other_launchers.hpp"

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
  EXPECT_TRUE(options.tags.rank);
}

TEST(CommandLine, the_start_is_reported_in_one_of_two_forms) {
  EXPECT_EQ(parse_options({"p"}).launch_report, LaunchReport::none);
  EXPECT_EQ(parse_options({"--report", "launch", "p"}).launch_report, LaunchReport::text);
  EXPECT_EQ(parse_options({"--report=launch:json", "p"}).launch_report, LaunchReport::json);
  EXPECT_NE(refusal({"--report", "start", "p"}).find("launch or launch:json"), std::string::npos);
  for (const Words& words :
       {Words{"--attach", "--report", "launch", "p"}, Words{"--dvm", "--report", "launch"}})
    EXPECT_NE(refusal(words).find("--report"), std::string::npos) << words[0];
}

TEST(CommandLine, spellings_of_mpirun) {
  for (const Words& words : {Words{"-np", "4", "p"}, Words{"--np", "4", "p"}, Words{"-n4", "p"},
                             Words{"--np=4", "p"}, Words{"--n", "4", "p"}, Words{"-n=4", "p"}}) {
    EXPECT_EQ(parse_options(words).apps.at(0).ranks, 4U) << words[0];
  }
  EXPECT_EQ(parse_options({"-wdir", "/tmp", "p"}).apps.at(0).directory, "/tmp");
  EXPECT_EQ(parse_options({"-bind-to", "core", "-map-by", "numa", "p"}).mapping.bind, job::BindTo::core);
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

TEST(CommandLine, ranks_that_are_stuck_are_looked_for_after_a_time) {
  EXPECT_FALSE(parse_options({"p"}).stuck_after);
  EXPECT_EQ(parse_options({"--report-stuck", "p"}).stuck_after, std::chrono::seconds(60));
  EXPECT_EQ(parse_options({"--report-stuck=0.5", "p"}).stuck_after, std::chrono::milliseconds(500));
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

TEST(CommandLine, a_service_and_its_jobs) {
  using What = ServiceOptions::What;
  const auto service_of = [](const Words& words) { return parse_options(words).service; };
  EXPECT_EQ(service_of({"p"}).what, What::none);
  EXPECT_EQ(service_of({"--dvm", "-H", "a,b"}).name, "default");
  const auto attached = service_of({"-attach=x", "--json", "--detach", "p", "--dvm"});
  EXPECT_EQ(attached.what, What::attach);
  EXPECT_EQ(attached.name, "x");
  EXPECT_TRUE(attached.json && attached.detach);
  EXPECT_EQ(service_of({"--jobs", "--attach"}).what, What::list);
  EXPECT_EQ(service_of({"--stop-dvm=x"}).what, What::stop);
  EXPECT_EQ(parse_options({"--attach", "-n", "1", "p", ":", "-n", "1", "q"}).apps.size(), 2U);
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
  EXPECT_EQ(parse_options({"--node-data", "net=ib", "--node-data=a=b=c", "p"}).node_keys,
            (job::KeyValues{{"net", "ib"}, {"a", "b=c"}}));
  const auto added = parse_options({"--attach", "--add-host", "a:2,[fd00::7]:4", "--add-host", "b", "p"});
  EXPECT_EQ(added.added_hosts, (allocation::Hosts{{"a", 2}, {"fd00::7", 4}, {"b", 1}}));
  EXPECT_EQ(parse_options({"--on-failure", "continue", "p"}).on_failure, OnFailure::go_on);
}

TEST(CommandLine, placement) {
  EXPECT_EQ(parse_options({"-N", "3", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"-npernode", "3", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"--map-by", "ppr:3:node", "p"}).per_node, 3U);
  EXPECT_EQ(parse_options({"--map-by", "node", "--rank-by", "slot", "p"}).mapping.map, job::MapBy::node);
  EXPECT_EQ(parse_options({"--rank-by", "node", "p"}).order, placement::RankBy::node);
  EXPECT_EQ(parse_options({"--bind-to", "hwthread", "p"}).mapping.bind, job::BindTo::hwthread);
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

TEST(CommandLine, which_ranks_stop_for_a_debugger) {
  const auto options = parse_options(
      {"--stop-in-init", "-n", "2", "a", ":", "--stop-on-exec=4,0-1", "--stop-in-app=none", "-n", "2", "b"});
  const auto& first = options.apps[0].stops;
  EXPECT_TRUE(first.at(job::StopPoint::init).all);
  EXPECT_FALSE(first.at(job::StopPoint::exec).is_any());
  const auto& second = options.apps[1].stops;
  EXPECT_EQ(second.at(job::StopPoint::exec).named,
            (std::vector<job::Rank>{job::Rank{0}, job::Rank{1}, job::Rank{4}}));
  EXPECT_FALSE(second.at(job::StopPoint::init).is_any());
  EXPECT_FALSE(second.at(job::StopPoint::app).is_any());
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
      {{"-n"}, "-n lacks its value: -n N"},
      {{"--mca", "a"}, "--mca lacks its value: --mca NAME VALUE"},
      {{"-n", "0", "p"}, "-n '0'"},
      {{"-n", "-1", "p"}, "-1"},
      {{"-n", "two", "p"}, "-n 'two'"},
      {{"-n", "4294967296", "p"}, "-n '4294967296'"},
      {{"-n", "16777217", "p"}, "-n '16777217'"},
      {{"--bind-to", "l2", "p"},
       "--bind-to 'l2' is unknown; it can be none, core, l2cache, l3cache, numa, socket or "
       "hwthread"},
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
      {{"-n", "1", "a", ":", "-n", "1", "--timeout", "3", "b"}, "--timeout speaks of the whole job"},
      {{"-n", "1", "-np", "2", "a"}, "-np is given twice"},
      {{"--oversubscribe=no", "a"}, "--oversubscribe takes no value"},
      {{""}, "the program's name is empty"},
      {{"-hosts", "x", "p"}, "there is no option '-hosts'; mpiexec has one; write --host LIST"},
      {{"-hostfilex", "p"}, "there is no option '-hostfilex'; is it --hostfile?"},
      {{"--hosst=x", "p"}, "there is no option '--hosst'; is it --host?"},
      {{"-Hosts", "x", "p"}, "there is no option '-Hosts'"},
      {{"-xyz", "p"}, "there is no option '-xyz'"},
      {{"-qx", "p"}, "there is no option '-qx'"},
      {{"-hn", "4", "p"}, "there is no option '-hn'"},
      {{"-4", "p"}, "there is no option '-4'"},
      {{"--mca", "a=b", "p"}, "--mca 'a=b' is no name of a parameter"},
      {{"--mca", "plm_rsh_agent", "rsh", "p"},
       "--mca plm_rsh_agent is for another launcher and means nothing here; write --agent"},
      {{"--pmixmca", "a", "b", "p"}, "mpirun has one; this library has no parameters of that kind"},
      {{"--prtemca", "a", "b", "p"}, "mpirun has one; it is for a launcher that is not here"},
      {{"-n", "2", "-ppn", "2", "p"}, "there is no option '-ppn'; mpiexec has one; write -N N"},
      {{"-f", "hosts", "p"}, "there is no option '-f'; mpiexec has one; write --hostfile FILE"},
      {{"-genv", "A", "1", "p"}, "there is no option '-genv'; mpiexec has one; write -x NAME=VALUE"},
      {{"-c", "2", "p"}, "there is no option '-c'; srun has one; write --cpus-per-rank N"},
      {{"--display-map", "p"}, "there is no option '--display-map'; mpirun has one; write --display map"},
      {{"--map-by", "ppr:2:socket", "p"}, "--map-by 'ppr:2:socket' is unknown; with ppr it is ppr:N:node"},
      {{"--map-by", "core:pe=0", "p"}, "--map-by pe= '0'"},
      {{"--map-by", "core:pe=x", "p"}, "--map-by pe= 'x'"},
      {{"--map-by", "core:rank", "p"}, "--map-by 'core:rank' is unknown; it can be a place with :pe=N"},
      {{"--map-by", "core:pe=2", "--cpus-per-rank", "3", "p"}, "each rank is to have 2 cores and 3"},
      {{"--map-by", "core:pe=2", "--bind-to", "numa", "p"}, "--bind-to numa does not go with pe=N"},
      {{"--cpu-list", "0-x", "p"}, "--cpu-list: '0-x' is no processor"},
      {{"--cpu-set", "3-1", "p"}, "--cpu-set: '3-1' is no processor"},
      {{"--display", "map,topo", "p"}, "--display 'topo' is unknown here: lstopo(1)"},
      {{"--display", "x", "p"}, "it can be map, allocation, bind or bindings"},
      {{"--rankfile", "f", "--map-by", "node", "p"}, "leave out --map-by"},
      {{"--rankfile", "f", "--cpus-per-rank", "2", "p"}, "leave out pe=N or --cpus-per-rank"},
      {{"--rankfile", "f", "-N", "2", "p"}, "leave out -N"},
      {{"-rf", "f", "-n", "1", "p", ":", "-n", "1", "-host", "a", "q"},
       "name all nodes before the first program"},
      {{"--prefix", "/a", "--weftd", "/b", "p"}, "--weftd and --prefix each say where the daemon is"},
      {{"--app", "/no/such/file"}, "--app /no/such/file: it cannot be read"},
      {{"--node-data", "net.port", "p"}, "--node-data: the key 'net.port' has no value; write KEY=VALUE"},
      {{"--node-data", "pmix.hname=x", "p"}, "--node-data: the key 'pmix.hname' is reserved"},
      {{"--node-data", "a=1", "--node-data", "a=2", "p"}, "'a' has a value already, '1'"},
      {{"--attach", "--node-data", "a=1", "p"}, "--node-data speaks of nodes"},
      {{"--add-host", "a:0", "p"}, "'0' is not a number of slots"},
      {{"--map-by", "hwthread", "p"}, "--bind-to hwthread"},
  };
  for (const auto& [words, expected] : cases) {
    const std::string said = refusal(words);
    EXPECT_NE(said.find(expected), std::string::npos) << said << "\n  lacks: " << expected;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

TEST(CommandLine, no_option_has_an_empty_value) {
  for (const auto& known : all_options()) {
    if (known.is_flag()) continue;
    std::vector<std::string> names;
    each_name(known, [&](std::string_view name) { names.emplace_back(name); });
    for (const auto& option : names) {
      const std::string expected = option + " has an empty value";
      const auto separate = known.may_have_value() ? option + "=" : option;
      EXPECT_EQ(refusal({separate, "", "p"}).find(expected), 0U) << option;
      EXPECT_EQ(refusal({option + "=", "p"}).find(expected), 0U) << option;
    }
  }
  EXPECT_EQ(parse_options({"-x", "A=", "p", ""}).apps.at(0).argv, (Words{"p", ""}));
}

TEST(CommandLine, the_options_of_the_standards_mpiexec) {
  const Options options = parse_options({"-n", "2", "-host", "a", "-wdir", "/w", "-path", "/p:/q", "one", ":",
                                         "-n", "3", "-host", "b:3", "two"});
  ASSERT_EQ(options.apps.size(), 2U);
  EXPECT_EQ(options.hosts, Words{"a"});
  EXPECT_EQ(options.own_hosts, (std::vector<Words>{{}, {"b:3"}}));
  EXPECT_EQ(options.apps[0].path, "/p:/q");
  EXPECT_EQ(options.apps[0].directory, "/w");
  EXPECT_EQ(options.apps[1].ranks, 3U);
  EXPECT_NE(refusal({"-soft", "1:4", "p"}).find("write -n N"), std::string::npos);
  EXPECT_NE(refusal({"-arch", "x", "p"}).find("--host LIST"), std::string::npos);
}

TEST(CommandLine, parameters_of_open_mpi_are_variables) {
  const Options options = parse_options(
      {"--gmca", "g", "0", "-mca", "pml", "ob1", "-x", "A=1", "-n", "1", "p", ":", "-n", "1", "q"});
  const auto& settings = options.apps.at(0).settings;
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].name, "OMPI_MCA_g");
  EXPECT_EQ(settings[1].name, "OMPI_MCA_pml");
  EXPECT_EQ(settings[1].value, "ob1");
  EXPECT_EQ(settings[2].name, "A");
  ASSERT_EQ(options.apps.at(1).settings.size(), 1U);
  EXPECT_EQ(options.apps[1].settings[0].value, "0");
}

TEST(CommandLine, cores_for_each_rank) {
  const auto by_modifier = parse_options({"--map-by", "numa:PE=4", "p"});
  EXPECT_EQ(by_modifier.mapping, (job::Mapping{job::BindTo::automatic, job::MapBy::numa, 4, false}));
  EXPECT_FALSE(by_modifier.sets_openmp);
  const auto by_option = parse_options({"--cpus-per-rank", "4", "--oversubscribe", "p"});
  EXPECT_EQ(by_option.mapping, (job::Mapping{job::BindTo::automatic, job::MapBy::automatic, 4, true}));
  EXPECT_TRUE(by_option.sets_openmp);
  const auto per_node = parse_options({"--map-by", "ppr:2:node:pe=3,oversubscribe", "p"});
  EXPECT_EQ(per_node.per_node, 2U);
  EXPECT_EQ(per_node.mapping.cores_each, 3U);
  EXPECT_TRUE(per_node.oversubscribe);
  EXPECT_TRUE(parse_options({"--map-by", ":OVERSUBSCRIBE", "p"}).oversubscribe);
  EXPECT_EQ(parse_options({"--map-by", "slot:pe=2", "--cpus-per-proc", "2", "p"}).mapping.cores_each, 2U);
  EXPECT_EQ(parse_options({"--map-by", "slot:pe=2", "--bind-to", "hwthread", "p"}).mapping.bind,
            job::BindTo::hwthread);
}

TEST(CommandLine, more_words_of_mpirun) {
  const Options options =
      parse_options({"--cpu-list", "0-2,1,8", "--timestamp-output", "--merge-stderr-to-stdout", "--display",
                     "map,allocation", "--prefix", "/opt/weft", "-rf", "ranks", "p"});
  EXPECT_EQ(options.processors, (std::vector<unsigned>{0, 1, 2, 8}));
  EXPECT_TRUE(options.tags.time);
  EXPECT_FALSE(options.tags.rank);
  EXPECT_TRUE(options.merges_errors);
  EXPECT_TRUE(options.shows_map && options.shows_allocation);
  EXPECT_FALSE(options.report_bindings);
  EXPECT_EQ(options.weftd, "/opt/weft/bin/weftd");
  EXPECT_EQ(options.rank_file, "ranks");
  EXPECT_TRUE(parse_options({"--display", "bind", "--display", "map", "p"}).report_bindings);
  EXPECT_EQ(parse_options({"--bind-to", "l3cache", "p"}).mapping.bind, job::BindTo::l3cache);
}

TEST(CommandLine, no_word_is_both_offered_and_answered) {
  for (const auto& option : all_options())
    each_name(option, [](std::string_view name) { EXPECT_EQ(instead_of_option(name), "") << name; });
}

TEST(CommandLine, help_names_every_option) {
  const auto help = parse_options({"--help"}).help;
  for (const auto& option : all_options())
    EXPECT_NE(help.find("  " + std::string(option.names)), std::string::npos) << option.names;
  for (std::size_t begin = 0; begin < help.size();) {
    const auto end = help.find('\n', begin);
    EXPECT_LE(end - begin, 110U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(CommandLine, short_options_without_a_blank) {
  EXPECT_TRUE(parse_options({"-qv", "p"}).quiet);
  EXPECT_EQ(parse_options({"-N2", "-n4", "p"}).per_node, 2U);
  EXPECT_EQ(parse_options({"-host=a", "p"}).hosts, Words{"a"});
  EXPECT_NE(parse_options({"-help"}).help, "");
}

}  // namespace
}  // namespace weft::weftrun
