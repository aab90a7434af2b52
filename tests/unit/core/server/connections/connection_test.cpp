// SPDX-License-Identifier: BSD-3-Clause
// A connection from its first frame to its end, and what proves a rank's identity.
#include "core/server/connections/connection.hpp"

#include <unistd.h>

#include "core/server/connections/tokens.hpp"
#include "tests/unit/core/server/connections/lines.hpp"

namespace weft::server {
namespace {

using link::MessageType;

std::vector<std::byte> bytes(std::size_t count) {
  return std::vector<std::byte>(count, std::byte{7});
}

struct ConnectionTest : ::testing::Test {
  asio::io_context loop;
  KeepingOwner owner;
  Line line{loop, owner};
  ClientConnection& connection = *line.connection;

  void admit() {
    connection.is_known = true;
    connection.admit();
  }
};

TEST_F(ConnectionTest, the_kernel_says_which_process_it_is) {
  connection.start();
  EXPECT_EQ(connection.pid, ::getpid());
  EXPECT_EQ(connection.uid, ::getuid());
  EXPECT_EQ(connection.gid, ::getgid());
}

TEST_F(ConnectionTest, frames_behind_the_hello_wait_until_the_process_is_admitted) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(30));
  line.write(MessageType::get, 1, bytes(20));
  ASSERT_EQ(owner.frames.size(), 1u);
  EXPECT_EQ(owner.frames[0].payload, bytes(30));
  admit();
  line.turn();
  ASSERT_EQ(owner.frames.size(), 2u);
  EXPECT_EQ(owner.frames[1].type, MessageType::get);
  EXPECT_EQ(owner.frames[1].tag, 1u);
  EXPECT_EQ(owner.closed, 0);
}

TEST_F(ConnectionTest, events_to_a_client_that_does_not_read_are_bounded) {
  connection.start();
  admit();
  const auto event = bytes(50'000);  // several fit into a socket: the test reads whole ones
  constexpr std::size_t sent = 2000;
  for (std::size_t i = 0; i < sent; ++i) connection.send_event(event);
  connection.send(MessageType::done, 7, bytes(10));  // a reply is not dropped
  std::size_t came = 0;
  bool has_replied = false;
  while (const auto frame = line.read()) {
    came += frame->type == MessageType::event;
    has_replied |= frame->tag == 7;
  }
  EXPECT_TRUE(has_replied);
  EXPECT_LT(came, sent);
  EXPECT_GE((came + 1) * event.size(), ClientConnection::most_waiting);
  EXPECT_LE(came * event.size(), ClientConnection::most_waiting + (1 << 20));  // and what the socket took
  connection.send_event(event);                                                // it reads again
  EXPECT_TRUE(line.read());
}

TEST_F(ConnectionTest, a_client_that_does_not_read_replies_is_asked_for_no_more_requests) {
  const auto reply = bytes(50'000);
  connection.start();
  line.write(MessageType::hello, 0, bytes(30));
  admit();
  for (std::size_t sent = 0; sent <= ClientConnection::most_waiting + (1 << 20); sent += reply.size())
    connection.send(MessageType::value, 1, reply);
  line.write(MessageType::get, 1, bytes(20));  // was being waited for
  const auto before = owner.frames.size();
  line.write(MessageType::get, 2, bytes(20));
  line.write(MessageType::get, 3, bytes(20));
  EXPECT_EQ(owner.frames.size(), before);
  while (line.read()) {
  }
  EXPECT_EQ(owner.frames.size(), 4u);
}

TEST_F(ConnectionTest, a_client_that_does_not_read_replies_can_end) {
  const auto reply = bytes(50'000);
  connection.start();
  line.write(MessageType::hello, 0, bytes(30));
  admit();
  for (std::size_t sent = 0; sent <= ClientConnection::most_waiting + (1 << 20); sent += reply.size())
    connection.send(MessageType::value, 1, reply);
  line.write(MessageType::get, 1, bytes(20));
  line.write(MessageType::get, 2, bytes(20));
  connection.close_when_drained();
  line.turn();
  EXPECT_EQ(owner.closed, 1);
  EXPECT_EQ(owner.frames.size(), 3u);  // what it had written is read first
}

TEST_F(ConnectionTest, what_was_sent_goes_out_before_the_end_of_the_server) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(30));
  admit();
  std::size_t frames = 0;
  for (std::size_t sent = 0; sent <= (1 << 20); ++frames, sent += 50'000)
    connection.send(MessageType::event, 0, bytes(50'000));
  connection.close_when_exchanged(std::chrono::hours(1));
  EXPECT_EQ(owner.closed, 0);
  for (std::size_t i = 0; i < frames; ++i) EXPECT_TRUE(line.read()) << i;
  line.turn();
  EXPECT_EQ(owner.closed, 1);
}

TEST_F(ConnectionTest, a_client_that_does_not_read_does_not_hold_up_the_end_of_the_server) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(30));
  admit();
  for (std::size_t sent = 0; sent <= (1 << 20); sent += 50'000)
    connection.send(MessageType::event, 0, bytes(50'000));
  connection.close_when_exchanged(std::chrono::milliseconds(1));
  loop.restart();
  while (owner.closed == 0) loop.run_one();
  EXPECT_EQ(owner.closed, 1);
}

TEST_F(ConnectionTest, a_hello_of_more_than_a_page_ends_it) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(5000));
  EXPECT_EQ(owner.frames.size(), 0u);
  EXPECT_EQ(owner.closed, 1);
}

TEST_F(ConnectionTest, bytes_that_are_no_frame_end_it) {
  connection.start();
  const std::vector<std::byte> junk(64, std::byte{0xff});
  ASSERT_EQ(::write(line.other.get(), junk.data(), junk.size()), 64);
  line.turn();
  EXPECT_EQ(owner.frames.size(), 0u);
  EXPECT_EQ(owner.closed, 1);
}

TEST_F(ConnectionTest, silence_ends_it_but_not_that_of_a_known_process) {
  Line known(loop, owner);
  known.connection->start(std::chrono::milliseconds(1));
  known.connection->is_known = true;
  known.write(MessageType::hello, 0, bytes(1));
  known.connection->admit();
  connection.start(std::chrono::milliseconds(1));
  loop.restart();
  while (owner.closed == 0) loop.run_one();
  EXPECT_TRUE(link::receive_frame(line.other.get()).error().code == Errc::unreachable);
  EXPECT_EQ(owner.frames.size(), 1u);
  known.write(MessageType::get, 1, bytes(2));
  EXPECT_EQ(owner.frames.size(), 2u);
}

TEST_F(ConnectionTest, it_ends_once) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(1));
  admit();
  line.other.reset();
  line.turn();
  EXPECT_EQ(owner.closed, 1);
  connection.close();
  connection.reply(1, PMIX_SUCCESS);  // goes nowhere
  line.turn();
  EXPECT_EQ(owner.closed, 1);
}

TEST_F(ConnectionTest, a_slow_reader_gets_every_reply_in_order) {
  connection.start();
  admit();
  constexpr std::uint64_t many = 20'000;  // more than a socket holds
  for (std::uint64_t tag = 1; tag <= many; ++tag) connection.reply(tag, static_cast<pmix_status_t>(-tag));
  for (std::uint64_t tag = 1; tag <= many; ++tag)
    ASSERT_EQ(line.reply_to(tag), static_cast<pmix_status_t>(-tag));
  EXPECT_FALSE(line.read());
}

TEST_F(ConnectionTest, what_was_written_is_read_before_it_closes) {
  connection.start();
  line.write(MessageType::hello, 0, bytes(1));
  admit();
  for (std::uint64_t tag = 1; tag <= 3; ++tag)
    ASSERT_TRUE(link::send_frame(line.other.get(), MessageType::job_control, tag, bytes(10)));
  int then = 0;
  connection.close_when_drained([&] { ++then; });
  EXPECT_EQ(then, 0);
  line.turn();
  EXPECT_EQ(owner.frames.size(), 4u);
  EXPECT_EQ(owner.closed, 1);
  EXPECT_EQ(then, 1);
  connection.close_when_drained([&] { ++then; });  // it is closed
  EXPECT_EQ(then, 2);
}

TEST_F(ConnectionTest, a_process_that_was_not_admitted_is_not_drained) {
  connection.start();
  int then = 0;
  connection.close_when_drained([&] { ++then; });
  EXPECT_EQ(owner.closed, 1);
  EXPECT_EQ(then, 1);
}

TEST(Tokens, are_of_one_rank_of_one_namespace) {
  Tokens tokens;
  const auto mine = tokens.token_of(link::make_proc("job", 1));
  EXPECT_TRUE(tokens.accepts("job", 1, tokens.token_of(link::make_proc("job", 1))));  // made once
  (void)tokens.token_of(link::make_proc("job", 2));
  EXPECT_TRUE(tokens.accepts("job", 1, mine));
  EXPECT_FALSE(tokens.accepts("job", 2, mine));
  EXPECT_FALSE(tokens.accepts("other", 1, mine));
  EXPECT_FALSE(tokens.accepts("job", 3, link::Token{}));  // none was made
  tokens.forget("job");
  EXPECT_FALSE(tokens.accepts("job", 1, mine));
}

}  // namespace
}  // namespace weft::server
