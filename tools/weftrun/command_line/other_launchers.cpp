// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/other_launchers.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>

namespace weft::weftrun {
namespace {

struct Word {
  std::string_view word;
  std::string_view instead;
};

constexpr std::string_view mca =
    "a parameter of Open MPI is a variable here: -x OMPI_MCA_NAME=VALUE; those of its launcher mean nothing "
    "to weftrun";
constexpr std::string_view per_node = "write -N N, so many ranks on each node";
constexpr std::string_view cores_each =
    "there is no option for a number of cores; ranks that fill the slots of a node have equal parts of its "
    "cores, others are not bound";
constexpr std::string_view by_rank =
    "ranks cannot be placed one by one; write the nodes in order with --host a:2,b:1, or --map-by node";
constexpr std::string_view processors =
    "run weftrun itself on those processors: taskset -c LIST weftrun ...; it respects its own affinity mask";
constexpr std::string_view all_variables = "leave it out: ranks have all variables of weftrun";
constexpr std::string_view one_variable = "write -x NAME=VALUE";
constexpr std::string_view no_variables =
    "ranks always have the variables of weftrun; env -i NAME=VALUE ... weftrun ... starts it with few";
constexpr std::string_view the_agent = "write --agent COMMAND, what starts daemons on other nodes";
constexpr std::string_view plan = "write --dry-run --explain, or --report-bindings";
constexpr std::string_view files = "write --output-dir DIR, a file for each rank and stream";
constexpr std::string_view tags = "write --tag-output";
constexpr std::string_view hosts = "write --host LIST";
constexpr std::string_view hostfile = "write --hostfile FILE";
constexpr std::string_view go_on = "write --on-failure continue";
constexpr std::string_view directory = "write --wdir DIR";
constexpr std::string_view mapping = "write --map-by slot, node, numa, core, socket or ppr:N:node";
constexpr std::string_view nothing = "weftrun has nothing like it";

/// Without dashes and in lower case.
constexpr Word options[] = {
    // mpirun of Open MPI
    {"mca", mca},
    {"gmca", mca},
    {"omca", mca},
    {"prtemca", mca},
    {"pmixmca", mca},
    {"am", mca},
    {"tune", mca},
    {"rankfile", by_rank},
    {"rf", by_rank},
    {"cpus-per-proc", cores_each},
    {"cpus-per-rank", cores_each},
    {"cpu-set", processors},
    {"cpu-list", processors},
    {"slot-list", processors},
    {"use-hwthread-cpus", "a slot is a core; write --bind-to hwthread to bind to hardware threads"},
    {"pernode", "write -N 1"},
    {"npersocket", "write --map-by socket, which gives each socket a rank in turn"},
    {"n-persocket", "write --map-by socket, which gives each socket a rank in turn"},
    {"map-by-slot", mapping},
    {"byslot", "write --map-by slot"},
    {"bynode", "write --map-by node"},
    {"bycore", "write --map-by core"},
    {"bysocket", "write --map-by socket"},
    {"bind-to-core", "write --bind-to core"},
    {"bind-to-socket", "write --bind-to socket"},
    {"bind-to-none", "write --bind-to none"},
    {"nooversubscribe", "leave it out: more ranks than slots are an error where nodes are named"},
    {"no-oversubscribe", "leave it out: more ranks than slots are an error where nodes are named"},
    {"nolocal", "name the other nodes only: --host LIST"},
    {"default-hostfile", hostfile},
    {"add-host", hosts},
    {"add-hostfile", hostfile},
    {"display-map", plan},
    {"display-devel-map", plan},
    {"display-allocation", plan},
    {"display-topo", plan},
    {"display", plan},
    {"do-not-launch", "write --dry-run"},
    {"output-filename", files},
    {"output", "write --tag-output, or --output-dir DIR"},
    {"timestamp-output", "weftrun writes no times; --tag-output names the rank of each line"},
    {"merge-stderr-to-stdout", "write weftrun ... 2>&1, or let a shell in each rank do it"},
    {"stream-buffering",
     "weftrun forwards what ranks write at once; their own library decides what it holds "
     "back"},
    {"prefix", "write --weftd PATH, where the daemon is on all nodes"},
    {"launch-agent", "write --weftd PATH, where the daemon is on all nodes"},
    {"enable-recovery", go_on},
    {"continuous", go_on},
    {"app", "write the programs on the command line: -n 1 ./a : -n 4 ./b"},
    {"preload-binary", "the program must be on all nodes at the same path; copy it there first"},
    {"preload-files", "files must be on all nodes; copy them there first"},
    {"xterm", "let each rank open its own: weftrun -n 2 xterm -e ./a.out"},
    {"debug-daemons", "write --verbose, or set WEFT_LOG=debug"},
    {"report-pid", nothing},
    {"report-uri", "tools find the job by themselves; see weftinfo(1)"},
    {"personality", nothing},
    {"dvm-uri", nothing},
    {"dvm", nothing},
    {"get-stack-traces", "write --timeout SECONDS, and see weftinfo for what a job waits for"},
    {"report-state-on-timeout", "set WEFT_STUCK_AFTER=SECONDS, or see weftinfo for what a job waits for"},
    // mpiexec of Hydra (MPICH, Intel MPI)
    {"ppn", per_node},
    {"perhost", per_node},
    {"ranks-per-proc", per_node},
    {"f", hostfile},
    {"hosts", hosts},
    {"genv", one_variable},
    {"env", one_variable},
    {"genvlist", all_variables},
    {"envlist", all_variables},
    {"genvall", all_variables},
    {"envall", all_variables},
    {"genvnone", no_variables},
    {"envnone", no_variables},
    {"gwdir", directory},
    {"gpath", "set PATH, which ranks have from weftrun"},
    {"path", "set PATH, which ranks have from weftrun"},
    {"launcher", the_agent},
    {"bootstrap", the_agent},
    {"launcher-exec", the_agent},
    {"bootstrap-exec", the_agent},
    {"rmk", "leave it out: weftrun sees Slurm's allocation by itself; other nodes are named with --host"},
    {"iface", "set WEFT_NET=INTERFACE"},
    {"prepend-rank", tags},
    {"prepend-pattern", tags},
    {"l", tags},
    {"outfile-pattern", files},
    {"errfile-pattern", files},
    {"outfile", files},
    {"errfile", files},
    {"configfile", "write the programs on the command line: -n 1 ./a : -n 4 ./b"},
    {"disable-auto-cleanup", go_on},
    {"print-all-exitcodes", "the line of the first rank that fails has its status"},
    {"nameserver", nothing},
    {"topolib", nothing},
    {"usize", nothing},
    {"s", "write --stdin RANK, all or none"},
    {"info", "write --version, or weftinfo"},
    // srun of Slurm
    {"ntasks", "write -n N"},
    {"ntasks-per-node", per_node},
    {"tasks-per-node", per_node},
    {"nodes", "name the nodes: --host LIST; in Slurm's allocation weftrun uses all of its nodes"},
    {"nodelist", hosts},
    {"w", hosts},
    {"exclude", "name the other nodes only: --host LIST"},
    {"c", cores_each},
    {"cpus-per-task", cores_each},
    {"cpu-bind", "write --bind-to none, core, numa, socket or hwthread"},
    {"distribution", mapping},
    {"mpi", "leave it out: every rank finds PMIx; PMI-1 is --pmi on"},
    {"label", tags},
    {"chdir", directory},
    {"export", one_variable},
    {"overcommit", "write --oversubscribe"},
    {"kill-on-bad-exit",
     "leave it out: a rank that fails ends the job unless --on-failure continue is given"},
    {"unbuffered", "leave it out: weftrun forwards what ranks write at once"},
    {"multi-prog", "write the programs on the command line: -n 1 ./a : -n 4 ./b"},
    {"time", "write --timeout SECONDS"},
};

/// What a value of --map-by, --bind-to or --rank-by has in it, in lower case, in the order in which it is
/// looked for.
constexpr Word parts_of_placement[] = {
    {"pe=", cores_each},
    {"pe-list=", processors},
    {"rankfile", by_rank},
    {"seq", by_rank},
    {"file=", by_rank},
    {"dist", "weftrun does not place by distance from a device"},
    {"ppr:", "ppr is for nodes only: ppr:N:node; --map-by socket or numa gives each of those a rank in turn"},
    {"oversubscribe", "write --oversubscribe as an option of its own"},
    {"overload-allowed", "leave it out: ranks beyond the cores are not bound unless they are to be"},
    {"hwtcpus", "a slot is a core; write --bind-to hwthread to bind to hardware threads"},
    {"hwthread", "it is a place to bind to, not to map by: --map-by core --bind-to hwthread"},
    {"span", mapping},
    {"fill", mapping},
    {"cpu-list", processors},
    {"l1cache", "a core has its own: write core"},
    {"l2cache", "a core has its own on most machines: write core"},
    {"l3cache", "write numa, which is the nearest"},
    {"package", "write socket"},
    {"board", "write node, or socket"},
    {"machine", "write --map-by node, or --bind-to none"},
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

std::string_view instead_of_option(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  const std::string word = lower(option.substr(0, option.find('=')));
  const auto* at = std::find_if(std::begin(options), std::end(options),
                                [&](const Word& known) { return known.word == word; });
  return at == std::end(options) ? std::string_view() : at->instead;
}

std::string_view instead_of_placement(std::string_view value) {
  const std::string text = lower(value);
  const auto* at =
      std::find_if(std::begin(parts_of_placement), std::end(parts_of_placement),
                   [&](const Word& known) { return text.find(known.word) != std::string::npos; });
  return at == std::end(parts_of_placement) ? std::string_view() : at->instead;
}

}  // namespace weft::weftrun
