// SPDX-License-Identifier: BSD-3-Clause
#include "base/local_socket.hpp"

#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft::base {
namespace {

struct SocketName {
  sockaddr_un address{};
  socklen_t length = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address); }
};

Result<SocketName> abstract(std::string_view name) {
  SocketName out;
  out.address.sun_family = AF_UNIX;
  if (name.empty() || name.size() > sizeof out.address.sun_path - 1)
    return fail(Errc::invalid, "the name of a socket is empty or too long");
  std::memcpy(out.address.sun_path + 1, name.data(), name.size());  // the leading zero makes it abstract
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

Result<SocketName> file(std::string_view path) {
  SocketName out;
  out.address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.address.sun_path || path.find('\0') != std::string_view::npos)
    return fail(Errc::invalid, "the path of a socket is empty or too long");
  std::memcpy(out.address.sun_path, path.data(), path.size());
  out.length = sizeof out.address;
  return out;
}

Result<Fd> stream(Blocking blocking) {
  Fd socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (blocking == Blocking::no ? SOCK_NONBLOCK : 0), 0));
  if (!socket) return fail(Errc::os, "socket", errno);
  return socket;
}

int flag_of(Blocking blocking) noexcept {
  return blocking == Blocking::no ? MSG_DONTWAIT : 0;
}

Unexpected failed(const char* what) {
  if (errno == EAGAIN) return fail(Errc::again, what, errno);
  if (errno == EPIPE || errno == ECONNRESET) return fail(Errc::peer_lost, what, errno);
  return fail(Errc::os, what, errno);
}

Result<Fd> listen_at(const Result<SocketName>& at, const char* what) {
  if (!at) return fail(at.error());
  auto socket = stream(Blocking::no);
  if (!socket) return socket;
  if (::bind(socket->get(), at->get(), at->length) != 0) return fail(Errc::os, what, errno);
  if (::listen(socket->get(), SOMAXCONN) != 0) return fail(Errc::os, "listen", errno);
  return socket;
}

Result<Fd> connect_to(const Result<SocketName>& at, Blocking blocking, const char* what) {
  if (!at) return fail(at.error());
  auto socket = stream(blocking);
  if (!socket) return socket;
  while (::connect(socket->get(), at->get(), at->length) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return fail(Errc::again, "too many wait to be accepted");
    if (errno == ECONNREFUSED || errno == ENOENT)
      return fail(Errc::unreachable, "no process listens there", errno);
    return fail(Errc::os, what, errno);
  }
  return socket;
}

using Control = std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))>;

}  // namespace

Result<Fd> listen_at(std::string_view name) {
  return listen_at(abstract(name), "bind of an abstract socket");
}

Result<Fd> connect_to(std::string_view name, Blocking blocking) {
  return connect_to(abstract(name), blocking, "connect to an abstract socket");
}

Result<Fd> listen_at_file(std::string_view path) {
  return listen_at(file(path), "bind of a socket that is a file");
}

Result<Fd> connect_to_file(std::string_view path, Blocking blocking) {
  return connect_to(file(path), blocking, "connect to a socket that is a file");
}

Result<ucred> peer_credentials(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return fail(Errc::os, "SO_PEERCRED", errno);
  return peer;
}

Result<std::size_t> send_some(int socket, Bytes bytes, std::span<const int> descriptors, Blocking blocking) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors.size() > most_descriptors)
    return fail(Errc::invalid, "too many descriptors in one message");
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    const auto sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | flag_of(blocking));
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EINTR) return failed("send");
  }
}

Result<std::size_t> receive_some(int socket, MutableBytes into, std::vector<Fd>* descriptors,
                                 Blocking blocking, Take take) {
  iovec part{into.data(), into.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message,
                    MSG_CMSG_CLOEXEC | flag_of(blocking) | (take == Take::copy ? MSG_PEEK : 0));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return failed("receive");
  for (auto* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof descriptor);
      descriptors->emplace_back(descriptor);
    }
  }
  if (got == 0) return fail(Errc::peer_lost, "the other end closed the connection");
  if (descriptors != nullptr && (message.msg_flags & MSG_CTRUNC) != 0) {
    descriptors->clear();
    return fail(Errc::corrupt, "more descriptors than a message of ours has");
  }
  return static_cast<std::size_t>(got);
}

bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace weft::base
