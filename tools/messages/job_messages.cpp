// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tools/job/ranges.hpp"

namespace weft::messages {
namespace {

using job::Rank;

std::string at(const Where& where) {
  const auto job = where.job.empty() ? std::string() : fmt::format(" of job {}", where.job);
  return fmt::format("rank {}{} on {} (pid {}, {})", number(where.rank), job, where.host, where.pid,
                     where.program);
}

std::string see_output(const Where& where) {
  if (where.error_file.empty()) return "its own output above should tell why";
  return fmt::format("see {}", where.error_file);
}

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  if (abbreviation == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("signal {} (SIG{})", signal, abbreviation);
}

/// The advice that helps most with a process that this signal ended.
std::string signal_advice(int signal, bool core_dumped, const Where& where) {
  switch (signal) {
    case SIGKILL:
      return "if nobody sent it, the kernel ran out of memory: look at dmesg, or run fewer ranks";
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return "somebody else sent it: weftrun did not";
    case SIGPIPE:
      return "the reader of its output or of one of its connections has gone";
    case SIGXCPU:
    case SIGXFSZ:
      return "a limit was reached: see ulimit -a";
    default:
      return core_dumped ? "a core file was written: load it into gdb"
                         : see_output(where) + "; for a core file run: ulimit -c unlimited";
  }
}

}  // namespace

std::string rank_killed(const Where& where, int signal, bool core_dumped, std::string_view consequence) {
  return fmt::format("{} was killed by {}; {}. What to do: {}", at(where), signal_name(signal), consequence,
                     signal_advice(signal, core_dumped, where));
}

std::string rank_failed(const Where& where, int status, bool in_between, std::string_view consequence) {
  const char* when = in_between ? " after PMIx_Init but without PMIx_Finalize" : "";
  return fmt::format("{} exited with status {}{}; {}. What to do: {}", at(where), status, when, consequence,
                     see_output(where));
}

std::string rank_left_without_finalize(const Where& where, std::string_view consequence) {
  return fmt::format(
      "{} exited with status 0 after PMIx_Init but without PMIx_Finalize; {}. What to do: see "
      "that every way out of the program calls MPI_Finalize",
      at(where), consequence);
}

std::string ended_without_init(const Where& first, const std::vector<Rank>& all) {
  const bool is_alone = all.size() == 1;
  return fmt::format(
      "before that {} had ended with status 0 and without PMIx_Init (MPI_Init): calls of other ranks that "
      "wait for {} "
      "fail. What to do: see that every rank of the job runs a program that calls it, and that a script "
      "starts that "
      "program with exec or waits for it",
      is_alone ? at(first) : fmt::format("ranks {}, the first of them {},", job::ranges(all), at(first)),
      is_alone ? "it" : "them");
}

std::string rank_aborted(const Where& where, int status, std::string_view text,
                         const std::vector<Rank>& named) {
  const auto target = named.empty() ? std::string() : fmt::format(" for ranks {}", job::ranges(named));
  const bool says_nothing = text.empty() || text == "N/A";
  const auto message = says_nothing ? std::string() : fmt::format(" and the message '{}'", text);
  const auto consequence = named.empty() ? end_of_job : std::string_view("these ranks were ended");
  return fmt::format("{} called PMIx_Abort (MPI_Abort){} with status {}{}; {}. What to do: {}", at(where),
                     target, status, message, consequence, see_output(where));
}

std::string not_of_the_job(std::string_view program, const job::Interface& interface, std::uint32_t size) {
  const auto none = fmt::format("none of the {} ranks called PMIx_Init", size);
  if (!interface.server_pmix.empty())
    return fmt::format(
        "{}: {} uses the PMIx library {}, which does not understand weftrun's, {}. What to do: let it use "
        "weftrun's, which stands first "
        "on LD_LIBRARY_PATH: remove the RPATH that goes before it (readelf -d, chrpath -d)",
        none, program, interface.pmix, interface.server_pmix);
  if (interface.mpi.empty() || size < 2 || interface.has_weftpmi) return {};
  if (interface.is_wire)
    return fmt::format(
        "{}: {} needs {}, which speaks PMI-1, and --pmi off keeps weftrun from serving that. If it called "
        "MPI_Init, each rank was a job "
        "of its own. What to do: leave --pmi off out",
        none, program, interface.mpi);
  return fmt::format(
      "{}, although {} needs {}. If it called MPI_Init, each rank was a job of its own. What to do: see that "
      "this library was built "
      "for PMIx and that no setting keeps it from it (OMPI_MCA_*); for PMI-1 over a socket: --pmi on",
      none, program, interface.mpi);
}

std::string library_lost(std::string_view ranks, std::string_view program, const OtherLibrary& library) {
  const auto folder = library.own.substr(0, std::max<std::size_t>(1, library.own.rfind('/')));
  return fmt::format(
      "{} weftrun's PMIx library, {}, and another one, {}, was opened on {} while they ran: on the way from "
      "weftrun to {} LD_LIBRARY_PATH may have been lost or changed (env -i, a login shell, a module "
      "or conda script, a setuid bit). What to do: put {} first on LD_LIBRARY_PATH again behind that, or "
      "link the "
      "program to weftrun's library with an RPATH, which a setuid program needs",
      ranks, library.own, library.other, library.host, program, folder);
}

std::string timed_out_at_start(double seconds) {
  return fmt::format(
      "the job did not end within --timeout {:g} seconds: it was still being started, and was ended. Give it "
      "more "
      "time, or see what its nodes wait for: --verbose",
      seconds);
}

std::string timed_out(double seconds, const std::vector<Rank>& running, std::uint32_t size) {
  if (running.empty()) {
    return fmt::format(
        "the job did not end within --timeout {:g} seconds: its ranks have ended, but their "
        "output is not being read, and the rest of it is lost",
        seconds);
  }
  return fmt::format(
      "the job did not end within --timeout {:g} seconds: {} of {} ranks still ran (rank {}) "
      "and were ended. Give it more time, or see above what they waited for",
      seconds, running.size(), size, job::ranges(running));
}

std::string left_behind(const std::vector<Where>& ranks, const std::vector<std::string>& nodes) {
  constexpr std::size_t most_named = 8;
  std::string left;
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i)
    left += fmt::format("{}rank {} (pid {}) on {}", i == 0 ? "" : ", ", number(ranks[i].rank), ranks[i].pid,
                        ranks[i].host);
  if (ranks.size() > most_named) left += fmt::format(" and {} more", ranks.size() - most_named);
  if (!nodes.empty())
    left += fmt::format("{}daemons on {}", left.empty() ? "" : "; ", fmt::join(nodes, ", "));
  return fmt::format(
      "left behind, because SIGKILL has not ended it: {}. Its node may wait for a disk or a network file "
      "system",
      left.empty() ? "a process of the job" : left);
}

std::string others_go_on_without(const std::vector<Rank>& lost) {
  return fmt::format("{} {} ended with it, {}", lost.size() == 1 ? "rank" : "ranks", job::ranges(lost),
                     others_go_on);
}

std::string went_on(std::size_t failures, int exit_status, std::string_view first) {
  if (failures == 1)
    return fmt::format("the others went on to the job's end; exit status {} is that of {}", exit_status,
                       first);
  return fmt::format(
      "the others went on to the job's end; exit status {} is that of the first of {} failures, {}",
      exit_status, failures, first);
}

std::string held(const job::Held& held, std::uint32_t size, std::string_view job) {
  const auto ranks = held.ranks == size ? fmt::format("all {} ranks", size)
                                        : fmt::format("{} of {} ranks", held.ranks, size);
  const auto release = "the event PMIX_DEBUGGER_RELEASE lets them go on";
  switch (held.point) {
    case job::StopPoint::exec:
      return fmt::format("{} of {} are stopped before their first instruction, for a debugger; SIGCONT or {}",
                         ranks, job, release);
    case job::StopPoint::init:
      return fmt::format("{} of {} wait in PMIx_Init for a debugger; {}", ranks, job, release);
    case job::StopPoint::app:
      break;
  }
  return fmt::format("{} of {} wait at '{}' for a debugger", ranks, job,
                     held.breakpoint.empty() ? "a point of their own" : on_one_line(held.breakpoint));
}

std::string ended_by_signal(int signal) {
  return fmt::format(
      "got {}: ending the job; ranks that stay get SIGKILL after 2 seconds, or at once if you "
      "send it again",
      signal_name(signal));
}

std::string ended_with(std::string_view job, std::string_view with) {
  return fmt::format("job {} is ended with job {}, with which it is connected", job, with);
}

std::string ended_by_control(std::string_view job, std::string_view by, std::uint32_t rank) {
  return fmt::format("job {} is ended: rank {} of {} has asked for that (PMIx_Job_control)", job, rank, by);
}

std::string not_spawned(std::string_view parent, std::uint32_t rank, std::string_view why) {
  return fmt::format("rank {} of job {} asked for a job (PMIx_Spawn): {}", rank, parent, why);
}

std::string output_lost(std::string_view stream, int error) {
  return fmt::format("cannot write {}: {}; {}, for its output would be incomplete", stream,
                     std::strerror(error), end_of_job);
}

std::string pull_dropped(std::string_view nspace, std::uint32_t rank) {
  return fmt::format(
      "rank {} of {} does not read the output that it pulls; it gets no more of it, and the job goes on",
      rank, on_one_line(std::string(nspace)));
}

std::string reader_gone(std::string_view stream) {
  return fmt::format("nobody reads {} any more; the ranks that write there are told so by SIGPIPE", stream);
}

std::string binding(Rank rank, std::string_view host, std::string_view label,
                    const std::vector<unsigned>& cpus, std::string_view reason) {
  if (cpus.empty()) return fmt::format("rank {} on {}: not bound; {}", number(rank), host, reason);
  return fmt::format("rank {} on {}: bound to {} (processors {}); {}", number(rank), host, label,
                     job::ranges(cpus), reason);
}

}  // namespace weft::messages
