// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::process {

using messages::Stop;
namespace exit_status = messages::exit_status;

Pipe make_pipe(bool reader_waits, bool writer_waits) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Stop(exit_status::own_failure, messages::no_descriptors(errno));
  }
  Pipe pipe{Fd(ends[0]), Fd(ends[1])};
  // The two ends are two open file descriptions: what one does not wait for, the other still may.
  if (!reader_waits) ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  if (!writer_waits) ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return pipe;
}

Pipe make_terminal() {
  std::array<char, 128> name{};
  Pipe pipe{Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)), {}};
  const bool is_there = pipe.read && ::grantpt(pipe.read.get()) == 0 && ::unlockpt(pipe.read.get()) == 0 &&
                        ::ptsname_r(pipe.read.get(), name.data(), name.size()) == 0;
  if (is_there) pipe.write.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pipe.write) throw messages::Stop(messages::exit_status::own_failure, messages::no_descriptors(errno));
  termios settings{};
  if (::tcgetattr(pipe.write.get(), &settings) == 0) {
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)::tcsetattr(pipe.write.get(), TCSANOW, &settings);
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) (void)::ioctl(pipe.write.get(), TIOCSWINSZ, &size);
  return pipe;
}

Fd reopen_nonblocking(int fd, int access_mode) {
  const auto path = fmt::format("/proc/self/fd/{}", fd);
  return Fd(::open(path.c_str(), access_mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

void ensure_standard_descriptors() {
  int fd;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) ::close(fd);
}

unsigned long descriptor_limit() noexcept {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void grow_descriptor_table() noexcept {
  constexpr rlim_t most = 4096;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const int highest =
      ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, static_cast<int>(std::min(limit.rlim_cur, most)) - 1);
  if (highest >= 0) ::close(highest);
}

}  // namespace weft::process
