// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace weft::shm {
namespace {

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

Result<Name> abstract(const std::string& name) {
  Name out;
  out.address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof out.address.sun_path)
    return fail(Errc::invalid, "a socket's name is too long");
  std::memcpy(out.address.sun_path + 1, name.data(), name.size());  // the leading zero makes it abstract
  out.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

Result<Fd> stream() {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Errc::os, "socket", errno);
  return socket;
}

}  // namespace

Result<Fd> listen_to(const std::string& name) {
  const auto at = abstract(name);
  if (!at) return fail(at.error());
  auto socket = stream();
  if (!socket) return socket;
  if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&at->address), at->bytes) != 0)
    return fail(Errc::os, "bind of an abstract socket", errno);
  if (::listen(socket->get(), SOMAXCONN) != 0) return fail(Errc::os, "listen", errno);
  return socket;
}

Result<Fd> connect_to(const std::string& name) {
  const auto at = abstract(name);
  if (!at) return fail(at.error());
  auto socket = stream();
  if (!socket) return socket;
  int rc;
  do {
    rc = ::connect(socket->get(), reinterpret_cast<const sockaddr*>(&at->address), at->bytes);
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return socket;
  if (errno == EAGAIN) return fail(Errc::again, "too many wait to be accepted");
  if (errno == ECONNREFUSED) return fail(Errc::peer_lost, "nobody listens there");
  return fail(Errc::os, "connect to an abstract socket", errno);
}

Result<Fd> accept_from(const Fd& listener) {
  for (;;) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) return socket;
    if (errno == EAGAIN) return fail(Errc::not_found);
    if (errno != EINTR && errno != ECONNABORTED) return fail(Errc::os, "accept4", errno);
  }
}

Result<pid_t> same_user_at(const Fd& socket) {
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0)
    return fail(Errc::os, "SO_PEERCRED", errno);
  if (who.uid != ::geteuid())
    return fail(Errc::denied, "the process at the other end is another user's", EPERM);
  if (who.pid <= 0) return fail(Errc::not_found, "a process of another pid namespace", ESRCH);
  return who.pid;
}

Result<void> send_descriptor(const Fd& socket, Bytes bytes, int descriptor) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  ssize_t sent;
  do {
    sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return fail(Errc::peer_lost);
  return fail(Errc::os, "handing over a descriptor", sent < 0 ? errno : EIO);
}

Result<Fd> receive_descriptor(const Fd& socket, MutableBytes bytes) {
  iovec piece{bytes.data(), bytes.size()};
  // Room for more than one, so that all that a stranger sends arrive here and are closed.
  constexpr std::size_t most = 8;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got;
  do {
    got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return fail(Errc::again);
  if (got <= 0) return fail(Errc::peer_lost);
  Fd first;
  std::size_t count = 0;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here; ++i, ++count) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      Fd owned(descriptor);
      if (count == 0) first = std::move(owned);
    }
  }
  if (count != 1 || got != static_cast<ssize_t>(bytes.size()) || (message.msg_flags & MSG_CTRUNC) != 0)
    return fail(Errc::corrupt, "not the greeting of a peer");
  return first;
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
