// SPDX-License-Identifier: BSD-3-Clause
// Boards that are closed and reopened for another set, one thread that plays all members and the server.
#include <vector>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

using Arrival = Board::Arrival;

/// All members of incarnation `i` hold the board and arrive at the open generation; what the last was told.
Arrival meet(Board& board, std::uint32_t members, Incarnation i) {
  const auto g = board.open_generation();
  auto last = Arrival::waiting;
  for (std::uint32_t m = 0; m < members; ++m) {
    EXPECT_TRUE(board.hold(m, i)) << m;
    last = board.arrive(m, g, false, i);
  }
  for (std::uint32_t m = 0; m < members; ++m) board.let_go(m, i);
  return last;
}

TEST(BoardClose, zeroed_memory_is_opened) {
  for (const std::uint32_t members : {1u, 2u, 1024u}) {
    PoolBoard b(members);
    EXPECT_EQ(b.board.members(), members);
    EXPECT_EQ(b.board.incarnation(), 1u);
    for (int round = 0; round < 3; ++round) EXPECT_EQ(meet(b.board, members, 1), Arrival::completed);
  }
}

TEST(BoardClose, the_board_of_a_job_serves_its_members_without_being_held) {
  ExactBoard b(2);
  EXPECT_EQ(b.board.incarnation(), 0u);
  EXPECT_EQ(b.arrive(0, 2, 1), Arrival::completed);
}

TEST(BoardClose, a_held_board_stays_open) {
  PoolBoard b(3);
  ASSERT_TRUE(b.board.hold(2, 1));
  EXPECT_FALSE(b.board.close(3));
  EXPECT_TRUE(b.board.hold(0, 1));  // the attempt has left no trace
  EXPECT_EQ(b.board.arrive(2, 1, false, 1), Arrival::waiting);
  b.board.let_go(0, 1);
  EXPECT_FALSE(b.board.close(3));
  b.board.let_go(2, 1);
  EXPECT_TRUE(b.board.close(3));
}

TEST(BoardClose, no_fence_begins_on_a_closed_board) {
  PoolBoard b(2);
  EXPECT_TRUE(b.board.close(2));
  EXPECT_FALSE(b.board.hold(0, 1));
  EXPECT_TRUE(b.board.close(2));  // the vain attempt has left no mark, and closing twice is closing once
  b.board.reopen(2, false, 2);
  EXPECT_FALSE(b.board.hold(0, 1));
  EXPECT_EQ(meet(b.board, 2, 2), Arrival::completed);
}

TEST(BoardClose, one_process_at_a_time_is_a_member) {
  PoolBoard b(2);
  EXPECT_TRUE(b.board.hold(0, 1));
  EXPECT_FALSE(b.board.hold(0, 1));
  b.board.let_go(0, 1);
  EXPECT_TRUE(b.board.hold(0, 1));
}

TEST(BoardClose, a_lost_member_holds_nothing) {
  PoolBoard b(2);
  ASSERT_TRUE(b.board.hold(1, 1));
  EXPECT_EQ(b.board.arrive(1, 1, false, 1), Arrival::waiting);
  EXPECT_FALSE(b.board.close(2));
  b.board.lose(1, died);
  EXPECT_TRUE(b.board.close(2));
}

TEST(BoardClose, the_next_process_of_a_lost_member_can_hold_it) {
  PoolBoard b(2);
  ASSERT_TRUE(b.board.hold(1, 1));
  b.board.lose(1, died);
  b.board.rejoin(1);
  EXPECT_TRUE(b.board.hold(1, 1));
  b.board.let_go(1, 1);
  EXPECT_EQ(meet(b.board, 2, 1), Arrival::completed);
}

TEST(BoardClose, nothing_of_the_set_before_is_left) {
  PoolBoard b(3, true);
  for (std::uint32_t m = 0; m < 3; ++m) (void)b.board.arrive(m, 1, true, 1);
  EXPECT_TRUE(b.board.abort(1, {died, 2}));
  b.board.ask_notice(1);
  b.board.lose(0, died);
  ASSERT_TRUE(b.board.close(3));
  b.board.reopen(2, false, 2);
  const auto g = b.board.open_generation();
  EXPECT_EQ(b.board.members(), 2u);
  EXPECT_FALSE(b.board.remote());
  EXPECT_FALSE(b.board.broken(g));
  EXPECT_FALSE(b.board.notice_wanted());
  EXPECT_FALSE(b.board.take_notice(1));
  EXPECT_FALSE(b.board.wanted(2).collect);
  EXPECT_EQ(b.board.outcome(g), Board::Outcome::open);
  EXPECT_EQ(meet(b.board, 2, 2), Arrival::completed);
  EXPECT_EQ(b.board.outcome(g), Board::Outcome::success);
  b.board.lose(0, died);  // counted anew
  EXPECT_TRUE(b.board.broken(g + 1));
}

TEST(BoardClose, generations_go_on_across_the_turn_of_the_counter) {
  PoolBoard b(2, false, 0xfffffff0);
  for (Incarnation i = 1; i < 40; ++i) {
    const auto g = b.board.open_generation();
    ASSERT_FALSE(b.board.arrived(0, g)) << g;
    ASSERT_EQ(meet(b.board, 2, i), Arrival::completed);
    ASSERT_EQ(b.board.outcome(g), Board::Outcome::success);
    ASSERT_TRUE(b.board.close(2));
    b.board.reopen(2, false, i + 1);
    ASSERT_EQ(b.board.open_generation(), g + 2);  // one is spent, so no number serves two sets
  }
}

TEST(BoardClose, the_last_incarnation_fits) {
  PoolBoard b(1);
  ASSERT_TRUE(b.board.close(1));
  b.board.reopen(1, false, Board::last_incarnation);
  EXPECT_EQ(b.board.incarnation(), Board::last_incarnation);
  EXPECT_EQ(meet(b.board, 1, Board::last_incarnation), Arrival::completed);
  EXPECT_TRUE(b.board.close(1));
}

// The server gave it up as lost, but the process runs on: it does not count itself among others, nor let go
// for them.
TEST(BoardClose, a_member_of_the_set_before_changes_nothing) {
  PoolBoard b(2);
  ASSERT_TRUE(b.board.hold(0, 1));
  b.board.lose(0, died);
  ASSERT_TRUE(b.board.close(2));
  b.board.reopen(2, false, 2);
  const auto g = b.board.open_generation();
  EXPECT_EQ(b.board.arrive(0, 1, false, 1), Arrival::closed);
  EXPECT_EQ(b.board.arrive(0, g, false, 1), Arrival::closed);
  EXPECT_EQ(b.board.arrived_count(), 0u);
  ASSERT_TRUE(b.board.hold(0, 2));
  b.board.let_go(0, 1);
  EXPECT_FALSE(b.board.close(2));
}

}  // namespace
}  // namespace weft::store
