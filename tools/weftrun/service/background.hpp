// SPDX-License-Identifier: BSD-3-Clause
// weftrun --dvm --detach: the service goes to the background when its nodes are there; the process that the
// user started leaves then, or with the service's status if it never is.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tools/messages/service_messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"

namespace weft::weftrun::service {

/// How the service says that it is ready.
class ReadyPipe {
 public:
  ReadyPipe() = default;
  explicit ReadyPipe(process::Fd write) : write_(std::move(write)) {}
  /// Nothing of the user's shell or terminal is used from now on.
  void tell() const {
    if (!write_) return;
    const process::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int fd = 0; fd < 3; ++fd) ::dup2(nothing.get(), fd);
    (void)!::write(write_.get(), "r", 1);
  }

 private:
  process::Fd write_;
};

/// Returns what serve(pipe) does, or at once with 0 in the process that the user started. While the process
/// has one thread. Throws Stop (own_failure).
template <class Serve>
int in_background(bool is_detached, Serve&& serve) {
  if (!is_detached) return serve(ReadyPipe());
  auto pipe = process::make_pipe(true, true);
  const auto child = ::fork();
  if (child < 0)
    throw messages::Stop(messages::exit_status::own_failure, messages::no_background(errno));
  if (child == 0) {
    pipe.read.reset();
    ::setsid();
    return serve(ReadyPipe(std::move(pipe.write)));
  }
  pipe.write.reset();
  char byte = 0;
  if (::read(pipe.read.get(), &byte, 1) == 1) return 0;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : messages::exit_status::signal_base + WTERMSIG(status);
}

}  // namespace weft::weftrun::service
