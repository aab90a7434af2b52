// SPDX-License-Identifier: BSD-3-Clause
#include "base/local_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <string>

namespace weft::base {
namespace {

std::string name_of(const char* test) {
  return "weft-base-test-" + std::to_string(::getpid()) + "-" + test;
}

struct Connection {
  Fd listener, client, server;
  explicit Connection(const char* test) {
    listener = *listen_at(name_of(test));
    client = *connect_to(name_of(test), Blocking::no);
    server = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }
};

ino_t inode(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

unsigned open_descriptors() {
  unsigned count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0;
  return count;
}

TEST(local_socket, a_name_is_taken_once) {
  const auto first = listen_at(name_of("taken"));
  ASSERT_TRUE(first);
  const auto second = listen_at(name_of("taken"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().sys, EADDRINUSE);
}

TEST(local_socket, names_are_bounded) {
  for (const auto& name : {std::string(), std::string(108, 'n')}) {
    EXPECT_EQ(listen_at(name).error().code, Errc::invalid) << name.size();
    EXPECT_EQ(connect_to(name, Blocking::no).error().code, Errc::invalid) << name.size();
  }
  EXPECT_TRUE(listen_at(std::string(107, 'n')));
}

TEST(local_socket, where_no_process_listens_it_is_unreachable) {
  for (const auto blocking : {Blocking::no, Blocking::yes})
    EXPECT_EQ(connect_to(name_of("none"), blocking).error().code, Errc::unreachable);
}

TEST(local_socket, nothing_survives_an_exec) {
  const Connection c("exec");
  EXPECT_NE(::fcntl(c.listener.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(c.client.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(local_socket, the_kernel_names_the_process_at_the_other_end) {
  const Connection c("credentials");
  for (const int socket : {c.client.get(), c.server.get()}) {
    const auto peer = peer_credentials(socket);
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->pid, ::getpid());
    EXPECT_EQ(peer->uid, ::getuid());
    EXPECT_EQ(peer->gid, ::getgid());
  }
  EXPECT_FALSE(peer_credentials(-1));
}

TEST(local_socket, bytes_arrive_with_their_descriptors) {
  const Connection c("descriptors");
  const std::array sent{c.listener.get(), c.client.get()};
  EXPECT_EQ(send_some(c.client.get(), as_bytes("abc"), sent, Blocking::no), 3u);
  std::array<std::byte, 8> into;
  std::vector<Fd> descriptors;
  EXPECT_EQ(receive_some(c.server.get(), into, &descriptors, Blocking::no), 3u);
  ASSERT_EQ(descriptors.size(), 2u);
  EXPECT_EQ(inode(descriptors[0].get()), inode(c.listener.get()));
  EXPECT_NE(::fcntl(descriptors[1].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(local_socket, descriptors_that_no_receiver_asked_for_are_closed) {
  const Connection c("unasked");
  const auto before = open_descriptors();
  EXPECT_EQ(send_some(c.client.get(), as_bytes("a"), std::array{c.listener.get()}, Blocking::no), 1u);
  std::array<std::byte, 8> into;
  EXPECT_EQ(receive_some(c.server.get(), into, nullptr, Blocking::no), 1u);
  EXPECT_EQ(open_descriptors(), before);
}

/// A process that means ill could send so; a sender of ours cannot.
TEST(local_socket, more_descriptors_than_there_is_room_for_are_closed_and_refused) {
  const Connection c("many");
  const auto before = open_descriptors();
  constexpr std::size_t many = most_descriptors + 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(many * sizeof(int))> control{};
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(many * sizeof(int));
  for (std::size_t i = 0; i < many; ++i) {
    const int fd = c.listener.get();
    std::memcpy(CMSG_DATA(head) + i * sizeof fd, &fd, sizeof fd);
  }
  ASSERT_EQ(::sendmsg(c.client.get(), &message, 0), 1);
  std::array<std::byte, 8> into;
  std::vector<Fd> descriptors;
  EXPECT_EQ(receive_some(c.server.get(), into, &descriptors, Blocking::no).error().code, Errc::corrupt);
  EXPECT_TRUE(descriptors.empty());
  EXPECT_EQ(open_descriptors(), before);
  const std::vector<int> too_many(many, c.listener.get());
  EXPECT_EQ(send_some(c.client.get(), as_bytes("a"), too_many, Blocking::no).error().code, Errc::invalid);
}

TEST(local_socket, a_socket_without_bytes_says_so_and_a_closed_one_is_lost) {
  Connection c("closed");
  std::array<std::byte, 8> into;
  EXPECT_EQ(receive_some(c.server.get(), into, nullptr, Blocking::no).error().code, Errc::again);
  c.client.reset();
  EXPECT_EQ(receive_some(c.server.get(), into, nullptr, Blocking::no).error().code, Errc::peer_lost);
  EXPECT_EQ(send_some(c.server.get(), as_bytes("a"), {}, Blocking::no).error().code, Errc::peer_lost);
}

}  // namespace
}  // namespace weft::base
