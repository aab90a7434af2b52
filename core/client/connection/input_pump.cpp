// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/input_pump.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace weft::client {

bool InputPump::start(Push push) {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return false;
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return false;
  try {
    thread_ = std::thread([this, push = std::move(push)] { run(push); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void InputPump::stop() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) return;
  constexpr std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

/// False: it is to stop.
bool InputPump::await_input() const {
  std::array<pollfd, 2> waits{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
  return waits[1].revents == 0;
}

void InputPump::run(const Push& push) const {
  std::array<char, 64 * 1024> bytes;
  while (await_input()) {
    const auto length = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (length < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    const std::string piece(bytes.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    if (!push(piece) || piece.empty()) return;
  }
}

}  // namespace weft::client
