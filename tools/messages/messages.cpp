// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "tools/job/ranges.hpp"

namespace weft::messages {

using job::Rank;

std::string on_one_line(std::string text) {
  const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
  std::replace_if(text.begin(), text.end(), is_control, '?');
  return text;
}

std::string usage(std::string_view what) {
  return fmt::format("{}; try weftrun --help", what);
}

std::string program_not_found(std::string_view program, std::string_view directory, bool searched_path) {
  if (searched_path) {
    return fmt::format(
        "program '{}' is not in any directory of PATH; nothing was started. For one in the "
        "current directory write ./{}",
        program, program);
  }
  return fmt::format(
      "program '{}' does not exist (looked from {}); nothing was started. Check the name, or "
      "--wdir",
      program, directory);
}

std::string program_not_executable(std::string_view program, std::string_view reason) {
  return fmt::format(
      "program '{}' cannot be run: {}; nothing was started. Check its type and permissions "
      "(ls -l, file)",
      program, reason);
}

std::string bad_directory(std::string_view directory, int error) {
  return fmt::format("cannot change to --wdir '{}': {}; nothing was started. Name a directory that exists",
                     directory, std::strerror(error));
}

std::string no_directory_here(std::string_view directory, int error) {
  return fmt::format(
      "cannot change to weftrun's own directory '{}' here: {}; nothing was started here. Start weftrun in a "
      "directory "
      "that all nodes have",
      directory, std::strerror(error));
}

std::string damaged_order() {
  return "the launch message contradicts itself; nothing was started here. Check that weftrun and weftd are "
         "of one build";
}

std::string launch_info_refused(std::string_view status) {
  return fmt::format(
      "the launch information of the job (its -x, and where its servers are) is damaged: {}; nothing was "
      "started here. Check that weftrun, weftd and their libpmix are of one build",
      status);
}

std::string bad_output_directory(std::string_view path, int error) {
  return fmt::format(
      "cannot write '{}': {}; nothing was started. Give --output-dir a directory that can be "
      "written",
      path, std::strerror(error));
}

std::string bad_trace_file(std::string_view path, std::string_view why) {
  return fmt::format(
      "cannot write the trace to '{}': {}; nothing was started. Set WEFT_TRACE to a file in a folder that "
      "can "
      "be written, or unset it",
      path, why);
}

std::string trace_not_written(std::string_view path, std::string_view why) {
  return fmt::format("the trace of the job is lost: cannot write '{}': {}", path, why);
}

std::string no_trace_of_service() {
  return "WEFT_TRACE has no effect with --dvm and --attach: jobs of daemons that stay are not traced. Run "
         "the program without --attach to trace it";
}

std::string no_such_input_rank(Rank rank, std::uint32_t size) {
  return fmt::format("--stdin {} is not a rank of this job of {}; nothing was started. It can be 0 to {}",
                     number(rank), size, size - 1);
}

std::string no_descriptors(int error) {
  return fmt::format(
      "cannot make the pipes for the ranks: {}; nothing was left running. Raise ulimit -n, or "
      "use --output-dir",
      std::strerror(error));
}

std::string with_descriptor_limit(std::string line, unsigned long limit) {
  constexpr unsigned long few =
      64;  // a launcher of several nodes needs some thirty, and two more for each rank
  const bool says_so = line.find("Too many open files") != std::string::npos;
  if (line.find("ulimit -n") != std::string::npos || limit == 0 || (limit >= few && !says_so)) return line;
  const bool has_advice = line.find("What to do: ") != std::string::npos;
  return fmt::format("{}{} the limit of open files, which is {} here: ulimit -n {}", line,
                     has_advice ? "; and first of all raise" : ". What to do: raise", limit,
                     std::max(1024UL, 4 * limit));
}

std::string no_guard(int error) {
  return fmt::format("cannot start a process: {}; nothing was started. Look at ulimit -u and at free memory",
                     std::strerror(error));
}

std::string no_shared_files(std::string_view path, int error) {
  return fmt::format(
      "cannot make {} for the shared memory of a virtual node: {}; no rank was started. Look at the "
      "permissions and the free space of /dev/shm",
      path, std::strerror(error));
}

std::string no_session_folder(std::string_view host, std::string_view path, int error) {
  return fmt::format(
      "cannot make {} for temporary files of the ranks on {}: {}. The job runs without PMIX_TMPDIR, "
      "PMIX_NSDIR and "
      "PMIX_PROCDIR there; TMPDIR names another place",
      path, host, std::strerror(error));
}

std::string no_topology() {
  return "hwloc cannot read this machine's topology; nothing was started. Use --bind-to none "
         "--map-by slot";
}

std::string processors_not_there(const std::vector<unsigned>& missing, const std::vector<unsigned>& usable,
                                 std::string_view host) {
  return usage(fmt::format(
      "--cpu-list: processor{} {} of {} {} not there, or weftrun may not use {}; it may use {}",
      missing.size() == 1 ? "" : "s", job::ranges(missing), host, missing.size() == 1 ? "is" : "are",
      missing.size() == 1 ? "it" : "them", job::ranges(usable)));
}

std::string server_failed(std::string_view step, std::string_view reason) {
  return fmt::format(
      "the PMIx server cannot start: {} says {}; nothing was started. Run with --verbose to "
      "see which libpmix is used",
      step, reason);
}

std::string no_weftpmi(std::string_view path, std::string_view program, int error) {
  return fmt::format(
      "{} speaks PMI-1, and {} cannot be run: {}. What to do: install Weft as a whole on all nodes, or --pmi "
      "off",
      program, path, std::strerror(error));
}

std::string variable_not_set(std::string_view name) {
  return fmt::format(
      "-x {0}: {0} is not set here, so the ranks do not get it; give it a value with -x "
      "{0}=VALUE",
      name);
}

std::string start_failed(const Where& where, std::string_view step, int error, std::string_view interpreter) {
  if (!interpreter.empty()) {
    const bool has_return = interpreter.back() == '\r';
    if (has_return) interpreter.remove_suffix(1);
    const auto advice =
        has_return ? fmt::format(
                         "its lines end with CR LF, as on another system, and the CR counts as part of the "
                         "name: sed -i 's/\\r$//' {}",
                         where.program)
                   : std::string("install it on this node, or name another one there");
    return fmt::format(
        "rank {} on {} ({}) cannot start: the interpreter that its first line names, '{}{}': {}; {}. What to "
        "do: {}",
        number(where.rank), where.host, where.program, interpreter, has_return ? "\\r" : "",
        std::strerror(error), end_of_job, advice);
  }
  return fmt::format("rank {} on {} ({}) cannot start: {}: {}; {}", number(where.rank), where.host,
                     where.program, step, std::strerror(error), end_of_job);
}

std::string bad_launch_timeout(std::string_view text) {
  return fmt::format(
      "WEFT_LAUNCH_TIMEOUT='{}' is not a time; nothing was started. It is in seconds and above 0; the "
      "default is 60",
      text);
}

std::string listens_nowhere() {
  return "WEFT_PORTS=none holds for weftrun, too, so that no daemon could connect to it; nothing was "
         "started. Set it where "
         "the daemons of nodes are started that must not listen, as in --agent 'ssh {host} WEFT_PORTS=none "
         "{command}'";
}

std::string nodes_out_of_reach() {
  return fmt::format(
      "this node cannot reach all the others; {}. What to do: a line of its daemon tells which, and why",
      end_of_job);
}

std::string no_key(int error) {
  return fmt::format("cannot make a job key: {}; nothing was started", std::strerror(error));
}

std::string node_did_not_report(std::string_view host, double seconds, std::string_view command) {
  return fmt::format(
      "node {}: its daemon has not reported within {:g} seconds; tried: {}; {}. What to do: see that this "
      "command works "
      "by hand and that the nodes reach each other, or give it more time: WEFT_LAUNCH_TIMEOUT=SECONDS",
      host, seconds, command, end_of_job);
}

std::string still_starting(std::size_t daemons, std::size_t reported, std::size_t started,
                           const std::vector<std::string>& missing, double seconds) {
  constexpr std::size_t most_named = 4;
  const bool all_are_there = reported == daemons;
  const auto named = std::min(missing.size(), most_named);
  std::string rest;
  if (missing.size() > named) rest = fmt::format(" and {} more", missing.size() - named);
  return fmt::format(
      "{} of {} daemons have {} after {:.0f} s; not yet: {}{}", all_are_there ? started : reported, daemons,
      all_are_there ? "started their ranks" : "reported", seconds,
      fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(named), ", "), rest);
}

std::string node_did_not_start(std::string_view host, double seconds, std::string_view consequence) {
  return fmt::format(
      "node {}: its daemon is there, but its ranks have not been started within {:g} seconds; {}. What to "
      "do: see whether "
      "the program's file system hangs there, or give it more time: WEFT_LAUNCH_TIMEOUT=SECONDS",
      host, seconds, consequence);
}

std::string node_lost(std::string_view host, std::string_view why, std::string_view consequence) {
  return fmt::format(
      "node {} is lost: {}; {}. What to do: see whether it is up and whether something killed weftd there "
      "(dmesg)",
      host, why.empty() ? "its daemon does not answer" : why, consequence);
}

std::string names_not_there(std::string_view of, std::string_view why) {
  return fmt::format("--names-of {}: {}; the job was not started", of, why);
}

std::string names_lost(std::string_view of) {
  return fmt::format(
      "the run of --names-of {} has ended, and with it the published names of PMIX_RANGE_SESSION and "
      "PMIX_RANGE_GLOBAL: what processes of this run publish and look up there fails from here on "
      "(PMIX_ERR_LOST_CONNECTION). What to do: name a run that lasts as long as all that share its names, "
      "such "
      "as weftrun --dvm",
      of);
}

std::string other_transport(std::string_view host, std::string_view here, std::string_view transport) {
  return fmt::format(
      "{} is not reached by {}, which {} has chosen for its card: all start again over tcp. What to do: see "
      "to the card of {}, or "
      "set WEFT_TRANSPORT=tcp, which saves the first try",
      host, transport, here, host);
}

std::string daemon_ended(std::string_view host, std::string_view how, std::string_view consequence) {
  return fmt::format(
      "node {} is lost: its daemon had been running, then {}; {}. What to do: see there who ended weftd, or "
      "whether "
      "memory ran out (dmesg)",
      host, how, consequence);
}

std::string seen_from(std::string_view host, std::string_view why) {
  return fmt::format("{} says: {}", host, why.empty() ? "it does not answer" : why);
}

std::string launcher_lost(std::string_view host, std::string_view launcher, std::string_view why) {
  return fmt::format("weftd: [{}] weftrun on {} is lost: {}\n", host, launcher,
                     why.empty() ? "it does not answer" : why);
}

std::string damaged_report(std::string_view host, std::string_view consequence) {
  return fmt::format(
      "node {}: its daemon says what weftrun does not understand; {}. Check that weftrun and weftd are of "
      "one build",
      host, consequence);
}

std::string other_version(std::string_view host, std::string_view theirs, std::string_view ours) {
  return fmt::format("node {}: its weftd is {}, this weftrun is {}; {}. Install one release on all nodes",
                     host, theirs, ours, end_of_job);
}

}  // namespace weft::messages
