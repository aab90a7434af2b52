// SPDX-License-Identifier: BSD-3-Clause
// BoardMember: tickets, arrivals, ends.
#include "core/store/boards/board_member.hpp"

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

using Owed = BoardMember::Owed;

/// Three members at a board of the pool; the test plays them all.
struct Three {
  explicit Three(bool remote = false) : b(3, remote) {}
  PoolBoard b;
  ServerBoard& board = b.board;
  BoardMember a{board, 0, 1, 1}, other{board, 1, 1, 1}, last{board, 2, 1, 1};
};

TEST(BoardMember, the_last_arrival_ends_the_fence_for_all) {
  Three m;
  auto a = m.a.enter(false), other = m.other.enter(false), last = m.last.enter(false);
  EXPECT_FALSE(m.a.step(*a).status);
  EXPECT_FALSE(m.other.step(*other).status);
  EXPECT_EQ(m.last.step(*last).status, PMIX_SUCCESS);
  EXPECT_EQ(m.a.step(*a).status, PMIX_SUCCESS);
  EXPECT_EQ(m.other.step(*other).status, PMIX_SUCCESS);
}

TEST(BoardMember, tickets_are_consecutive_fences) {
  ExactBoard b(2);
  BoardMember me(b.board, 0, 0, 1), other(b.board, 1, 0, 1);
  auto first = me.enter(false), second = me.enter(false);
  EXPECT_FALSE(me.step(*second).status);  // not its turn
  EXPECT_FALSE(second->arrived);
  EXPECT_FALSE(me.step(*first).status);
  auto theirs = other.enter(false);
  EXPECT_EQ(other.step(*theirs).status, PMIX_SUCCESS);
  EXPECT_FALSE(me.step(*second).status);
  EXPECT_TRUE(second->arrived);
  EXPECT_EQ(me.step(*first).status, PMIX_SUCCESS);
  theirs = other.enter(false);
  EXPECT_EQ(other.step(*theirs).status, PMIX_SUCCESS);
  EXPECT_EQ(me.step(*second).status, PMIX_SUCCESS);
}

TEST(BoardMember, an_arrival_is_counted_once) {
  Three m;
  auto a = m.a.enter(false);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(m.a.step(*a).status);
  EXPECT_EQ(m.board.arrived_count(), 1u);
}

TEST(BoardMember, where_a_message_is_wanted_the_last_one_owes_it) {
  Three m;
  auto a = m.a.enter(false), other = m.other.enter(false), last = m.last.enter(false);
  (void)m.a.step(*a);
  m.a.ask_notice();
  m.a.ask_notice();  // the same wish
  (void)m.other.step(*other);
  EXPECT_EQ(m.last.step(*last).owed, Owed::notices);
  EXPECT_EQ(m.last.step(*last).owed, Owed::nothing);  // once
  EXPECT_TRUE(m.board.take_notice(0));
  EXPECT_FALSE(m.board.notice_wanted());
}

TEST(BoardMember, where_other_nodes_take_part_the_last_one_owes_the_exchange) {
  Three m(true);
  auto a = m.a.enter(false), other = m.other.enter(true), last = m.last.enter(false);
  EXPECT_EQ(m.a.step(*a).owed, Owed::nothing);
  EXPECT_EQ(m.other.step(*other).owed, Owed::nothing);
  const auto full = m.last.step(*last);
  EXPECT_EQ(full.owed, Owed::exchange);
  EXPECT_FALSE(full.status);
  EXPECT_TRUE(m.board.wanted(3).collect);
  EXPECT_TRUE(m.board.complete(1));
  EXPECT_EQ(m.last.step(*last).status, PMIX_SUCCESS);
}

TEST(BoardMember, that_is_turned_away_from_a_board_of_the_host_says_so_once) {
  Three m(true);
  auto before = m.a.enter({true, true});
  (void)m.a.step(*before);
  EXPECT_TRUE(m.board.directives_follow(0));
  EXPECT_FALSE(m.board.directives_follow(1));
  EXPECT_TRUE(m.board.lose(2, PMIX_ERR_PROC_ABORTED));
  m.a.end(*before);
  for (const bool by_host : {false, true}) {
    if (by_host) m.board.hand_to_host();
    auto entry = m.a.enter(false);
    const auto first = m.a.step(*entry);
    EXPECT_EQ(first.status, PMIX_ERR_PROC_ABORTED);
    EXPECT_EQ(first.owed, by_host ? Owed::absence : Owed::nothing);
    EXPECT_EQ(m.a.step(*entry).owed, Owed::nothing);
    m.a.end(*entry);
  }
}

TEST(BoardMember, holds_the_board_from_its_first_open_fence_to_its_last_end) {
  Three m;
  const auto meet = [&](BoardMember& member) {
    auto entry = member.enter(false);
    const auto status = member.step(*entry).status;
    member.end(*entry);
    return status;
  };
  auto first = m.a.enter(false), second = m.a.enter(false);
  (void)m.a.step(*first);
  auto other = m.other.enter(false);
  (void)m.other.step(*other);
  EXPECT_EQ(meet(m.last), PMIX_SUCCESS);
  m.other.end(*other);
  m.a.end(*first);
  EXPECT_FALSE(m.board.close(3));  // its second is open
  EXPECT_TRUE(m.board.abort(2, {PMIX_ERR_TIMEOUT, 0}));
  EXPECT_EQ(m.a.step(*second).status, PMIX_ERR_TIMEOUT);
  m.a.end(*second);
  EXPECT_TRUE(m.board.close(3));
  EXPECT_FALSE(m.a.enter(false));
}

TEST(BoardMember, the_board_of_a_job_is_not_held) {
  ExactBoard b(2);
  BoardMember me(b.board, 0, 0, 1);
  auto entry = me.enter(false);
  EXPECT_EQ(b.board.cell(0).held.load(), 0u);
  (void)b.board.abort(1, {PMIX_ERR_TIMEOUT, 0});
  me.end(*entry);
  EXPECT_EQ(b.board.cell(0).held.load(), 0u);
}

TEST(BoardMember, goes_elsewhere_when_its_board_serves_another_set) {
  Three m;
  ASSERT_TRUE(m.board.close(3));
  EXPECT_FALSE(m.a.enter(false));
  m.board.reopen(2, false, 2);
  EXPECT_FALSE(m.a.enter(false));
  BoardMember next(m.board, 0, 2, m.board.open_generation());
  EXPECT_TRUE(next.enter(false));
  EXPECT_FALSE(m.a.enter(false));
}

// The server stands in for a member that fenced by message: that member cannot be at the board as well.
TEST(BoardMember, is_refused_while_another_stands_in_for_it) {
  Three m;
  BoardMember stand_in(m.board, 0, 1, 1);
  auto theirs = stand_in.enter(false);
  EXPECT_FALSE(m.a.enter(false));
  (void)m.board.abort(1, {PMIX_ERR_TIMEOUT, 0});
  stand_in.end(*theirs);
  EXPECT_TRUE(m.a.enter(false));
}

TEST(BoardMember, reads_the_end_of_what_it_came_too_late_for) {
  Three m;
  ASSERT_TRUE(m.board.abort(1, {PMIX_ERR_TIMEOUT, 1}));
  ASSERT_TRUE(m.board.abort(2, {PMIX_ERR_UNREACH, 1}));
  for (const auto end : {PMIX_ERR_TIMEOUT, PMIX_ERR_UNREACH}) {
    auto entry = m.a.enter(false);
    EXPECT_EQ(m.a.step(*entry).status, end);
    m.a.end(*entry);
  }
  auto third = m.a.enter(false);
  EXPECT_FALSE(m.a.step(*third).status);
  EXPECT_EQ(m.board.arrived_count(), 1u);
}

TEST(BoardMember, starts_with_the_others_when_a_broken_board_is_whole_again) {
  Three m;
  m.board.lose(2, died);
  for (int i = 0; i < 3; ++i) {  // each uses a ticket, none a generation
    auto entry = m.a.enter(false);
    EXPECT_EQ(m.a.step(*entry).status, died);
    m.a.end(*entry);
  }
  m.board.rejoin(2);
  auto a = m.a.enter(false);
  EXPECT_EQ(a->generation, m.board.open_generation());
  EXPECT_FALSE(m.a.step(*a).status);
  auto other = m.other.enter(false);
  (void)m.other.step(*other);
  BoardMember back(m.board, 2, 1, m.board.open_generation());
  auto last = back.enter(false);
  EXPECT_EQ(back.step(*last).status, PMIX_SUCCESS);
  EXPECT_EQ(m.a.step(*a).status, PMIX_SUCCESS);
}

// ... but not while one of its fences is open: their order would be lost.
TEST(BoardMember, an_open_fence_keeps_the_order_of_a_broken_board) {
  Three m;
  auto first = m.a.enter(false), second = m.a.enter(false);
  m.board.lose(2, died);
  EXPECT_EQ(m.a.step(*first).status, died);
  m.a.end(*first);
  m.board.rejoin(2);
  auto third = m.a.enter(false);
  EXPECT_EQ(third->generation, second->generation + 1);
}

TEST(BoardMember, a_member_that_was_given_up_is_told_so) {
  Three m;
  auto entry = m.a.enter(false);
  m.board.lose(0, died);
  ASSERT_TRUE(m.board.close(3));
  m.board.reopen(2, false, 2);
  EXPECT_EQ(m.a.step(*entry).status, PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(m.board.arrived_count(), 0u);
  m.a.end(*entry);
  EXPECT_FALSE(m.a.enter(false));
}

}  // namespace
}  // namespace weft::store
