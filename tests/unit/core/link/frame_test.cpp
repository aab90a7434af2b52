// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/frame.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::link {
namespace {

struct Pair {
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    here = shm::Fd(ends[0]);
    there = shm::Fd(ends[1]);
  }
  void raw(const void* bytes, std::size_t length) const {
    ASSERT_EQ(::write(here.get(), bytes, length), static_cast<ssize_t>(length));
  }
  shm::Fd here, there;
};

std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> out(length);
  for (std::size_t i = 0; i < length; ++i) out[i] = static_cast<std::byte>(i * 7);
  return out;
}

ino_t inode(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

unsigned open_descriptors() {
  unsigned count = 0;
  for (int fd = 0; fd < 256; ++fd) count += ::fcntl(fd, F_GETFD) != -1;
  return count;
}

TEST(Frame, carries_type_tag_and_bytes) {
  testing::Watchdog watchdog;
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{5} << 20}) {
    Pair p;
    const auto payload = pattern(length);
    std::thread sender(
        [&] { EXPECT_TRUE(send_frame(p.here.get(), MessageType::value, 0x0123456789abcdef, payload)); });
    const auto frame = receive_frame(p.there.get());
    sender.join();
    ASSERT_TRUE(frame) << length;
    EXPECT_EQ(frame->type, MessageType::value);
    EXPECT_EQ(frame->tag, 0x0123456789abcdefu);
    EXPECT_EQ(frame->payload, payload);
  }
}

TEST(Frame, keeps_them_apart) {
  Pair p;
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    ASSERT_TRUE(send_frame(p.here.get(), MessageType::done, tag, pattern(tag)));
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    const auto frame = receive_frame(p.there.get());
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->tag, tag);
    EXPECT_EQ(frame->payload.size(), tag);
  }
}

TEST(Frame, in_pieces_of_one_byte) {
  testing::Watchdog watchdog;
  Pair p;
  const auto payload = pattern(50);
  const auto bytes = make_frame(MessageType::get, 5, payload);
  std::thread sender([&] {
    for (const auto& byte : bytes) p.raw(&byte, 1);
  });
  const auto frame = receive_frame(p.there.get());
  sender.join();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, payload);
}

TEST(Frame, cut_anywhere_the_peer_is_gone) {
  const auto bytes = make_frame(MessageType::get, 5, pattern(9));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    Pair p;
    p.raw(bytes.data(), length);
    p.here.reset();
    const auto frame = receive_frame(p.there.get());
    ASSERT_FALSE(frame) << length;
    EXPECT_EQ(frame.error().code, Errc::unreachable);
  }
}

TEST(Frame, a_length_that_cannot_be_asks_for_no_memory) {
  for (const auto& [length, type] :
       {std::pair(max_payload + 1, MessageType::store), std::pair(0xffffffffu, MessageType::store),
        std::pair(max_request + 1, MessageType::get), std::pair(65u, MessageType::finalize),
        std::pair(1u, MessageType(999))}) {
    Pair p;
    const FrameHeader header{length, type, 0, 1};
    p.raw(&header, sizeof header);
    const auto frame = receive_frame(p.there.get());
    ASSERT_FALSE(frame);
    EXPECT_EQ(frame.error().code, Errc::corrupt);
  }
}

TEST(Frame, an_announced_length_takes_no_more_room_than_what_has_come) {
  std::vector<std::byte> payload;
  std::size_t have = 0, parts = 0;
  for (; have < (std::size_t{1} << 24) + 5; ++parts) {
    const auto room = next_room(payload, have, (std::size_t{1} << 24) + 5);
    EXPECT_LE(room.size(), std::max<std::size_t>(have, 64 << 10));
    EXPECT_EQ(room.data(), payload.data() + have);
    have += room.size();
  }
  EXPECT_EQ(have, (std::size_t{1} << 24) + 5);
  EXPECT_LE(parts, 10u);
}

TEST(Frame, what_is_too_long_is_not_sent) {
  Pair p;
  static const std::byte one{};
  for (const auto type : {MessageType::get, MessageType::store, MessageType::nudge}) {
    const auto sent = send_frame(p.here.get(), type, 1, Bytes(&one, std::size_t{most_payload(type)} + 1));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, Errc::no_space);
  }
  pollfd waiting{p.there.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);  // not even its header
}

TEST(Frame, sending_to_a_closed_peer_is_an_error_and_no_signal) {
  Pair p;
  p.there.reset();
  const auto sent = send_frame(p.here.get(), MessageType::get, 1, pattern(10));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Errc::unreachable);
}

TEST(Frame, a_descriptor_arrives_and_is_closed_on_exec) {
  Pair p, attached;
  ASSERT_TRUE(send_frame(p.here.get(), MessageType::welcome, 0, pattern(30), {attached.here.get()}));
  std::array<shm::Fd, welcome_fds> fds;
  const auto frame = receive_frame(p.there.get(), &fds);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, pattern(30));
  ASSERT_TRUE(fds[0]);
  EXPECT_EQ(inode(fds[0].get()), inode(attached.here.get()));
  EXPECT_NE(::fcntl(fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Frame, descriptors_that_the_receiver_did_not_ask_for_are_not_kept) {
  Pair p, attached;
  const auto before = open_descriptors();
  ASSERT_TRUE(send_frame(p.here.get(), MessageType::welcome, 0, {}, {attached.here.get()}));
  ASSERT_TRUE(receive_frame(p.there.get()));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Frame, more_descriptors_than_a_welcome_has_are_not_kept) {
  Pair p, attached;
  std::array<shm::Fd, welcome_fds> fds;
  const auto before = open_descriptors();
  {
    // A peer that means ill sends three at once, and again with the payload.
    const auto bytes = make_frame(MessageType::welcome, 0, pattern(4));
    for (const std::size_t from : {std::size_t{0}, sizeof(FrameHeader)}) {
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 3)] = {};
      iovec part{const_cast<std::byte*>(bytes.data()) + from, from == 0 ? sizeof(FrameHeader) : 4};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      auto* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int) * 3);
      const int three[] = {attached.here.get(), attached.here.get(), attached.there.get()};
      std::memcpy(CMSG_DATA(c), three, sizeof three);
      ASSERT_GT(::sendmsg(p.here.get(), &message, 0), 0);
    }
    ASSERT_TRUE(receive_frame(p.there.get(), &fds));
  }
  EXPECT_LE(open_descriptors(), before + welcome_fds);
  for (auto& fd : fds) fd.reset();
  EXPECT_EQ(open_descriptors(), before);
}

void nothing(int) {}

TEST(Frame, a_signal_does_not_tear_it) {
  testing::Watchdog watchdog;
  struct sigaction action {};
  action.sa_handler = nothing;  // without SA_RESTART: the calls are interrupted
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  Pair p;
  const auto payload = pattern(8 << 20);
  std::atomic<bool> done{false};
  Result<Frame> frame = fail(Errc::again);
  std::thread receiver([&] { frame = receive_frame(p.there.get()); });
  Result<void> sent;
  std::thread sender([&] {
    sent = send_frame(p.here.get(), MessageType::value, 1, payload);
    done.store(true);
  });
  while (!done.load()) {
    ::pthread_kill(sender.native_handle(), SIGUSR1);
    ::pthread_kill(receiver.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  sender.join();
  receiver.join();
  EXPECT_TRUE(sent);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, payload);
}

}  // namespace
}  // namespace weft::link
