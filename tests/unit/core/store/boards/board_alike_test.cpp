// SPDX-License-Identifier: BSD-3-Clause
// Boards of groups: members whose tags agree end a generation by themselves, all others are the server's; and
// their end by dissolve().
#include "core/store/boards/group_ledger.hpp"
#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

using Arrival = Board::Arrival;

constexpr std::int32_t by_message = -3;

/// Members 0 .. tags.size()-1 arrive in that order; what the last of them was told.
Arrival arrive(Board& board, Generation g, const std::vector<std::uint64_t>& tags, std::uint32_t members) {
  auto last = Arrival::waiting;
  for (std::uint32_t m = 0; m < tags.size(); ++m) last = board.arrive_alike(m, g, tags[m], members, 1);
  return last;
}

TEST(BoardAlike, the_last_ends_what_all_mean) {
  for (const std::uint32_t members : {1u, 2u, 5u}) {
    PoolBoard b(members);
    for (std::uint64_t tag = 1; tag < 40; ++tag) {
      const auto g = b.board.open_generation();
      EXPECT_EQ(arrive(b.board, g, std::vector<std::uint64_t>(members, tag), members), Arrival::completed);
      EXPECT_EQ(b.board.outcome(g), Board::Outcome::success);
    }
  }
}

TEST(BoardAlike, any_other_tag_leaves_it_to_the_server) {
  for (std::size_t other = 0; other < 3; ++other) {
    PoolBoard b(3);
    const auto g = b.board.open_generation();
    std::vector<std::uint64_t> tags(3, 7);
    tags[other] = 9;
    EXPECT_EQ(arrive(b.board, g, tags, 3), Arrival::full);
    EXPECT_EQ(b.board.arrived_count(), 3u);
    EXPECT_EQ(b.board.outcome(g), Board::Outcome::open);
    EXPECT_EQ(b.board.dissolve(by_message), g);
    EXPECT_EQ(end_of(b.board, g), by_message);
  }
}

TEST(BoardAlike, no_tag_is_like_none) {
  PoolBoard alone(1), both(2);
  EXPECT_EQ(arrive(alone.board, alone.board.open_generation(), {0}, 1), Arrival::full);
  EXPECT_EQ(arrive(both.board, both.board.open_generation(), {0, 0}, 2), Arrival::full);
}

TEST(BoardAlike, a_tag_of_the_generation_before_counts_for_nothing) {
  PoolBoard b(2);
  const auto g = b.board.open_generation();
  EXPECT_EQ(arrive(b.board, g, {5, 5}, 2), Arrival::completed);
  EXPECT_EQ(b.board.arrive_alike(1, g + 1, 6, 2, 1), Arrival::waiting);
  EXPECT_EQ(b.board.arrive_alike(0, g + 2, 7, 2, 1), Arrival::not_open);  // stores nothing before its turn
  EXPECT_EQ(b.board.arrive_alike(0, g + 1, 6, 2, 1), Arrival::completed);
}

TEST(BoardAlike, dissolved_with_any_number_of_members_in_it) {
  for (std::uint32_t arrived = 0; arrived < 3; ++arrived) {
    PoolBoard b(3);
    const auto g = b.board.open_generation();
    ASSERT_EQ(arrive(b.board, g, {4, 4, 4}, 3), Arrival::completed);
    (void)arrive(b.board, g + 1, std::vector<std::uint64_t>(arrived, 4), 3);
    EXPECT_EQ(b.board.dissolve(by_message), g + 1);
    EXPECT_EQ(end_of(b.board, g), 0);
    EXPECT_EQ(end_of(b.board, g + 1), by_message);
    for (std::uint32_t m = 0; m < 3; ++m) {  // whatever a member comes for, and however often
      EXPECT_NE(b.board.arrive_alike(m, g + 1, 4, 3, 1), Arrival::waiting);
      EXPECT_EQ(b.board.arrive_alike(m, g + 2, 4, 3, 1), Arrival::broken);
      EXPECT_EQ(end_of(b.board, g + 2), by_message);
      EXPECT_EQ(end_of(b.board, g + 40), by_message);
    }
    EXPECT_EQ(b.board.arrived_count(), 0u);
  }
}

TEST(BoardAlike, a_dissolved_board_serves_the_next_set) {
  PoolBoard b(2);
  ASSERT_TRUE(b.board.hold(0, 1));
  (void)b.board.arrive_alike(0, b.board.open_generation(), 4, 2, 1);
  (void)b.board.dissolve(by_message);
  EXPECT_FALSE(b.board.close(2));
  b.board.forget_hold(0, by_message);  // its process has ended
  EXPECT_TRUE(b.board.close(2));
  b.board.reopen(2, false, 2);
  const auto g = b.board.open_generation();
  EXPECT_EQ(b.board.arrive_alike(0, g, 4, 2, 2), Arrival::waiting);
  EXPECT_EQ(b.board.arrive_alike(1, g, 4, 2, 2), Arrival::completed);
}

TEST(BoardAlike, a_member_takes_its_tags_along) {
  PoolBoard b(2);
  const auto g = b.board.open_generation();
  BoardMember one(b.board, 0, 1, g, 2), other(b.board, 1, 1, g, 2);
  auto a = *one.enter({}, 5), c = *other.enter({}, 5), d = *one.enter({}, 6), e = *other.enter({}, 7);
  EXPECT_FALSE(one.step(a).status);
  EXPECT_FALSE(one.step(d).status);  // behind `a`
  EXPECT_EQ(other.step(c).status, PMIX_SUCCESS);
  EXPECT_EQ(one.step(a).status, PMIX_SUCCESS);
  EXPECT_FALSE(one.step(d).status);
  EXPECT_EQ(other.step(e).owed, BoardMember::Owed::exchange);
  (void)b.board.dissolve(by_message);
  EXPECT_EQ(one.step(d).status, by_message);
  EXPECT_EQ(other.step(e).status, by_message);
}

// ---- the ledger

struct Ledger {
  Ledger() : block(sizeof(GroupLedger)), ledger(GroupLedger::at(block.get())) {}
  testing::ExactBlock block;
  GroupLedger& ledger;
};

TEST(GroupLedger, what_is_written_is_read) {
  Ledger l;
  const std::string longest(GroupLedger::longest_name, 'n');
  l.ledger.set_read(0xfffffffe);  // across the turn of the counter
  EXPECT_TRUE(l.ledger.write(0xffffffff, GroupAct::made, longest));
  EXPECT_TRUE(l.ledger.write(0, GroupAct::ended, "n"));
  const auto made = l.ledger.read(0xffffffff), ended = l.ledger.read(0);
  ASSERT_TRUE(made && ended);
  EXPECT_EQ(made->act, GroupAct::made);
  EXPECT_EQ(made->name, longest);
  EXPECT_EQ(ended->act, GroupAct::ended);
  EXPECT_EQ(ended->name, "n");
  EXPECT_FALSE(l.ledger.write(1, GroupAct::made, ""));
  EXPECT_FALSE(l.ledger.write(1, GroupAct::made, longest + "n"));
}

TEST(GroupLedger, what_was_not_read_is_not_written_over) {
  Ledger l;
  l.ledger.set_read(100);
  unsigned due = 0;
  for (Generation g = 101; g <= 100 + GroupLedger::records; ++g) {
    EXPECT_TRUE(l.ledger.write(g, GroupAct::made, "name")) << g;
    due += l.ledger.is_reader_due(g);
  }
  EXPECT_EQ(due, 2u);
  EXPECT_FALSE(l.ledger.write(101 + GroupLedger::records, GroupAct::made, "one too many"));
  EXPECT_FALSE(l.ledger.write(100, GroupAct::made, "read already"));
  l.ledger.set_read(101);
  EXPECT_TRUE(l.ledger.write(101 + GroupLedger::records, GroupAct::ended, "next"));
  EXPECT_EQ(l.ledger.read(101 + GroupLedger::records)->name, "next");
  EXPECT_FALSE(l.ledger.read(101));  // another generation's record stands there
}

TEST(GroupLedger, damage_is_no_record_or_a_name) {
  testing::Watchdog watchdog;
  testing::Random random;
  for (unsigned round = 0; round < testing::rounds(20'000); ++round) {
    Ledger l;
    l.ledger.set_read(0);
    ASSERT_TRUE(l.ledger.write(1, GroupAct::made, "name"));
    testing::damage(random, l.block.get(), 128);
    const auto record = l.ledger.read(1);
    if (!record) continue;
    EXPECT_FALSE(record->name.empty());
    EXPECT_EQ(record->name.find('\0'), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::store
