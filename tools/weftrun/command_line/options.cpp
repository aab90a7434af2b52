// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/allocation/hosts.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/command_line/other_launchers.hpp"
#include "tools/weftrun/command_line/seconds.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr std::uint32_t most_virtual_nodes = 4096;
constexpr job::Names<placement::RankBy, 2> order_names{
    {{"slot", placement::RankBy::slot}, {"node", placement::RankBy::node}}};
constexpr job::Names<job::Pmi, 3> pmi_names{
    {{"auto", job::Pmi::automatic}, {"on", job::Pmi::always}, {"off", job::Pmi::never}}};
constexpr job::Names<OnFailure, 2> failure_names{{{"end", OnFailure::end}, {"continue", OnFailure::go_on}}};

template <class Value, std::size_t n>
Value named(const char* option, const std::string& text, const job::Names<Value, n>& names) {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  if (const auto instead = instead_of_placement(text); !instead.empty())
    refuse(fmt::format("{} '{}' is unknown here: {}", option, text, instead));
  std::string known = names[0].first;
  for (std::size_t i = 1; i < n; ++i)
    known += fmt::format("{}{}", i + 1 == n ? " or " : ", ", names[i].first);
  refuse(fmt::format("{} '{}' is unknown; it can be {}", option, text, known));
}

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// what: as in "is not a number of ranks".
std::uint32_t count_of(const char* option, std::string_view text, const char* what, std::uint32_t least,
                       std::uint32_t most) {
  const auto count = whole_number(text);
  if (!count || *count < least || *count > most)
    refuse(fmt::format("{} '{}' is not a number of {}; it can be {} to {}", option, text, what, least, most));
  return *count;
}

VirtualNodes virtual_nodes(const std::string& text) {
  const auto colon = std::min(text.find(':'), text.size());
  VirtualNodes made;
  made.nodes = count_of("--virtual-nodes", text.substr(0, colon), "nodes", 1, most_virtual_nodes);
  if (colon < text.size())
    made.slots = count_of("--virtual-nodes K:", text.substr(colon + 1), "slots", 1, job::most_ranks_a_node);
  return made;
}

/// "ppr:N:node". A number for each of other objects can be had by binding.
std::uint32_t ranks_per_node(const std::string& text) {
  const auto colon = text.find(':', 4);
  if (colon == std::string::npos || text.substr(colon) != ":node")
    refuse(
        fmt::format("--map-by '{}' is unknown; with ppr it is ppr:N:node, N ranks on each node; "
                    "--map-by socket or numa gives each of those a rank in turn",
                    text));
  return count_of("--map-by ppr:", text.substr(4, colon - 4), "ranks", 1, job::most_ranks_a_node);
}

job::InputTarget input_target(const std::string& text) {
  if (text == "all") return {job::InputTarget::Kind::all, Rank{0}};
  if (text == "none") return {job::InputTarget::Kind::none, Rank{0}};
  const auto rank = whole_number(text);
  if (!rank)
    refuse(fmt::format("--stdin '{}' is unknown; it can be all, none or the number of a rank", text));
  return {job::InputTarget::Kind::one, Rank{*rank}};
}

std::chrono::milliseconds time_limit(const std::string& text) {
  constexpr double most = 1e9;  // some 30 years
  const auto limit = read_seconds(text, most);
  if (!limit) refuse(fmt::format("--timeout '{}' is not a time; it is in seconds and above 0", text));
  return *limit;
}

job::EnvironmentSetting environment_setting(const std::string& text) {
  const auto equals = text.find('=');
  job::EnvironmentSetting setting{text.substr(0, equals), std::nullopt};
  if (equals != std::string::npos) setting.value = text.substr(equals + 1);
  if (setting.name.empty())
    refuse(fmt::format("-x '{}' names no variable; write -x NAME or -x NAME=VALUE", text));
  return setting;
}

/// The values as text, filled in by CLI11; the checks above turn them into Options with our own wording of
/// errors.
struct Raw {
  std::optional<std::string> process_set;
  std::string ranks, directory, bind, map, input, output_directory, limit;
  std::string hostfile, virtual_nodes, agent, arity, weftd, order, per_node, on_failure, pmi;
  std::vector<std::string> settings, hosts;
  bool report_bindings = false, tag_output = false, quiet = false, verbose = false, version = false;
  bool oversubscribe = false, dry_run = false, explain = false, ignored = false;
};

void add_app_options(CLI::App& grammar, Raw& raw) {
  grammar.add_option("-n,--np", raw.ranks, "Ranks of this program (also -np); default: one for each slot")
      ->type_name("N");
  grammar.add_option("-x", raw.settings, "Set a variable for this program; repeatable")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);  // one value each, or it would swallow the program's name
  grammar.add_option("--wdir,--wd", raw.directory, "Change to this directory before the program starts")
      ->type_name("DIR");
  grammar.add_option("--pset", raw.process_set, "Name the ranks of this program; programs may share a name")
      ->type_name("NAME");
}

void add_node_options(CLI::App& grammar, Raw& raw) {
  grammar.add_option("--host,-H", raw.hosts, "Nodes and their slots: a:2,b:2 or n[01-16]:8; repeatable")
      ->type_name("LIST")
      ->allow_extra_args(false);
  grammar.add_option("--hostfile,--machinefile", raw.hostfile, "Nodes from a file: lines 'name slots=N'")
      ->type_name("FILE");
  grammar.add_option("--virtual-nodes", raw.virtual_nodes, "K nodes on this machine, for trials and tests")
      ->type_name("K[:SLOTS]");
  grammar
      .add_option("--agent", raw.agent,
                  "What starts daemons: slurm, ssh, a command used as ssh is, or one with {host}, {command}")
      ->type_name("COMMAND");
  grammar
      .add_option("--agent-arity", raw.arity, "Daemons that each starts by itself (ssh: 32); 0: weftrun all")
      ->type_name("N");
  grammar.add_option("--weftd", raw.weftd, "Where the daemon is on all nodes; default: beside weftrun")
      ->type_name("PATH");
  grammar.add_option("--on-failure", raw.on_failure, "When a rank or node is lost: end (default), continue")
      ->type_name("WHAT");
}

void add_placement_options(CLI::App& grammar, Raw& raw) {
  grammar.add_option("--bind-to", raw.bind, "Bind each rank to: none, core, numa, socket, hwthread")
      ->type_name("WHAT");
  grammar.add_option("--map-by", raw.map, "Binding ranks by: slot, node, numa, core, socket, ppr:N:node")
      ->type_name("WHAT");
  grammar.add_option("--rank-by", raw.order, "Number the ranks by: slot, node")->type_name("WHAT");
  grammar.add_option("-N,--npernode", raw.per_node, "N ranks on each node, as --map-by ppr:N:node")
      ->type_name("N");
  grammar.add_flag("--oversubscribe", raw.oversubscribe, "More ranks than slots are allowed");
  grammar.add_flag("--dry-run", raw.dry_run, "Print where each rank would go, and start nothing");
  grammar.add_flag("--explain", raw.explain, "Say where each rank goes and why");
}

void add_job_options(CLI::App& grammar, Raw& raw) {
  grammar.add_flag("--report-bindings", raw.report_bindings,
                   "Say on standard error where each rank is bound");
  grammar.add_flag("--tag-output", raw.tag_output, "Start each line of output with [rank]");
  grammar
      .add_option("--output-dir", raw.output_directory,
                  "Write DIR/rank.<r>.out and .err instead of forwarding")
      ->type_name("DIR");
  grammar.add_option("--timeout", raw.limit, "End the job after this time, with status 124")
      ->type_name("SECONDS");
  grammar.add_option("--stdin", raw.input, "Who reads standard input: a rank (default 0), all, none")
      ->type_name("WHO");
  grammar
      .add_option("--pmi", raw.pmi, "Serve PMI-1 to the ranks (MPICH): auto (default: where needed), on, off")
      ->type_name("WHEN");
  grammar.add_flag("-q,--quiet", raw.quiet, "Say nothing about how the job went; the exit status tells");
  grammar.add_flag("-v,--verbose", raw.verbose, "Say what is set, started and connected");
  grammar.add_flag("-V,--version", raw.version, "Print the version and leave");
  // Scripts written for mpirun pass it.
  grammar.add_flag("--allow-run-as-root", raw.ignored, "Accepted; always allowed");
}

/// How many letters must be added, taken away or changed to make one of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The long option that `word` (with two dashes) may have been meant for; empty: none is near.
std::string nearest(const CLI::App& grammar, std::string_view word) {
  constexpr std::size_t near = 3;
  std::string found;
  std::size_t least = std::min(near, word.size() / 3 + 1);
  for (const CLI::Option* option : grammar.get_options()) {
    for (const auto& name : option->get_lnames()) {
      const auto away = distance(word, "--" + name);
      if (away >= least) continue;
      least = away;
      found = "--" + name;
    }
  }
  return found;
}

[[noreturn]] void refuse_option(const CLI::App& grammar, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::string line = fmt::format("there is no option '{}'", name);
  if (const auto instead = instead_of_option(name); !instead.empty())
    refuse(fmt::format("{}; {}", line, instead));
  const std::string longer = name.compare(0, 2, "--") == 0 ? name : "-" + name;
  if (const auto other = nearest(grammar, longer); !other.empty()) line += fmt::format("; is it {}?", other);
  refuse(line);
}

/// Is this single dash with several letters one that holds short options: -n4, -qv?
bool is_short_form(const CLI::App& grammar, const std::string& word) {
  const CLI::Option* first = grammar.get_option_no_throw(word.substr(0, 2));
  if (word.size() < 3 || first == nullptr) return false;
  const auto rest = std::string_view(word).substr(2);
  // Only numbers are understood without a blank: -hosts and -Hosts are words of other launchers.
  if (first->get_expected_max() > 0) return rest.find_first_not_of("0123456789") == std::string_view::npos;
  return std::all_of(rest.begin(), rest.end(), [&](char letter) {
    const CLI::Option* flag = grammar.get_option_no_throw(std::string{'-', letter});
    return flag != nullptr && flag->get_expected_max() == 0;
  });
}

/// Checks the words before the program's name: each is an option of the grammar, and none has an empty value.
/// Users of mpirun write long options with one dash (-np 4, -wdir /tmp), which gets its second here.
void check_options(const CLI::App& grammar, std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size() && args[i].size() > 1 && args[i][0] == '-' && args[i] != "--";
       ++i) {
    const std::string given = args[i].substr(0, args[i].find('='));
    const std::string longer = args[i][1] == '-' ? args[i] : "-" + args[i];
    const auto equals = longer.find('=');
    const std::string name = longer.substr(0, equals);
    const bool is_long = name.size() > 3;  // "--n" is none
    const CLI::Option* option = is_long ? grammar.get_option_no_throw(name) : nullptr;
    if (option != nullptr)
      args[i] = longer;
    else if (args[i].size() == 2)
      option = grammar.get_option_no_throw(args[i]);
    else if (is_short_form(grammar, args[i]))
      continue;
    if (option == nullptr) refuse_option(grammar, args[i]);
    const bool has_value = option->get_expected_max() > 0;
    const bool value_follows = has_value && equals == std::string::npos;
    if (value_follows) ++i;
    const std::string_view value = equals != std::string::npos ? std::string_view(longer).substr(equals + 1)
                                   : i < args.size()           ? std::string_view(args[i])
                                                               : "-";
    if (has_value && value.empty())
      refuse(fmt::format("{} has an empty value; is a variable in it not set?", given));
  }
}

/// Fills in `raw` and returns what follows the options: program and arguments.
std::vector<std::string> read_section(CLI::App& grammar, std::vector<std::string> args) {
  grammar.prefix_command();  // the first word that is no option ends the options
  check_options(grammar, args);
  std::reverse(args.begin(), args.end());  // the order in which CLI11 takes them from a vector
  try {
    grammar.parse(args);
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ParseError& error) {
    refuse(error.what());
  }
  auto rest = grammar.remaining();
  if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
  return rest;
}

std::vector<std::vector<std::string>> split_at_colons(const std::vector<std::string>& args) {
  std::vector<std::vector<std::string>> sections(1);
  for (const auto& arg : args) {
    if (arg == ":")
      sections.emplace_back();
    else
      sections.back().push_back(arg);
  }
  return sections;
}

std::string process_set(const std::string& name) {
  constexpr std::size_t longest = 255;  // PMIX_MAX_NSLEN
  if (name.empty() || name.size() > longest || name.find(',') != std::string::npos)
    refuse(fmt::format(
        "--pset '{}' is no name of a process set; it has 1 to {} characters, none of them a comma", name,
        longest));
  return name;
}

job::App make_app(const Raw& raw, std::vector<std::string> program, bool single) {
  job::App app;
  if (program.empty()) refuse("no program is named");
  if (program.front().empty()) refuse("the program's name is empty");
  app.argv = std::move(program);
  if (!raw.ranks.empty())
    app.ranks = count_of("-n", raw.ranks, "ranks", 1, job::most_ranks);
  else if (!single)
    refuse(fmt::format("with several programs each needs its own -n; '{}' has none", app.argv[0]));
  for (const auto& text : raw.settings) app.settings.push_back(environment_setting(text));
  app.directory = raw.directory;
  if (raw.process_set) app.process_set = process_set(*raw.process_set);
  return app;
}

void read_node_options(const Raw& raw, Options& options) {
  options.hosts = raw.hosts;
  options.hostfile = raw.hostfile;
  if (!raw.virtual_nodes.empty()) options.virtual_nodes = virtual_nodes(raw.virtual_nodes);
  if (!raw.hosts.empty() + !raw.hostfile.empty() + !raw.virtual_nodes.empty() > 1)
    refuse("--host, --hostfile and --virtual-nodes each say which nodes to use; give one of them");
  options.agent = raw.agent;
  options.weftd = raw.weftd;
  if (!raw.arity.empty()) options.arity = count_of("--agent-arity", raw.arity, "daemons", 0, job::most_ranks);
  if (!raw.on_failure.empty()) options.on_failure = named("--on-failure", raw.on_failure, failure_names);
}

void read_placement_options(const Raw& raw, Options& options) {
  if (!raw.bind.empty()) options.bind = named("--bind-to", raw.bind, job::bind_names);
  if (raw.map.compare(0, 4, "ppr:") == 0)
    options.per_node = ranks_per_node(raw.map);
  else if (!raw.map.empty())
    options.map = named("--map-by", raw.map, job::map_names);
  if (!raw.per_node.empty()) {
    if (options.per_node) refuse("-N and --map-by ppr:N:node say the same; give one of them");
    options.per_node = count_of("-N", raw.per_node, "ranks", 1, job::most_ranks_a_node);
  }
  if (!raw.order.empty()) options.order = named("--rank-by", raw.order, order_names);
  options.oversubscribe = raw.oversubscribe;
  options.dry_run = raw.dry_run;
  options.explain = raw.explain;
}

void read_job_options(const Raw& raw, Options& options) {
  read_node_options(raw, options);
  read_placement_options(raw, options);
  if (!raw.input.empty()) options.input = input_target(raw.input);
  if (!raw.limit.empty()) options.limit = time_limit(raw.limit);
  if (!raw.pmi.empty()) options.pmi = named("--pmi", raw.pmi, pmi_names);
  options.output_directory = raw.output_directory;
  options.report_bindings = raw.report_bindings;
  options.tag_output = raw.tag_output;
  options.quiet = raw.quiet;
  options.verbose = raw.verbose;
}

}  // namespace

void refuse(const std::string& what) {
  throw Stop(exit_status::usage, messages::usage(what));
}

Options parse_options(const std::vector<std::string>& args) {
  Options options;
  const auto sections = split_at_colons(args);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    CLI::App grammar("Run a program as the ranks of one job, on this node or on several.", "weftrun");
    grammar.set_help_flag("-h,--help", "Print this and leave");
    grammar.footer(
        "weftrun [options] program [arguments] : [-n N] [-x ..] [--wdir ..] program2 ...   (weftrun(1))");
    Raw raw;
    add_app_options(grammar, raw);
    if (i == 0) {  // options of the whole job stand in front
      add_node_options(grammar, raw);
      add_placement_options(grammar, raw);
      add_job_options(grammar, raw);
    }
    std::vector<std::string> program;
    try {
      program = read_section(grammar, sections[i]);
    } catch (const CLI::CallForHelp&) {
      options.help = grammar.help();
      return options;
    }
    if (raw.version) {
      options.show_version = true;
      return options;
    }
    if (i == 0) read_job_options(raw, options);
    options.apps.push_back(make_app(raw, std::move(program), sections.size() == 1));
  }
  return options;
}

}  // namespace weft::weftrun
