// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/frame.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::link {
namespace {

Result<void> send_all(int socket, const std::byte* data, std::size_t left, const std::vector<int>& fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * welcome_fds)] = {};
  bool attach = !fds.empty();
  while (left != 0) {
    iovec part{const_cast<std::byte*>(data), left};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (attach) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      auto* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    }
    const auto sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return fail(errno == EPIPE || errno == ECONNRESET ? Errc::unreachable : Errc::os, "send", errno);
    }
    attach = false;
    data += sent;
    left -= static_cast<std::size_t>(sent);
  }
  return {};
}

void take_descriptors(msghdr& message, std::array<shm::Fd, welcome_fds>& fds) {
  for (auto* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      if (i < fds.size())
        fds[i] = shm::Fd(fd);
      else
        ::close(fd);
    }
  }
}

Result<void> receive_all(int socket, std::byte* data, std::size_t left,
                         std::array<shm::Fd, welcome_fds>* fds) {
  while (left != 0) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * welcome_fds)] = {};
    iovec part{data, left};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fds != nullptr) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    const auto got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno == ECONNRESET ? Errc::unreachable : Errc::os, "receive", errno);
    if (got == 0) return fail(Errc::unreachable, "the server closed the connection");
    if (fds != nullptr) take_descriptors(message, *fds);
    data += got;
    left -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

std::vector<std::byte> make_frame(MessageType type, std::uint64_t tag, Bytes payload) {
  const FrameHeader header{static_cast<std::uint32_t>(payload.size()), type, 0, tag};
  std::vector<std::byte> out(sizeof header + payload.size());
  std::memcpy(out.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(out.data() + sizeof header, payload.data(), payload.size());
  return out;
}

Result<void> send_frame(int socket, MessageType type, std::uint64_t tag, Bytes payload,
                        const std::vector<int>& fds) {
  if (payload.size() > max_payload) return fail(Errc::invalid, "message above 1 GiB");
  const auto frame = make_frame(type, tag, payload);
  return send_all(socket, frame.data(), frame.size(), fds);
}

Result<Frame> receive_frame(int socket, std::array<shm::Fd, welcome_fds>* fds) {
  FrameHeader header;
  if (auto ok = receive_all(socket, reinterpret_cast<std::byte*>(&header), sizeof header, fds); !ok)
    return tl::unexpected(ok.error());
  if (header.bytes > max_payload) return fail(Errc::corrupt, "frame length");
  Frame frame{header.type, header.tag, std::vector<std::byte>(header.bytes)};
  if (auto ok = receive_all(socket, frame.payload.data(), frame.payload.size(), fds); !ok)
    return tl::unexpected(ok.error());
  return frame;
}

}  // namespace weft::link
