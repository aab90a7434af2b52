// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/other_launchers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "tools/weftrun/command_line/values.hpp"

namespace weft::weftrun {
namespace {

constexpr const char* mpirun = "mpirun";
constexpr const char* mpiexec = "mpiexec";
constexpr const char* srun = "srun";

struct Foreign {
  std::string_view option;  ///< without dashes, and in lower case where it has several letters
  const char* launcher;
  std::string_view instead;
};

namespace say {
constexpr std::string_view parameter = "write --mca NAME VALUE for each, or -x OMPI_MCA_NAME=VALUE";
constexpr std::string_view pmix_parameter =
    "this library has no parameters of that kind; its settings are the variables of weft(7), as in -x "
    "WEFT_LOG=debug";
constexpr std::string_view launcher_parameter =
    "it is for a launcher that is not here; weftrun --help lists what weftrun offers in its place";
constexpr std::string_view per_node = "write -N N, so many ranks on each node";
constexpr std::string_view cores_each = "write --cpus-per-rank N, or --map-by slot:pe=N";
constexpr std::string_view by_rank = "write --rankfile FILE, lines 'rank N=HOST slot=CORES'";
constexpr std::string_view processors = "write --cpu-list LIST, the processors of each node that may be used";
constexpr std::string_view all_variables = "leave it out: ranks have all variables of weftrun";
constexpr std::string_view one_variable = "write -x NAME=VALUE";
constexpr std::string_view no_variables =
    "ranks always have the variables of weftrun; env -i NAME=VALUE ... weftrun ... starts it with few";
constexpr std::string_view the_agent = "write --agent COMMAND, what starts daemons on other nodes";
constexpr std::string_view show_map = "write --display map";
constexpr std::string_view show_nodes = "write --display allocation";
constexpr std::string_view files = "write --output-dir DIR, a file for each rank and stream";
constexpr std::string_view tags = "write --tag-output";
constexpr std::string_view hosts = "write --host LIST";
constexpr std::string_view hostfile = "write --hostfile FILE";
constexpr std::string_view go_on = "write --on-failure continue";
constexpr std::string_view directory = "write --wdir DIR";
constexpr std::string_view mapping =
    "write --map-by slot, node, core, l2cache, l3cache, numa, socket or ppr:N:node";
constexpr std::string_view programs =
    "write the programs on the command line, -n 1 ./a : -n 4 ./b, or as lines of a file, --app FILE";
constexpr std::string_view to_slurm =
    "it asks for an allocation: give it to salloc or sbatch, and run weftrun in there";
constexpr std::string_view the_daemon = "write --weftd PATH, where the daemon is on all nodes";
constexpr std::string_view slot_is_core =
    "a slot is a core; write --bind-to hwthread to bind to hardware threads";
constexpr std::string_view never_more =
    "leave it out: more ranks than slots are an error where nodes are named";
constexpr std::string_view at_once = "leave it out: weftrun forwards at once what ranks write";
constexpr std::string_view nothing = "weftrun has nothing like it";
}  // namespace say

/// Options of one letter keep their case: srun's -w is not its -W.
constexpr Foreign foreign_options[] = {
    {"omca", mpirun, say::parameter},
    {"am", mpirun, say::parameter},
    {"tune", mpirun, say::parameter},
    {"pmixmca", mpirun, say::pmix_parameter},
    {"gpmixmca", mpirun, say::pmix_parameter},
    {"prtemca", mpirun, say::launcher_parameter},
    {"gprtemca", mpirun, say::launcher_parameter},
    {"slot-list", mpirun, say::processors},
    {"use-hwthread-cpus", mpirun, say::slot_is_core},
    {"pernode", mpirun, "write -N 1"},
    {"npersocket", mpirun, "write --map-by socket, which gives each socket a rank in turn"},
    {"n-persocket", mpirun, "write --map-by socket, which gives each socket a rank in turn"},
    {"byslot", mpirun, "write --map-by slot"},
    {"bynode", mpirun, "write --map-by node"},
    {"bycore", mpirun, "write --map-by core"},
    {"bysocket", mpirun, "write --map-by socket"},
    {"bind-to-core", mpirun, "write --bind-to core"},
    {"bind-to-socket", mpirun, "write --bind-to socket"},
    {"bind-to-none", mpirun, "write --bind-to none"},
    {"nooversubscribe", mpirun, say::never_more},
    {"no-oversubscribe", mpirun, say::never_more},
    {"nolocal", mpirun, "name the other nodes only: --host LIST"},
    {"default-hostfile", mpirun, say::hostfile},
    {"display-map", mpirun, say::show_map},
    {"display-devel-map", mpirun, "write --display map --explain"},
    {"display-diffable-map", mpirun, say::show_map},
    {"display-allocation", mpirun, say::show_nodes},
    {"display-devel-allocation", mpirun, say::show_nodes},
    {"display-topo", mpirun,
     "lstopo(1) shows a node's processors; --display map says which of them ranks have"},
    {"do-not-launch", mpirun, "write --dry-run"},
    {"output-filename", mpirun, say::files},
    {"output-directory", mpirun, say::files},
    {"output", mpirun,
     "write --tag-output, --timestamp-output, --merge-stderr-to-stdout or --output-dir DIR, each an option "
     "of its own"},
    {"stream-buffering", mpirun,
     "weftrun forwards what ranks write at once; their own library decides what it holds back"},
    {"noprefix", mpirun, "leave it out: the daemon is beside weftrun, or where --prefix or --weftd say"},
    {"launch-agent", mpirun, say::the_daemon},
    {"forward-signals", mpirun,
     "leave it out: SIGUSR1, SIGUSR2, SIGURG, SIGTSTP and SIGCONT go to all ranks"},
    {"enable-recovery", mpirun, say::go_on},
    {"continuous", mpirun, say::go_on},
    {"with-ft", mpirun, say::go_on},
    {"preload-binary", mpirun, "the program must be on all nodes at the same path; copy it there first"},
    {"preload-files", mpirun, "files must be on all nodes; copy them there first"},
    {"xterm", mpirun, "let each rank open its own: weftrun -n 2 xterm -e ./a.out"},
    {"debug-daemons", mpirun, "write --verbose, or set WEFT_LOG=debug"},
    {"leave-session-attached", mpirun, "leave it out: what daemons say comes to weftrun's standard error"},
    {"report-pid", mpirun, say::nothing},
    {"report-uri", mpirun,
     "tools find the job by themselves, see weftinfo(1); --names-of takes the pid of a weftrun"},
    {"personality", mpirun, say::nothing},
    {"dvm-uri", mpirun, say::nothing},
    {"get-stack-traces", mpirun, "write --timeout SECONDS, and see weftinfo for what a job waits for"},
    {"report-state-on-timeout", mpirun,
     "set WEFT_STUCK_AFTER=SECONDS, or see weftinfo for what a job waits for"},

    {"soft", mpiexec, "write -n N: weftrun starts exactly so many ranks"},
    {"arch", mpiexec, "name the nodes of that kind: --host LIST"},
    {"ppn", mpiexec, say::per_node},
    {"perhost", mpiexec, say::per_node},
    {"ranks-per-proc", mpiexec, say::per_node},
    {"f", mpiexec, say::hostfile},
    {"hosts", mpiexec, say::hosts},
    {"genv", mpiexec, say::one_variable},
    {"env", mpiexec, say::one_variable},
    {"genvlist", mpiexec, say::all_variables},
    {"envlist", mpiexec, say::all_variables},
    {"genvall", mpiexec, say::all_variables},
    {"envall", mpiexec, say::all_variables},
    {"genvnone", mpiexec, say::no_variables},
    {"envnone", mpiexec, say::no_variables},
    {"gwdir", mpiexec, "write --wdir DIR before each program"},
    {"gpath", mpiexec, "write --path DIR before each program, or set PATH, which ranks have from weftrun"},
    {"launcher", mpiexec, say::the_agent},
    {"bootstrap", mpiexec, say::the_agent},
    {"launcher-exec", mpiexec, say::the_agent},
    {"bootstrap-exec", mpiexec, say::the_agent},
    {"rmk", mpiexec,
     "leave it out: weftrun sees Slurm's allocation by itself; other nodes are named with --host"},
    {"iface", mpiexec, "set WEFT_NET=INTERFACE"},
    {"prepend-rank", mpiexec, say::tags},
    {"prepend-pattern", mpiexec, say::tags},
    {"l", mpiexec, say::tags},
    {"outfile-pattern", mpiexec, say::files},
    {"errfile-pattern", mpiexec, say::files},
    {"outfile", mpiexec, say::files},
    {"errfile", mpiexec, say::files},
    {"disable-auto-cleanup", mpiexec, say::go_on},
    {"print-all-exitcodes", mpiexec, "the line of the first rank that fails has its status"},
    {"nameserver", mpiexec, "write --names-of PID, of the weftrun that keeps the names"},
    {"topolib", mpiexec, say::nothing},
    {"usize", mpiexec, say::nothing},
    {"s", mpiexec, "write --stdin RANK, all or none"},
    {"info", mpiexec, "write --version, or weftinfo"},

    {"c", srun, "write --cpus-per-rank N (mpirun's -c is -n N)"},
    {"cpus-per-task", srun, "write --cpus-per-rank N"},
    {"ntasks", srun, "write -n N"},
    {"ntasks-per-node", srun, say::per_node},
    {"tasks-per-node", srun, say::per_node},
    {"ntasks-per-socket", srun, "write --map-by socket, which gives each socket a rank in turn"},
    {"nodes", srun,
     "name the nodes: --host LIST; in Slurm's allocation weftrun uses all of its nodes (-N N is N ranks on "
     "each node here)"},
    {"nodelist", srun, say::hosts},
    {"w", srun, say::hosts},
    {"exclude", srun, "name the other nodes only: --host LIST"},
    {"cpu-bind", srun,
     "write --bind-to none, core, l2cache, l3cache, numa, socket or hwthread, or --rankfile FILE"},
    {"distribution", srun, say::mapping},
    {"m", srun, say::mapping},
    {"mpi", srun, "leave it out: every rank finds PMIx; PMI-1 is --pmi on"},
    {"label", srun, say::tags},
    {"chdir", srun, say::directory},
    {"D", srun, say::directory},
    {"export", srun, say::one_variable},
    {"overcommit", srun, "write --oversubscribe"},
    {"O", srun, "write --oversubscribe"},
    {"kill-on-bad-exit", srun,
     "leave it out: a rank that fails ends the job unless --on-failure continue is given"},
    {"K", srun, "leave it out: a rank that fails ends the job unless --on-failure continue is given"},
    {"no-kill", srun, say::go_on},
    {"k", srun, say::go_on},
    {"unbuffered", srun, say::at_once},
    {"u", srun, say::at_once},
    {"multi-prog", srun, say::programs},
    {"time", srun, "write --timeout SECONDS"},
    {"t", srun, "write --timeout SECONDS"},
    {"error", srun, say::files},
    {"input", srun, "write --stdin RANK, all or none, and weftrun ... < FILE"},
    {"i", srun, "write --stdin RANK, all or none, and weftrun ... < FILE"},
    {"o", srun, say::files},
    {"e", srun, say::files},
    {"jobid", srun, "run weftrun inside that allocation"},
    {"job-name", srun, say::to_slurm},
    {"J", srun, say::to_slurm},
    {"partition", srun, say::to_slurm},
    {"p", srun, say::to_slurm},
    {"account", srun, say::to_slurm},
    {"A", srun, say::to_slurm},
    {"mem", srun, say::to_slurm},
    {"gres", srun, say::to_slurm},
    {"gpus", srun, say::to_slurm},
    {"exclusive", srun, say::to_slurm},
    {"overlap", srun, "leave it out: weftrun is one step that has all of the allocation"},
};

struct Word {
  std::string_view word;
  std::string_view instead;
};

/// The words that a value of --map-by, --bind-to, --rank-by or --display may have in it, in lower case, in
/// the order in which they are looked for.
constexpr Word parts_of_placement[] = {
    {"pe-list=", say::processors},
    {"rankfile", say::by_rank},
    {"seq", say::by_rank},
    {"file=", say::by_rank},
    {"dist", "weftrun does not place by distance from a device"},
    {"ppr:", "ppr is for nodes only: ppr:N:node; --map-by socket or numa gives each of those a rank in turn"},
    {"pe=", "it stands behind a place of --map-by: --map-by slot:pe=N"},
    {"nooversubscribe", say::never_more},
    {"oversubscribe", "write --oversubscribe as an option of its own"},
    {"overload-allowed", "leave it out: ranks beyond the cores are not bound unless they are to be"},
    {"hwtcpus", say::slot_is_core},
    {"hwthread", "it is a place to bind to, not to map by: --map-by core --bind-to hwthread"},
    {"span", say::mapping},
    {"fill", say::mapping},
    {"cpu-list", say::processors},
    {"l1cache", "a core has its own: write core"},
    {"package", "write socket"},
    {"board", "write node, or socket"},
    {"machine", "write --map-by node, or --bind-to none"},
    {"topo", "lstopo(1) shows a node's processors; --display map says which of them ranks have"},
};

/// How parameters of mpirun itself begin, of those that change what a job is: to set them and do nothing
/// would be another job.
constexpr Word foreign_parameters[] = {
    {"plm_rsh_agent", say::the_agent},
    {"plm_rsh_args", "write --agent 'ssh ARGUMENTS'"},
    {"plm_rsh_no_tree_spawn", "write --agent-arity 0"},
    {"plm", say::the_agent},
    {"orte_rsh_agent", say::the_agent},
    {"orte_default_hostfile", say::hostfile},
    {"orte_hostfile", say::hostfile},
    {"orte_launch_agent", say::the_daemon},
    {"orte_enable_recovery", say::go_on},
    {"orte_tag_output", say::tags},
    {"orte_timestamp_output", "write --timestamp-output"},
    {"orte_report_bindings", "write --report-bindings"},
    {"hwloc_base_report_bindings", "write --report-bindings"},
    {"hwloc_base_binding_policy", "write --bind-to none, core, l2cache, l3cache, numa, socket or hwthread"},
    {"hwloc_base_cpu_list", say::processors},
    {"hwloc_base_cpu_set", say::processors},
    {"hwloc_base_slot_list", say::processors},
    {"hwloc_base_use_hwthreads_as_cpus", say::slot_is_core},
    {"rmaps_base_oversubscribe", "write --oversubscribe"},
    {"rmaps_base_no_oversubscribe", say::never_more},
    {"rmaps_base_cpus_per_rank", say::cores_each},
    {"rmaps_base_cpus_per_proc", say::cores_each},
    {"rmaps_rank_file_path", say::by_rank},
    {"rmaps", say::mapping},
    {"ess", "leave it out: ranks find their server by themselves"},
};

}  // namespace

std::string instead_of_option(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  option = option.substr(0, option.find('='));
  const std::string word = option.size() == 1 ? std::string(option) : lower_case(option);
  const auto* at = std::find_if(std::begin(foreign_options), std::end(foreign_options),
                                [&](const Foreign& known) { return known.option == word; });
  return at == std::end(foreign_options) ? std::string()
                                         : fmt::format("{} has one; {}", at->launcher, at->instead);
}

std::string_view instead_of_placement(std::string_view value) {
  const std::string text = lower_case(value);
  const auto* at =
      std::find_if(std::begin(parts_of_placement), std::end(parts_of_placement),
                   [&](const Word& known) { return text.find(known.word) != std::string::npos; });
  return at == std::end(parts_of_placement) ? std::string_view() : at->instead;
}

std::string_view instead_of_parameter(std::string_view name) {
  const auto* at =
      std::find_if(std::begin(foreign_parameters), std::end(foreign_parameters),
                   [&](const Word& known) { return name.substr(0, known.word.size()) == known.word; });
  return at == std::end(foreign_parameters) ? std::string_view() : at->instead;
}

}  // namespace weft::weftrun
