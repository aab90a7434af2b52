// SPDX-License-Identifier: BSD-3-Clause
// Board, one thread that plays all members and the server.
#include "core/store/boards/board.hpp"

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

using Arrival = Board::Arrival;
using Outcome = Board::Outcome;

TEST(Board, the_last_arrival_completes) {
  for (const std::uint32_t members : {1u, 2u, 64u, Board::max_members}) {
    ExactBoard b(members);
    EXPECT_EQ(b.board.members(), members);
    for (Generation g = 1; g <= 3; ++g) {
      EXPECT_EQ(b.board.open_generation(), g);
      for (std::uint32_t m = 0; m + 1 < members; ++m) ASSERT_EQ(b.board.arrive(m, g), Arrival::waiting);
      EXPECT_EQ(b.board.arrived_count(), members - 1);
      EXPECT_EQ(b.board.outcome(g), Outcome::open);
      EXPECT_EQ(b.board.arrive(members - 1, g), Arrival::completed);
      EXPECT_EQ(b.board.outcome(g), Outcome::success);
      EXPECT_EQ(b.board.arrived_count(), 0u);
    }
  }
}

TEST(Board, arrival_is_by_name) {
  ExactBoard b(3);
  (void)b.board.arrive(1, 1);
  EXPECT_FALSE(b.board.arrived(0, 1));
  EXPECT_TRUE(b.board.arrived(1, 1));
  EXPECT_FALSE(b.board.arrived(1, 2));
}

TEST(Board, a_generation_that_is_not_open_is_not_entered) {
  ExactBoard b(2);
  EXPECT_EQ(b.board.arrive(0, 1), Arrival::waiting);
  EXPECT_EQ(b.board.arrive(0, 2), Arrival::not_open);
  EXPECT_TRUE(b.board.arrived(0, 1));
  EXPECT_FALSE(b.board.arrived(0, 2));
  EXPECT_EQ(b.board.arrive(1, 1), Arrival::completed);
  EXPECT_EQ(b.board.arrive(0, 2), Arrival::waiting);
}

TEST(Board, a_member_that_comes_to_an_ended_generation_is_told_so) {
  ExactBoard b(3);
  EXPECT_EQ(b.arrive(0, 2, 1), Arrival::waiting);
  EXPECT_TRUE(b.board.abort(1, {-24, 1}));
  EXPECT_EQ(b.board.arrive(2, 1), Arrival::over);
  EXPECT_EQ(end_of(b.board, 1), -24);
  EXPECT_EQ(b.board.verdict(1).member, 1u);
  EXPECT_EQ(b.board.arrived_count(), 0u);
  EXPECT_EQ(b.arrive(0, 3, 2), Arrival::completed);  // and the next one is as good as new
  EXPECT_EQ(b.board.outcome(2), Outcome::success);
  EXPECT_EQ(b.board.outcome(1), Outcome::failed);
}

TEST(Board, abort_of_another_generation_does_nothing) {
  ExactBoard b(2);
  EXPECT_EQ(b.arrive(0, 2, 1), Arrival::completed);
  EXPECT_FALSE(b.board.abort(1, {-24, 0}));
  EXPECT_FALSE(b.board.abort(3, {-24, 0}));
  EXPECT_EQ(b.board.outcome(1), Outcome::success);
  EXPECT_EQ(b.board.open_generation(), 2u);
}

TEST(Board, with_other_nodes_the_server_completes) {
  ExactBoard b(2, true);
  EXPECT_FALSE(b.board.complete(1));  // no member has arrived
  EXPECT_EQ(b.board.arrive(0, 1), Arrival::waiting);
  EXPECT_EQ(b.board.arrive(1, 1), Arrival::full);
  EXPECT_EQ(b.board.outcome(1), Outcome::open);
  EXPECT_EQ(b.board.arrived_count(), 2u);
  EXPECT_FALSE(b.board.complete(2));
  EXPECT_TRUE(b.board.complete(1));
  EXPECT_FALSE(b.board.complete(1));
  EXPECT_EQ(b.board.outcome(1), Outcome::success);
  EXPECT_EQ(b.arrive(0, 2, 2), Arrival::full);
  EXPECT_TRUE(b.board.abort(2, {-3, Board::no_member}));
  EXPECT_EQ(end_of(b.board, 2), -3);
}

TEST(Board, a_full_board_of65535_members_keeps_its_count) {
  ExactBoard b(Board::max_members, true);
  EXPECT_EQ(b.arrive(0, Board::max_members, 1), Arrival::full);
  EXPECT_EQ(b.board.arrived_count(), Board::max_members);
  EXPECT_EQ(b.board.open_generation(), 1u);
  EXPECT_TRUE(b.board.complete(1));
}

TEST(Board, what_one_member_wants_is_wanted) {
  ExactBoard b(2, true);
  for (unsigned wants = 0; wants < 8; ++wants) {
    const Generation g = wants + 1;
    (void)b.board.arrive(0, g, {(wants & 1) != 0, (wants & 2) != 0, (wants & 4) != 0});
    (void)b.board.arrive(1, g, {(wants & 1) != 0, false, false});
    const auto wanted = b.board.wanted(2);
    EXPECT_EQ(wanted.collect | wanted.directives << 1 | wanted.generated << 2, static_cast<int>(wants));
    EXPECT_TRUE(b.board.complete(g));
  }
}

TEST(Board, one_member_that_wants_the_cards_to_travel_is_enough) {
  ExactBoard b(3, true);
  for (std::uint32_t wants = 0; wants <= 3; ++wants) {
    const Generation g = wants + 1;
    for (std::uint32_t m = 0; m < 3; ++m) (void)b.board.arrive(m, g, m == wants);
    EXPECT_EQ(b.board.wanted(3).collect, wants < 3) << wants;
    EXPECT_TRUE(b.board.complete(g));
  }
}

TEST(Board, remembers_sixteen_ends_exactly) {
  ExactBoard b(2);
  const auto fails = [](Generation g) { return g * 2654435761u >> 30 == 0 || g % 5 == 0; };
  for (Generation g = 1; g <= 60; ++g) {
    if (fails(g))
      EXPECT_TRUE(b.board.abort(g, {-static_cast<std::int32_t>(g), g}));
    else
      EXPECT_EQ(b.arrive(0, 2, g), Arrival::completed);
    for (Generation past = g > 16 ? g - 15 : 1; past <= g; ++past) {
      ASSERT_EQ(end_of(b.board, past), fails(past) ? -static_cast<std::int32_t>(past) : 0)
          << past << " of " << g;
      ASSERT_TRUE(!fails(past) || b.board.verdict(past).member == past);
    }
  }
}

// Deadlines of other members can end any number of generations while a member computes: none of these is a
// success to it.
TEST(Board, a_member_far_behind_is_never_told_success) {
  ExactBoard b(2);
  for (Generation g = 1; g <= 100; ++g) {
    (void)b.board.arrive(0, g);
    ASSERT_TRUE(b.board.abort(g, {-24, 0}));
  }
  for (Generation g = 1; g <= 100; ++g) {
    ASSERT_EQ(b.board.arrive(1, g), Arrival::over);
    ASSERT_EQ(b.board.outcome(g), Outcome::failed) << g;
  }
  EXPECT_EQ(b.board.verdict(50).status, forgotten);  // the reason is not known any more; no member is blamed
  EXPECT_EQ(b.board.verdict(50).member, Board::no_member);
}

// ... and one that succeeded, right before all those, stays a success.
TEST(Board, a_member_far_behind_still_knows_its_success) {
  ExactBoard b(2);
  Generation g = 1;
  for (int run = 0; run < 3; ++run) {
    const auto good = g++;
    ASSERT_EQ(b.arrive(0, 2, good), Arrival::completed);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(b.board.abort(g++, {-24, 0}));
    EXPECT_EQ(b.board.outcome(good), Outcome::success);
    EXPECT_EQ(b.board.outcome(good + 1), Outcome::failed);
  }
}

// ---- loss

TEST(Board, a_loss_ends_the_generation_that_others_are_in) {
  ExactBoard b(3);
  EXPECT_EQ(b.arrive(0, 3, 1), Arrival::completed);
  EXPECT_EQ(b.board.arrive(0, 2), Arrival::waiting);
  b.board.lose(1, died);
  EXPECT_EQ(b.board.outcome(2), Outcome::failed);  // decided: not left to the last arrival
  EXPECT_EQ(end_of(b.board, 2), died);
  EXPECT_EQ(b.board.verdict(2).member, 1u);
  EXPECT_EQ(end_of(b.board, 1), 0);
  // A member that comes later to the same one reads the same end; so does every further generation.
  EXPECT_NE(b.board.arrive(2, 2), Arrival::waiting);
  EXPECT_EQ(end_of(b.board, 2), died);
  EXPECT_EQ(b.board.arrive(0, 3), Arrival::broken);
  EXPECT_EQ(end_of(b.board, 3), died);
}

TEST(Board, a_loss_before_any_arrival_breaks_the_open_generation) {
  ExactBoard b(2);
  b.board.lose(1, died);
  EXPECT_TRUE(b.board.broken(1));
  EXPECT_EQ(b.board.arrive(0, 1), Arrival::broken);
  EXPECT_EQ(end_of(b.board, 1), died);
}

TEST(Board, a_member_that_arrived_before_it_died_is_lost_all_the_same) {
  ExactBoard b(3);
  EXPECT_EQ(b.board.arrive(1, 1), Arrival::waiting);
  b.board.lose(1, died);
  EXPECT_EQ(end_of(b.board, 1), died);
  EXPECT_NE(b.board.arrive(0, 1), Arrival::completed);
  EXPECT_NE(b.board.arrive(2, 1), Arrival::completed);
  EXPECT_EQ(end_of(b.board, 1), died);
}

TEST(Board, a_loss_after_the_end_does_not_undo_it) {
  ExactBoard b(2);
  EXPECT_EQ(b.arrive(0, 2, 1), Arrival::completed);
  b.board.lose(0, died);
  EXPECT_EQ(end_of(b.board, 1), 0);
}

TEST(Board, coming_back_without_ever_leaving_changes_nothing) {
  ExactBoard b(2);
  EXPECT_EQ(b.board.arrive(0, 1), Arrival::waiting);
  b.board.rejoin(1);  // every first connection
  EXPECT_EQ(b.board.arrived_count(), 1u);
  EXPECT_EQ(b.board.arrive(1, 1), Arrival::completed);
}

TEST(Board, a_member_that_comes_back_finds_a_whole_board) {
  ExactBoard b(2);
  b.board.lose(1, died);
  b.board.rejoin(1);
  EXPECT_FALSE(b.board.broken(1));
  EXPECT_EQ(b.board.open_generation(), 1u);  // no member was in it: none pays for the visit
  EXPECT_EQ(b.arrive(0, 2, 1), Arrival::completed);
}

TEST(Board, a_dead_member_does_not_count_for_its_next_incarnation) {
  ExactBoard b(3);
  (void)b.board.arrive(0, 1);
  (void)b.board.arrive(1, 1);
  b.board.lose(1, died);
  b.board.rejoin(1);
  const auto g = b.board.open_generation();
  EXPECT_EQ(b.board.arrived_count(), 0u);
  EXPECT_EQ(b.board.arrive(1, g), Arrival::waiting);
  EXPECT_EQ(b.board.arrive(0, g), Arrival::waiting);
  EXPECT_EQ(b.board.arrive(2, 1), Arrival::over);  // it missed the one that failed
  EXPECT_EQ(end_of(b.board, 1), died);
  EXPECT_EQ(b.board.arrive(2, g), Arrival::completed);
}

// The member looked before the loss and counted itself after it: then it saw the broken board, and left.
TEST(Board, a_member_counted_in_a_broken_board_does_not_count_afterwards) {
  ExactBoard b(2);
  b.board.lose(1, died);
  ++*reinterpret_cast<std::uint64_t*>(b.block.get());  // the count is the word's lowest part
  EXPECT_EQ(b.board.arrived_count(), 1u);
  b.board.rejoin(1);
  EXPECT_EQ(b.board.arrived_count(), 0u);
  EXPECT_EQ(end_of(b.board, 1), died);
  EXPECT_EQ(b.arrive(0, 1, b.board.open_generation()), Arrival::waiting);
}

TEST(Board, is_broken_until_the_last_one_is_back) {
  ExactBoard b(3);
  b.board.lose(0, died);
  b.board.lose(2, -9);
  b.board.rejoin(0);
  EXPECT_TRUE(b.board.broken(b.board.open_generation()));
  EXPECT_EQ(b.board.arrive(1, b.board.open_generation()), Arrival::broken);
  EXPECT_NE(b.board.verdict(b.board.open_generation()).status, 0);
  EXPECT_NE(b.board.verdict(b.board.open_generation()).member, 0u);  // not the one that is back
  b.board.rejoin(2);
  EXPECT_FALSE(b.board.broken(b.board.open_generation()));
  EXPECT_EQ(b.arrive(0, 3, b.board.open_generation()), Arrival::completed);
}

TEST(Board, losing_twice_is_losing_once) {
  ExactBoard b(2);
  b.board.lose(0, died);
  b.board.lose(0, died);
  b.board.rejoin(0);
  EXPECT_FALSE(b.board.broken(1));
}

// ---- the counter comes round: six hours of fences at 5 us each

TEST(Board, generations_come_round) {
  ExactBoard b(2, false, 0xffffffff - 40);
  Generation g = 0xffffffff - 39;
  for (int i = 0; i < 80; ++i, ++g) {
    ASSERT_EQ(b.board.open_generation(), g);
    ASSERT_EQ(b.board.arrive(0, g), Arrival::waiting);
    ASSERT_EQ(b.board.arrive(0, g + 1), Arrival::not_open);
    ASSERT_EQ(b.board.outcome(g), Outcome::open);
    if (i % 3 == 0) {
      ASSERT_TRUE(b.board.abort(g, {-i - 1, 0}));
      ASSERT_EQ(b.board.arrive(1, g), Arrival::over);
      ASSERT_EQ(end_of(b.board, g), -i - 1);
    } else {
      ASSERT_EQ(b.board.arrive(1, g), Arrival::completed);
      ASSERT_EQ(end_of(b.board, g), 0);
    }
  }
}

TEST(Board, is_lost_and_found_at_every_turn_of_the_counter) {
  for (int others = 0; others < 2; ++others)
    for (Generation offset = 0; offset < 6; ++offset) {
      const Generation g = 0xfffffffd + offset;
      ExactBoard b(2, false, g - 1);
      if (others != 0) (void)b.board.arrive(0, g);
      b.board.lose(1, died);
      ASSERT_EQ(end_of(b.board, g), died) << g;
      ASSERT_EQ(b.board.arrive(0, g + 1), Arrival::broken) << g;
      b.board.rejoin(1);
      ASSERT_EQ(b.arrive(0, 2, b.board.open_generation()), Arrival::completed);
    }
}

// ---- wishes for a message

TEST(Board, each_wish_is_taken_once) {
  ExactBoard b(3);
  EXPECT_FALSE(b.board.notice_wanted());
  b.board.ask_notice(1);
  b.board.ask_notice(2);
  EXPECT_TRUE(b.board.notice_wanted());
  EXPECT_FALSE(b.board.take_notice(0));
  EXPECT_TRUE(b.board.take_notice(1));
  EXPECT_FALSE(b.board.take_notice(1));
  EXPECT_TRUE(b.board.notice_wanted());
  EXPECT_TRUE(b.board.take_notice(2));
  EXPECT_FALSE(b.board.notice_wanted());
}

}  // namespace
}  // namespace weft::store
