// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/process_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/process.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {

std::string contents_of(const std::string& path) {
  std::string text;
  const process::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[4096];
  for (;;) {
    const auto length = file ? ::read(file.get(), bytes, sizeof bytes) : 0;
    if (length <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(length));
  }
}

std::optional<std::vector<pid_t>> own_children() {
  if (::access("/proc/thread-self/children", R_OK) != 0) return std::nullopt;
  std::vector<pid_t> out;
  each_number("/proc/self/task", [&out](pid_t thread) {
    const auto text = contents_of(fmt::format("/proc/self/task/{}/children", thread));
    for (const char* at = text.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long pid = std::strtol(at, &end, 10);
      if (end == at) return;
      out.push_back(static_cast<pid_t>(pid));
      at = *end == '\0' ? end : end + 1;
    }
  });
  return out;
}

ProcessState state_of(pid_t pid) {
  const std::string stat = contents_of(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');  // a program's name may hold spaces and parentheses
  if (name_end == std::string::npos || stat.size() < name_end + 4) return {};
  return {stat[name_end + 2], static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10))};
}

bool wait_for_end(pid_t pid, int options, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  if (const auto process = base::open_process(pid)) {
    pollfd watch{process->get(), POLLIN, 0};
    (void)::poll(&watch, 1, static_cast<int>(patience.count()));
  }
  // The process has ended by now, but a debugger may stand between it and its parent; or there was no
  // descriptor to wait with.
  for (;;) {
    const auto reaped = ::waitpid(pid, nullptr, options | WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return true;
    if (Clock::now() >= end) return false;
    ::usleep(1000);
  }
}

}  // namespace weft::node
