// SPDX-License-Identifier: BSD-3-Clause
// weftpmi PROGRAM [ARGUMENT...]: runs PROGRAM in this process, with a socket over which it can speak PMI-1 or
// PMI-2. The other end is served by a second process, the PMIx client of the rank (docs/design/pmi.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <pmix.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/host_name.hpp"
#include "base/process.hpp"
#include "base/settings.hpp"
#include "pmi/agent.hpp"
#include "pmi/spawn/preput.hpp"

namespace weft::pmi {
namespace {

constexpr int own_failure = 125, not_executable = 126, not_found = 127;

constexpr const char* help =
    "Usage: weftpmi PROGRAM [ARGUMENT...]\n"
    "Runs PROGRAM as a rank that speaks PMI-1 or PMI-2 over the socket PMI_FD, under any launcher that "
    "offers PMIx. "
    "weftrun puts it\n"
    "in front of programs that need it.   (weftpmi(1))\n"
    "  -h,--help      Print this and leave\n"
    "  -V,--version   Print the version and leave\n";

struct Rank {
  std::uint32_t rank = 0, size = 0;
};

std::optional<std::uint32_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// The rank that a program reads before it makes its first request, from the variables of weftrun, mpirun and
/// srun.
std::optional<Rank> own_rank() {
  const auto rank = number_in("PMIX_RANK");
  auto size = number_in("OMPI_COMM_WORLD_SIZE");
  if (!size) size = number_in("SLURM_NTASKS");
  if (!rank || !size || *rank >= *size) return std::nullopt;
  return Rank{*rank, *size};
}

/// The agent gets the signals that a launcher sends to the whole process group, and they are the program's.
void block_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&signals, own);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

[[noreturn]] void run_agent(base::Fd socket, const Rank& rank, int program) {
  block_signals();
  // The descriptors of the program are closed here, so that neither the end of its input nor that of its
  // output waits for this process.
  constexpr int socket_at = 3, program_at = 4;
  const int moved = ::fcntl(program, F_DUPFD_CLOEXEC, program_at);
  ::dup2(socket.release(), socket_at);
  ::dup2(moved, program_at);
  ::syscall(SYS_close_range, 5U, ~0U, 0U);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  Agent(base::Fd(socket_at), rank.size, fmt::format("rank {} on {}", rank.rank, base::host_name()))
      .run(program_at);
  ::_exit(0);
}

/// The agent is no child of the program, which may wait for all of its children.
bool start_agent(base::Fd socket, const Rank& rank, int other_end) {
  const auto program = base::open_process(::getpid());
  if (!program) return false;
  const pid_t first = ::fork();
  if (first < 0) return false;
  if (first == 0) {
    const pid_t second = ::fork();
    if (second != 0) ::_exit(second < 0 ? 1 : 0);
    ::close(other_end);
    run_agent(std::move(socket), rank, program->get());
  }
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) continue;
  return status == 0;
}

int fail(int exit_code, const std::string& line) {
  fmt::print(stderr, "weftpmi: {}\n", line);
  return exit_code;
}

int run(char** argv) {
  const auto rank = own_rank();
  if (!rank)
    return fail(own_failure,
                "there is no launcher with PMIx: PMIX_RANK and the number of ranks (OMPI_COMM_WORLD_SIZE or "
                "SLURM_NTASKS) are not "
                "set. What to do: start it by weftrun");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(own_failure, fmt::format("no socket for PMI_FD: {}", std::strerror(errno)));
  if (!start_agent(base::Fd(ends[0]), *rank, ends[1]))
    return fail(own_failure, fmt::format("no process to serve PMI_FD: {}", std::strerror(errno)));
  ::fcntl(ends[1], F_SETFD, 0);
  for (const char* other : {"PMI_PORT", "PMI_ID", "PMI_SPAWNED"}) ::unsetenv(other);
  ::setenv("PMI_FD", std::to_string(ends[1]).c_str(), 1);
  ::setenv("PMI_RANK", std::to_string(rank->rank).c_str(), 1);
  ::setenv("PMI_SIZE", std::to_string(rank->size).c_str(), 1);
  // The program reads from the environment whether it was spawned, before its first request.
  if (own_preput()) ::setenv("PMI_SPAWNED", "1", 1);
  ::unsetenv(base::setting_of(base::Variable::pmi_preput).name);
  ::execvp(argv[0], argv);
  return fail(errno == ENOENT ? not_found : not_executable,
              fmt::format("'{}' cannot be executed: {}", argv[0], std::strerror(errno)));
}

}  // namespace
}  // namespace weft::pmi

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "-h";
  if (word == "-V" || word == "--version")
    return fmt::print("weftpmi {} with {}\n", WEFT_VERSION, PMIx_Get_version()), 0;
  if (word == "-h" || word == "--help")
    return std::fputs(weft::pmi::help, argc > 1 ? stdout : stderr), argc > 1 ? 0 : 2;
  return weft::pmi::run(argv + 1);
}
