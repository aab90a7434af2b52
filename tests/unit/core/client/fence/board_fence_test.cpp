// SPDX-License-Identifier: BSD-3-Clause
// BoardFence: waiting, deadlines, callbacks and notices of one member at a board.
#include "core/client/fence/board_fence.hpp"

#include <thread>

#include "tests/unit/core/client/members.hpp"

namespace weft::client {
namespace {

using store::NoticeKind;
using store::PoolBoard;

BoardFence::Deadline soon() {
  return Connection::Clock::now() + std::chrono::milliseconds(1);
}

/// The other member of a board of two enters once, and its fence ends here.
void other_enters(store::BoardMember& other) {
  auto entry = other.enter(false);
  ASSERT_TRUE(entry);
  while (!other.step(*entry).status) std::this_thread::yield();
  other.end(*entry);
}

TEST(BoardFence, two_members_meet_without_a_message) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0);
  store::BoardMember other(b.board, 1, 1, 1);
  std::thread theirs([&] {
    for (int i = 0; i < 100; ++i) other_enters(other);
  });
  for (int i = 0; i < 100; ++i) {
    const auto ticket = fence->take_ticket(false);
    ASSERT_TRUE(ticket);
    EXPECT_EQ(fence->wait(*ticket, std::nullopt), PMIX_SUCCESS);
  }
  theirs.join();
  EXPECT_FALSE(wired.connection.has_started());
  EXPECT_TRUE(wired.notices().empty());
  EXPECT_TRUE(b.board.close(2));  // all tickets are back
}

TEST(BoardFence, its_deadline_is_the_servers_to_act_on) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0, 9);
  std::thread server([&] {
    for (int i = 0; i < 2; ++i) {  // the first time it does nothing: the client asks again
      const auto frame = wired.received();
      const auto withdraw = link::decode<link::Withdraw>(frame.payload);
      ASSERT_TRUE(withdraw && frame.type == link::MessageType::withdraw);
      EXPECT_EQ(withdraw->board, 9u);
      EXPECT_EQ(withdraw->generation, 1u);
    }
    EXPECT_TRUE(b.board.abort(1, {PMIX_ERR_TIMEOUT, 0}));
  });
  EXPECT_EQ(fence->wait(*fence->take_ticket(false), soon()), PMIX_ERR_TIMEOUT);
  server.join();
}

TEST(BoardFence, directives_go_to_the_server_where_its_host_carries_the_fence) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0, 9);
  data::Infos infos;
  infos.add("hint", data::Value::of("a"), PMIX_INFO_REQD);
  EXPECT_EQ(fence->take_ticket(false, &infos)->generation, 1u);  // no host, no message
  EXPECT_EQ(infos.size(), 1u);
  b.board.hand_to_host();
  const auto ticket = fence->take_ticket(false, &infos);
  EXPECT_TRUE(ticket->wants.directives);
  const auto frame = wired.received();
  const auto told = link::decode<link::FenceDirectives>(frame.payload);
  ASSERT_TRUE(told && frame.type == link::MessageType::fence_directives);
  EXPECT_EQ(told->board, 9u);
  EXPECT_EQ(told->generation, ticket->generation);
  ASSERT_NE(told->directives.find("hint"), nullptr);
  EXPECT_EQ(told->directives.find("hint")->flags, PMIX_INFO_REQD);
}

TEST(BoardFence, turned_away_from_a_board_of_the_host_it_says_so) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  b.board.hand_to_host();
  const auto fence = wired.at(b.board, 0, 9);
  EXPECT_FALSE(b.board.lose(1, PMIX_ERR_UNREACH));
  EXPECT_EQ(fence->wait(*fence->take_ticket(false), std::nullopt), PMIX_ERR_UNREACH);
  const auto frame = wired.received();
  const auto said = link::decode<link::TurnedAway>(frame.payload);
  ASSERT_TRUE(said && frame.type == link::MessageType::turned_away);
  EXPECT_EQ(said->board, 9u);
  EXPECT_EQ(said->generation, 1u);
}

TEST(BoardFence, without_its_server_it_ends) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0);
  wired.server.reset();
  EXPECT_EQ(fence->wait(*fence->take_ticket(false), std::nullopt), PMIX_ERR_LOST_CONNECTION);
}

TEST(BoardFence, callbacks_come_in_the_order_of_the_calls) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0, 5);
  wired.connection.on_push([fence](link::Frame frame) {
    if (frame.type == link::MessageType::board_moved) fence->board_moved();
  });
  std::vector<int> order;  // the connection's thread only, until `last` is there
  Later last;
  constexpr int total = 20;
  for (int i = 1; i <= total; ++i)
    fence->wait_later(*fence->take_ticket(false), std::nullopt, [&, i](pmix_status_t status) {
      order.push_back(status == PMIX_SUCCESS ? i : -i);
      if (i == total) last.promise.set_value(status);
    });
  store::BoardMember other(b.board, 1, 1, 1);
  for (int i = 0; i < total; ++i) {
    auto entry = other.enter(false);
    while (!other.step(*entry).status) std::this_thread::yield();
    other.end(*entry);
    // The server's part: a member that asked for a message gets one.
    if (b.board.take_notice(0)) {
      ASSERT_TRUE(link::send_frame(wired.server.get(), link::MessageType::board_moved, 0,
                                   link::encode(link::BoardMoved{b.board.open_generation(), 5})));
    }
  }
  EXPECT_EQ(last.get(), PMIX_SUCCESS);
  for (int i = 1; i <= total; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i - 1)], i);
}

TEST(BoardFence, notices_carry_the_number_of_the_board) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard ends(1), spans(1, true);
  ends.board.ask_notice(0);
  const auto first = wired.at(ends.board, 0, 3);
  EXPECT_EQ(first->wait(*first->take_ticket(false), std::nullopt), PMIX_SUCCESS);
  const auto second = wired.at(spans.board, 0, 200);
  second->wait_later(*second->take_ticket(false), std::nullopt, [](pmix_status_t) {});
  while (spans.board.arrived_count() == 0) std::this_thread::yield();
  wired.connection.stop();  // what its thread pushed is in the ring
  const auto notices = wired.notices();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].kind, static_cast<std::uint32_t>(NoticeKind::board_ended));
  EXPECT_EQ(notices[0].arg, 3u);
  EXPECT_EQ(notices[1].kind, static_cast<std::uint32_t>(NoticeKind::board_full));
  EXPECT_EQ(notices[1].arg, 200u);
  EXPECT_EQ(wired.dirty.load(), 4u);
}

TEST(BoardFence, a_deadline_without_blocking_is_asked_for_until_it_acts) {
  testing::Watchdog watchdog;
  Wired wired;
  PoolBoard b(2);
  const auto fence = wired.at(b.board, 0, 9);
  wired.connection.on_push([fence](link::Frame) { fence->board_moved(); });
  Later later;
  fence->wait_later(*fence->take_ticket(false), soon(), later.done());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(wired.received().type, link::MessageType::withdraw);
  EXPECT_TRUE(b.board.abort(1, {PMIX_ERR_TIMEOUT, 0}));
  ASSERT_TRUE(link::send_frame(wired.server.get(), link::MessageType::board_moved, 0,
                               link::encode(link::BoardMoved{2, 9})));
  EXPECT_EQ(later.get(), PMIX_ERR_TIMEOUT);
}

}  // namespace
}  // namespace weft::client
