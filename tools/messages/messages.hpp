// SPDX-License-Identifier: BSD-3-Clause
// Every line that weftrun and weftd print for their user, in one place: what happened, where, and what can be
// done. All functions are pure. A line has no newline at its end; the tool that prints it puts its own name
// in front.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/interface.hpp"
#include "tools/job/rank.hpp"
#include "tools/job/stops.hpp"

namespace weft::messages {

/// Where a rank is or was.
struct Where {
  job::Rank rank;
  std::string host;
  int pid;
  std::string program;
  std::string error_file;  ///< where its standard error went; empty: forwarded
  std::string job{};       ///< a job that a process has asked for; empty: weftrun's own
};

/// The consequence of a loss, for the lines below.
inline constexpr std::string_view end_of_job = "the job was ended";
inline constexpr std::string_view no_job_is_touched = "no rank was there";
inline constexpr std::string_view others_go_on = "the others go on";
std::string others_go_on_without(const std::vector<job::Rank>& lost);

/// The user's words in a line: control characters as '?'.
std::string on_one_line(std::string text);

// The command line and the start.
std::string usage(std::string_view what);
std::string program_not_found(std::string_view program, std::string_view directory, bool searched_path);
std::string program_not_executable(std::string_view program, std::string_view reason);
std::string bad_directory(std::string_view directory, int error);
std::string no_directory_here(std::string_view directory, int error);
std::string damaged_order();
std::string launch_info_refused(std::string_view status);
std::string bad_output_directory(std::string_view path, int error);
/// path: the value of WEFT_TRACE.
std::string bad_trace_file(std::string_view path, std::string_view why);
std::string trace_not_written(std::string_view path, std::string_view why);
std::string no_trace_of_service();
std::string no_such_input_rank(job::Rank rank, std::uint32_t size);
std::string no_descriptors(int error);
/// The line of a failure of weftrun or weftd, with what to do where so few descriptors may be why.
std::string with_descriptor_limit(std::string line, unsigned long limit);
std::string no_guard(int error);
std::string no_shared_files(std::string_view path, int error);
std::string no_session_folder(std::string_view host, std::string_view path, int error);
std::string no_topology();
/// --cpu-list names processors of `host` that are missing. usable: those that there are.
std::string processors_not_there(const std::vector<unsigned>& missing, const std::vector<unsigned>& usable,
                                 std::string_view host);
std::string server_failed(std::string_view step, std::string_view reason);
/// weftpmi is not at `path`, and this program needs it.
std::string no_weftpmi(std::string_view path, std::string_view program, int error);
std::string variable_not_set(std::string_view name);
/// interpreter: the one that the first line of a script names, where that is what is missing; else empty.
std::string start_failed(const Where& where, std::string_view step, int error,
                         std::string_view interpreter = {});

// Daemons.
std::string bad_launch_timeout(std::string_view text);
std::string no_key(int error);
std::string listens_nowhere();
/// A daemon's line, to weftrun.
std::string nodes_out_of_reach();
std::string node_did_not_report(std::string_view host, double seconds, std::string_view command);
/// Where a start takes long, for a terminal. missing: the hosts that it waits for.
std::string still_starting(std::size_t daemons, std::size_t reported, std::size_t started,
                           const std::vector<std::string>& missing, double seconds);
std::string node_did_not_start(std::string_view host, double seconds,
                               std::string_view consequence = end_of_job);
std::string node_lost(std::string_view host, std::string_view why, std::string_view consequence = end_of_job);
/// A transport that the user has not asked for is given up before anything was launched.
std::string other_transport(std::string_view host, std::string_view here, std::string_view transport);
/// The daemon had reported before. how: the end of its agent, as launch::agent_end() describes it.
std::string daemon_ended(std::string_view host, std::string_view how,
                         std::string_view consequence = end_of_job);
/// Why a node is lost, in the words of another one.
std::string seen_from(std::string_view host, std::string_view why);
/// A daemon's own line, on its standard error.
std::string launcher_lost(std::string_view host, std::string_view launcher, std::string_view why);
std::string damaged_report(std::string_view host, std::string_view consequence = end_of_job);
std::string other_version(std::string_view host, std::string_view theirs, std::string_view ours);

// How a job ended.
std::string rank_killed(const Where& where, int signal, bool core_dumped,
                        std::string_view consequence = end_of_job);
/// in_between: after PMIx_Init and before PMIx_Finalize.
std::string rank_failed(const Where& where, int status, bool in_between,
                        std::string_view consequence = end_of_job);
std::string rank_left_without_finalize(const Where& where, std::string_view consequence = end_of_job);
/// Ranks that never called PMIx_Init, for which another rank may have failed. all: ascending, at least
/// `first`.
std::string ended_without_init(const Where& first, const std::vector<job::Rank>& all);
std::string rank_aborted(const Where& where, int status, std::string_view text,
                         const std::vector<job::Rank>& named);
/// ranks: that run although they have got SIGKILL. nodes: of daemons that have not reported the end of
/// theirs.
std::string left_behind(const std::vector<Where>& ranks, const std::vector<std::string>& nodes);
/// No rank of the job ever called PMIx_Init, although a program of this interface was to. Empty: nothing
/// speaks for that.
std::string not_of_the_job(std::string_view program, const job::Interface& interface, std::uint32_t size);
/// Ranks have ended without having reached the server, and another PMIx library was opened meanwhile.
struct OtherLibrary {
  std::string own, other;  ///< files
  std::string host;        ///< where the other one was opened
};
/// ranks: "none of the 4 ranks reached". program: what uses PMIx.
std::string library_lost(std::string_view ranks, std::string_view program, const OtherLibrary& library);
std::string timed_out(double seconds, const std::vector<job::Rank>& running, std::uint32_t size);
/// Some rank had not been started yet.
std::string timed_out_at_start(double seconds);
std::string ended_by_signal(int signal);
/// With --on-failure continue. first: "rank 3", "node b".
std::string went_on(std::size_t failures, int exit_status, std::string_view first);
/// All ranks of a job that are to stop there for a debugger have. size: of the job, whose namespace is `job`.
std::string held(const job::Held& held, std::uint32_t size, std::string_view job);
/// job, with: namespaces. The jobs are connected.
std::string ended_with(std::string_view job, std::string_view with);
/// by: of a process or tool that has called PMIx_Job_control.
std::string ended_by_control(std::string_view job, std::string_view by, std::uint32_t rank);
/// A process has asked for a job that cannot be. why: a line.
std::string not_spawned(std::string_view parent, std::uint32_t rank, std::string_view why);
/// of: the value of --names-of. why: and what to do.
std::string names_not_there(std::string_view of, std::string_view why);
std::string names_lost(std::string_view of);
std::string output_lost(std::string_view stream, int error);
std::string pull_dropped(std::string_view nspace, std::uint32_t rank);
std::string reader_gone(std::string_view stream);

// For --report-bindings and --verbose.
std::string binding(job::Rank rank, std::string_view host, std::string_view label,
                    const std::vector<unsigned>& cpus, std::string_view reason);

}  // namespace weft::messages
