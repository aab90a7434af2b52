// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/local_socket.hpp"

namespace weft::shm {
Result<Fd> accept_from(const Fd& listener) {
  for (;;) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) return socket;
    if (errno == EAGAIN) return fail(Errc::not_found);
    if (errno != EINTR && errno != ECONNABORTED) return fail(Errc::os, "accept4", errno);
  }
}

Result<pid_t> same_user_at(const Fd& socket) {
  const auto peer = base::peer_credentials(socket.get());
  if (!peer) return fail(peer.error());
  if (peer->uid != ::geteuid())
    return fail(Errc::denied, "the process at the other end is another user's", EPERM);
  if (peer->pid <= 0) return fail(Errc::not_found, "a process of another pid namespace", ESRCH);
  return peer->pid;
}

Result<void> send_descriptor(const Fd& socket, Bytes bytes, int descriptor) {
  const auto sent = base::send_some(socket.get(), bytes, {&descriptor, 1}, base::Blocking::no);
  if (sent && *sent == bytes.size()) return {};
  if (!sent && sent.error().code == Errc::peer_lost) return fail(Errc::peer_lost);
  return fail(Errc::os, "handing over a descriptor", sent ? EIO : sent.error().sys);
}

Result<Fd> receive_descriptor(const Fd& socket, MutableBytes bytes) {
  std::vector<Fd> descriptors;
  // Looked at first: what the kernel hands over while no descriptor is free is gone with its packet.
  auto got = base::receive_some(socket.get(), bytes, &descriptors, base::Blocking::no, base::Take::copy);
  if (!got && got.error().code == Errc::again) return fail(Errc::again);
  if (!got && got.error().code == Errc::corrupt) return fail(Errc::no_space, "no descriptor is free");
  if (got) got = base::receive_some(socket.get(), bytes, nullptr, base::Blocking::no);
  if (!got) return fail(Errc::peer_lost);
  if (*got != bytes.size() || descriptors.size() != 1)
    return fail(Errc::corrupt, "not the greeting of a peer");
  return std::move(descriptors[0]);
}

void nudge(const Fd& socket) noexcept {
  const char byte = 0;
  while (::send(socket.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
  }
}

bool take_nudges(const Fd& socket) noexcept {
  std::array<char, 256> bytes;
  for (;;) {
    const auto got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == static_cast<ssize_t>(bytes.size()) || (got < 0 && errno == EINTR)) continue;
    if (got > 0 || (got < 0 && errno == EAGAIN)) return true;
    return false;
  }
}

}  // namespace weft::shm
