// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/allocation/hosts.hpp"
#include "tools/allocation/node_keys.hpp"
#include "tools/placement/processor_lists.hpp"
#include "tools/weftrun/command_line/values.hpp"

namespace weft::weftrun {
namespace {

constexpr job::Names<placement::RankBy, 2> order_names{
    {{"slot", placement::RankBy::slot}, {"node", placement::RankBy::node}}};
constexpr job::Names<job::Pmi, 3> pmi_names{
    {{"auto", job::Pmi::automatic}, {"on", job::Pmi::always}, {"off", job::Pmi::never}}};
constexpr job::Names<OnFailure, 2> failure_names{{{"end", OnFailure::end}, {"continue", OnFailure::go_on}}};

constexpr job::Names<LaunchReport, 2> report_names{
    {{"launch", LaunchReport::text}, {"launch:json", LaunchReport::json}}};

/// Numbers of servers that may come to be: each server has some words about each.
constexpr std::uint32_t most_growth = 4096;

using S = Section;
using G = const Given;

void take_per_node(S& s, G& g) {
  if (s.options.per_node) refuse("-N and --map-by ppr:N:node say the same; give one of them");
  s.options.per_node = count_of("-N", g.value, "ranks", 1, job::most_ranks_a_node);
}

void take_cores_each(S& s, G& g) {
  set_cores_each(count_of(g.option, g.value, "cores", 1, placement::most_processors), s.options);
  s.options.sets_openmp = true;
}

void take_tags(S& s, G& g) {
  if (!g.value.empty() && g.value != "rank" && g.value != "host")
    refuse(fmt::format("{} '{}' is unknown; it can be rank or host", g.option, g.value));
  s.options.tags.rank = true;
  s.options.tags.host |= g.value == "host";
}

void take_processors(S& s, G& g) {
  std::string complaint;
  const auto processors = placement::read_processor_list(g.value, complaint);
  if (!processors) refuse(fmt::format("{}: {}", g.option, complaint));
  s.options.processors = *processors;
}

void take_node_key(S& s, G& g) {
  const auto wrong = allocation::add_node_key(g.value, s.options.node_keys);
  if (!wrong.empty()) refuse(fmt::format("{}: {}", g.option, wrong));
}

void add_hosts(S& s, const allocation::Hosts& hosts) {
  s.options.added_hosts.insert(s.options.added_hosts.end(), hosts.begin(), hosts.end());
}

void take_service(S& s, ServiceOptions::What what, G& g) {
  auto& service = s.options.service;
  if (service.what != ServiceOptions::What::none) refuse("--dvm, --attach and --stop-dvm exclude each other");
  service.what = what;
  service.name = g.value.empty() ? "default" : service_name(g.option, g.value);
}

void take_stop(S& s, job::StopPoint point, G& g) {
  s.app.stops.at(point) = stopped_ranks(g.option, g.value);
}

constexpr Option table[] = {
    {"-n, --n, --np", "N", Topic::program, "Ranks of this program; default: one for each slot",
     [](S& s, G& g) { s.app.ranks = count_of("-n", g.value, "ranks", 1, job::most_ranks); }},
    {"-x", "NAME[=VALUE]", Topic::program, "Set a variable for this program; repeatable",
     [](S& s, G& g) { s.app.settings.push_back(environment_setting(g.value)); }, true},
    {"--mca", "NAME VALUE", Topic::program,
     "Set a parameter of Open MPI (-x OMPI_MCA_NAME=VALUE); repeatable",
     [](S& s, G& g) { s.app.settings.push_back(open_mpi_parameter(g.value, g.second)); }, true},
    {"--wdir, --wd", "DIR", Topic::program, "Change to this directory before the program starts",
     [](S& s, G& g) { s.app.directory = g.value; }},
    {"--path", "DIR[:DIR]", Topic::program, "Look for the program here, before the folders of PATH",
     [](S& s, G& g) { s.app.path = g.value; }},
    {"--pset", "NAME", Topic::program, "Name the ranks of this program; programs may share a name",
     [](S& s, G& g) { s.app.process_set = process_set(g.value); }},
    {"--stop-on-exec", "[=RANKS]", Topic::program,
     "Stop ranks of this program before their first instruction, for a debugger; default: all",
     [](S& s, G& g) { take_stop(s, job::StopPoint::exec, g); }},
    {"--stop-in-init", "[=RANKS]", Topic::program,
     "Stop ranks of this program in PMIx_Init until PMIX_DEBUGGER_RELEASE; default: all",
     [](S& s, G& g) { take_stop(s, job::StopPoint::init, g); }},
    {"--stop-in-app", "[=RANKS]", Topic::program,
     "Tell ranks of this program to stop where it waits for a debugger (PMIX_DEBUG_STOP_IN_APP)",
     [](S& s, G& g) { take_stop(s, job::StopPoint::app, g); }},
    {"-H, --host", "LIST", Topic::program,
     "Nodes and their slots: a:2,b:2 or n[01-16]:8; before the first program: for all that have none of "
     "their own; repeatable",
     [](S& s, G& g) { s.hosts.push_back(g.value); }, true},
    {"--app, --file, --configfile", "FILE", Topic::program,
     "More programs, from a file: lines '-n N [options] program arguments'",
     [](S& s, G& g) { s.app_file = g.value; }},

    {"--hostfile, --machinefile", "FILE", Topic::nodes,
     "Nodes from a file: lines 'name slots=N data:KEY=VALUE'",
     [](S& s, G& g) { s.options.hostfile = g.value; }},
    {"--virtual-nodes", "K[:SLOTS]", Topic::nodes, "K nodes on this machine, for trials and tests",
     [](S& s, G& g) { s.options.virtual_nodes = virtual_nodes(g.value); }},
    {"--node-data", "KEY=VALUE", Topic::nodes,
     "A key of all nodes, which ranks read with PMIX_NODE_INFO; of one node: data: in --hostfile; repeatable",
     take_node_key, true},
    {"--grow", "N", Topic::nodes,
     "Room for N nodes that jobs add later (--add-host, PMIX_ADD_HOST); default: 16 where there are daemons",
     [](S& s, G& g) { s.options.growth = count_of("--grow", g.value, "nodes", 0, most_growth); }},
    {"--agent", "COMMAND", Topic::nodes,
     "What starts daemons: slurm, ssh, a command used as ssh is, or one with {host}, {command}",
     [](S& s, G& g) { s.options.agent = g.value; }},
    {"--agent-arity", "N", Topic::nodes, "Daemons that each starts by itself (ssh: 32); 0: weftrun all",
     [](S& s, G& g) { s.options.arity = count_of("--agent-arity", g.value, "daemons", 0, job::most_ranks); }},
    {"--weftd", "PATH", Topic::nodes, "Where the daemon is on all nodes; default: beside weftrun",
     [](S& s, G& g) { s.options.weftd = g.value; }},
    {"--prefix", "DIR", Topic::nodes, "Where Weft is on all nodes: the daemon is DIR/bin/weftd",
     [](S& s, G& g) { s.options.prefix = g.value; }},

    {"--map-by", "WHAT[:pe=N]", Topic::placement,
     "Deal ranks to: slot, node, core, l2cache, l3cache, numa, socket, ppr:N:node; with pe=N each has N "
     "cores",
     [](S& s, G& g) { read_map(g.value, s.options); }},
    {"--bind-to", "WHAT", Topic::placement,
     "Bind each rank to: none, core, l2cache, l3cache, numa, socket, hwthread",
     [](S& s, G& g) { s.options.mapping.bind = named("--bind-to", g.value, job::bind_names); }},
    {"--rank-by", "WHAT", Topic::placement, "Number the ranks by: slot, node",
     [](S& s, G& g) { s.options.order = named("--rank-by", g.value, order_names); }},
    {"-N, --npernode", "N", Topic::placement,
     "N ranks on each node, as --map-by ppr:N:node (srun's -N is another thing: the nodes of a job)",
     take_per_node},
    {"--cpus-per-rank, --cpus-per-proc", "N", Topic::placement,
     "N cores for each rank, and as many threads of OpenMP: pe=N, OMP_NUM_THREADS, OMP_PLACES, OMP_PROC_BIND",
     take_cores_each},
    {"--cpu-list, --cpu-set", "LIST", Topic::placement,
     "The processors of each node that may be used: 0-3,8, as the system numbers them", take_processors},
    {"--rankfile, --rf", "FILE", Topic::placement, "The place of each rank: lines 'rank N=HOST slot=CORES'",
     [](S& s, G& g) { s.options.rank_file = g.value; }},
    {"--oversubscribe", "", Topic::placement, "More ranks than slots are allowed",
     [](S& s, G&) { s.options.oversubscribe = true; }},
    {"--dry-run", "", Topic::placement, "Print where each rank would go, and start nothing",
     [](S& s, G&) { s.options.dry_run = true; }},
    {"--explain", "", Topic::placement, "Say where each rank goes and why",
     [](S& s, G&) { s.options.explain = true; }},
    {"--display", "LIST", Topic::placement,
     "Say before the job starts: map (where each rank goes), allocation (the nodes), bindings",
     [](S& s, G& g) { read_display(g.value, s.options); }, true},
    {"--report-bindings", "", Topic::placement, "Say on standard error where each rank is bound",
     [](S& s, G&) { s.options.report_bindings = true; }},

    {"--tag-output", "[=WHAT]", Topic::output, "Start each line of output with [rank], or =host: [host:rank]",
     take_tags},
    {"--timestamp-output", "", Topic::output, "Start each line of output with the time",
     [](S& s, G&) { s.options.tags.time = true; }},
    {"--merge-stderr-to-stdout", "", Topic::output, "Ranks write standard error to their standard output",
     [](S& s, G&) { s.options.merges_errors = true; }},
    {"--pty", "", Topic::output, "Ranks write to pseudo-terminals: programs put out each line at once",
     [](S& s, G&) { s.options.pseudo_terminals = true; }},
    {"--output-dir", "DIR", Topic::output, "Write DIR/rank.<r>.out and .err instead of forwarding",
     [](S& s, G& g) { s.options.output_directory = g.value; }},
    {"--stdin", "RANK", Topic::output, "Which rank reads standard input (default 0); also: all, none, push",
     [](S& s, G& g) { s.options.input = input_target(g.value); }},
    {"-q, --quiet", "", Topic::output, "Say nothing about how the job went; the exit status tells",
     [](S& s, G&) { s.options.quiet = true; }},
    {"-v, --verbose", "", Topic::output, "Say what is set, started and connected",
     [](S& s, G&) { s.options.verbose = true; }},

    {"--timeout", "SECONDS", Topic::job,
     "End the job after this time, with status 124; print where its ranks are then",
     [](S& s, G& g) { s.options.limit = time_limit(g.option, g.value); }},
    {"--report-stuck", "[=SECONDS]", Topic::job,
     "Print where each rank is when one has been in a call of PMIx for so long; default: 60",
     [](S& s, G& g) { s.options.stuck_after = time_limit(g.option, g.value.empty() ? "60" : g.value); }},
    {"--report", "WHAT", Topic::job,
     "Print how long each phase of the start took: launch, or launch:json, a line of JSON",
     [](S& s, G& g) { s.options.launch_report = named("--report", g.value, report_names); }},
    {"--on-failure", "WHAT", Topic::job, "When a rank or node is lost: end (default), continue",
     [](S& s, G& g) { s.options.on_failure = named("--on-failure", g.value, failure_names); }},
    {"--names-of, --ompi-server", "RUN", Topic::nodes,
     "Share published names of PMIX_RANGE_SESSION and _GLOBAL with the run of that pid, URI, file:PATH or "
     "namespace",
     [](S& s, G& g) { s.options.names_of = names_of(g.option, g.value); }},
    {"--pmi", "WHEN", Topic::job, "Serve PMI-1 to the ranks (MPICH): auto (default: where needed), on, off",
     [](S& s, G& g) { s.options.pmi = named("--pmi", g.value, pmi_names); }},
    {"--gmca", "NAME VALUE", Topic::job, "As --mca, for all programs; repeatable",
     [](S& s, G& g) { s.options.settings_of_all.push_back(open_mpi_parameter(g.value, g.second)); }, true},
    {"--allow-run-as-root", "", Topic::job, "Accepted; always allowed",
     [](S&, G&) {}},  // scripts for mpirun pass it
    {"--dvm", "[=NAME]", Topic::service,
     "Start the daemons of the nodes, and keep them for jobs that --attach brings",
     [](S& s, G& g) { take_service(s, ServiceOptions::What::start, g); }},
    {"--attach", "[=NAME]", Topic::service, "Run the job in daemons that --dvm has started",
     [](S& s, G& g) { take_service(s, ServiceOptions::What::attach, g); }},
    {"--detach", "", Topic::service,
     "With --attach: leave when the job is accepted. With --dvm: when the daemons are there",
     [](S& s, G&) { s.options.service.detach = true; }},
    {"--jobs", "", Topic::service, "With --attach: list the jobs, those too that have ended lately",
     [](S& s, G&) { s.wants_list = true; }},
    {"--json", "", Topic::service,
     "With --attach: a line of JSON for each change of the job, or for each job",
     [](S& s, G&) { s.options.service.json = true; }},
    {"--add-host", "LIST", Topic::service,
     "With --attach: nodes that the daemons are to be on, too: c:8 or n[17-18]:8; repeatable",
     [](S& s, G& g) { add_hosts(s, allocation::read_host_option({g.value})); }, true},
    {"--add-hostfile", "FILE", Topic::service, "The same from a file, as --hostfile has them",
     [](S& s, G& g) { add_hosts(s, allocation::read_hostfile(g.value)); }},
    {"--stop-dvm", "[=NAME]", Topic::service, "End the jobs and the daemons of --dvm",
     [](S& s, G& g) { take_service(s, ServiceOptions::What::stop, g); }},

    {"-V, --version", "", Topic::job, "Print the version and leave",
     [](S& s, G&) { s.options.show_version = true; }},
    {"-h, --help", "", Topic::job, "Print this and leave", [](S& s, G&) { s.wants_help = true; }},
};

}  // namespace

std::span<const Option> all_options() noexcept {
  return table;
}

const Option* find_option(std::string_view name) noexcept {
  const auto has_name = [name](const Option& option) {
    bool is_same = false;
    each_name(option, [&](std::string_view own) { is_same = is_same || own == name; });
    return is_same;
  };
  const auto* at = std::find_if(std::begin(table), std::end(table), has_name);
  return at == std::end(table) ? nullptr : at;
}

}  // namespace weft::weftrun
