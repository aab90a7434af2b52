// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/background.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "tools/messages/service_messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::weftrun::service {
namespace {

/// Nothing that the service and its guard hold is the user's shell's or terminal's.
void leave_terminal(const process::Fd& output) {
  const process::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::setsid();
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(output.get(), STDOUT_FILENO);
  ::dup2(output.get(), STDERR_FILENO);
}

/// False: there is no more.
bool pass_on(int from) {
  std::array<char, 4096> bytes;
  const auto length = ::read(from, bytes.data(), bytes.size());
  if (length > 0) (void)!::write(STDERR_FILENO, bytes.data(), static_cast<std::size_t>(length));
  return length > 0 || (length < 0 && errno == EINTR);
}

/// True: the service is ready; false: it has ended.
bool await(int output, int ready) {
  std::array<pollfd, 2> watched{{{output, POLLIN, 0}, {ready, POLLIN, 0}}};
  char byte = 0;
  for (;;) {
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if ((watched[0].revents & POLLIN) != 0 && pass_on(output)) continue;  // all of it, before the end
    if (watched[0].revents != 0) watched[0].fd = -1;
    if (watched[1].revents != 0) return ::read(ready, &byte, 1) == 1;
  }
}

}  // namespace

void ReadyPipe::tell() const {
  if (write_) (void)!::write(write_.get(), "r", 1);
}

int in_background(const std::function<int(const ReadyPipe&)>& serve) {
  auto output = process::make_pipe(true, true), ready = process::make_pipe(true, true);
  const auto child = ::fork();
  if (child < 0) throw messages::Stop(messages::exit_status::own_failure, messages::no_background(errno));
  if (child == 0) {
    output.read.reset();
    ready.read.reset();
    leave_terminal(std::exchange(output.write, {}));
    return serve(ReadyPipe(std::move(ready.write)));
  }
  output.write.reset();
  ready.write.reset();
  if (await(output.read.get(), ready.read.get())) return 0;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : messages::exit_status::signal_base + WTERMSIG(status);
}

}  // namespace weft::weftrun::service
