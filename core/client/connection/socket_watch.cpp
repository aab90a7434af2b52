// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/socket_watch.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::client {
namespace {

/// Between looks, where there is no descriptor to be woken by.
constexpr int look_ms = 10;

bool add(int set, int fd) noexcept {
  epoll_event event{EPOLLIN, {.fd = fd}};
  return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

void SocketWatch::open(int socket) {
  socket_ = socket;
  wake_ = shm::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return;
  set_ = shm::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (set_ && (!add(set_.get(), wake_.get()) || (socket >= 0 && !add(set_.get(), socket)))) set_ = {};
}

SocketWatch::Woken SocketWatch::wait(int timeout_ms) {
  if (!set_) return wait_in_poll(timeout_ms);
  std::array<epoll_event, 2> events;
  const auto count = ::epoll_wait(set_.get(), events.data(), int(events.size()), timeout_ms);
  Woken out;
  for (int i = 0; i < count; ++i)
    (events[std::size_t(i)].data.fd == socket_ ? out.by_frame : out.by_other) = true;
  std::uint64_t words = 0;
  if (out.by_other) (void)!::read(wake_.get(), &words, sizeof words);
  return out;
}

SocketWatch::Woken SocketWatch::wait_in_poll(int timeout_ms) {
  if (!wake_ && timeout_ms != 0) timeout_ms = timeout_ms < 0 ? look_ms : std::min(timeout_ms, look_ms);
  pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {socket_, POLLIN, 0}};
  if (::poll(fds, 2, timeout_ms) <= 0) return {};
  std::uint64_t words = 0;
  if (fds[0].revents != 0) (void)!::read(wake_.get(), &words, sizeof words);
  return {fds[1].revents != 0, fds[0].revents != 0};
}

void SocketWatch::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void SocketWatch::take_frames(bool by_sleeper) noexcept {
  epoll_event event{by_sleeper ? std::uint32_t{EPOLLIN} : 0U, {.fd = socket_}};
  (void)::epoll_ctl(set_.get(), EPOLL_CTL_MOD, socket_, &event);
}

void SocketWatch::forget_socket() noexcept {
  if (set_ && socket_ >= 0) (void)::epoll_ctl(set_.get(), EPOLL_CTL_DEL, socket_, nullptr);
  socket_ = -1;
}

}  // namespace weft::client
