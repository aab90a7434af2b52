// SPDX-License-Identifier: BSD-3-Clause
// All members can write the board wrong: a reader gets some answer, at once, from inside the board.
#include <atomic>
#include <thread>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

TEST(BoardDamage, every_call_has_an_end) {
  testing::Watchdog watchdog;
  testing::Random random;
  constexpr std::uint32_t members = 3;
  std::uint64_t sum = 0;
  for (unsigned round = 0; round < testing::rounds(200'000); ++round) {
    ExactBoard b(members, round % 2 != 0);
    for (std::uint32_t m = 0; m < random.below(members + 1); ++m) (void)b.board.arrive(m, 1);
    if (random.below(3) == 0) b.board.lose(1, -7);
    testing::damage(random, b.block.get(), b.block.size());
    const auto g = random.below(2) == 0 ? b.board.open_generation() : static_cast<Generation>(random.any());
    const auto me = static_cast<std::uint32_t>(random.below(members));
    sum += static_cast<std::uint64_t>(b.board.arrive(me, g));
    sum += static_cast<std::uint64_t>(b.board.outcome(g));
    sum += b.board.verdict(g).member + b.board.arrived_count() + b.board.members();
    sum += b.board.broken(g) + b.board.arrived(me, g) + b.board.notice_wanted() +
           b.board.wanted(members).collect;
    b.board.ask_notice(me);
    sum += b.board.take_notice(me) + b.board.complete(g) + b.board.abort(g, {-1, me});
    b.board.lose(me, -7);
    b.board.rejoin(me);
    sum += b.board.abort(b.board.open_generation(), {-1, me});
    sum += static_cast<std::uint64_t>(b.board.arrive_alike(me, g, random.any(), members, 0));
    sum += b.board.dissolve(-3);
  }
  EXPECT_NE(sum, 0u);
}

// Each call of the server at a board ends while a member keeps storing there, and a loss ends one generation
// at most.
TEST(BoardDamage, every_call_has_an_end_while_the_word_changes) {
  testing::Watchdog watchdog;
  constexpr std::uint32_t members = 3;
  ExactBoard b(members, true);
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(b.block.get());  // Board::word_
  std::atomic<bool> is_over{false};
  std::thread member([&] {
    testing::Random random;
    while (!is_over.load(std::memory_order_relaxed)) word.store(random.any(), std::memory_order_relaxed);
  });
  unsigned ended = 0;
  for (unsigned round = 0; round < testing::rounds(20'000); ++round) {
    const auto me = round % members;
    ended += b.board.lose(me, -7);
    ended += b.board.rejoin(me);
    (void)b.board.arrive(me, b.board.open_generation());
    (void)b.board.complete(b.board.open_generation());
    (void)b.board.abort(b.board.open_generation(), {-1, me});
    if (round % 16 == 0) (void)b.board.dissolve(-3);
  }
  is_over = true;
  member.join();
  EXPECT_LE(ended, 2 * testing::rounds(20'000));
}

// A board of the pool: what the server does with it has an end, too, and reopened it is as good as new.
TEST(BoardDamage, a_damaged_board_is_reopened_whole) {
  testing::Watchdog watchdog;
  testing::Random random;
  constexpr std::uint32_t members = 3;
  unsigned closed = 0;
  for (unsigned round = 0; round < testing::rounds(50'000); ++round) {
    PoolBoard b(members, round % 2 != 0, static_cast<Generation>(random.any()));
    const auto me = static_cast<std::uint32_t>(random.below(members));
    BoardMember member(b.board, me, 1, b.board.open_generation());
    auto entry = member.enter(false);
    ASSERT_TRUE(entry);
    if (random.below(2) == 0) (void)member.step(*entry);
    testing::damage(random, b.block.get(), b.block.size());
    (void)member.step(*entry);
    member.ask_notice();
    (void)b.board.close(members);
    member.end(*entry);
    if (auto again = member.enter(true)) member.end(*again);
    closed += b.board.close(members);
    b.board.reopen(members, false, 2);
    ASSERT_FALSE(b.board.broken(b.board.open_generation()));
    ASSERT_FALSE(b.board.notice_wanted());
    ASSERT_EQ(b.board.arrived_count(), 0u);
    const auto g = b.board.open_generation();
    for (std::uint32_t m = 0; m < members; ++m) {
      ASSERT_FALSE(b.board.arrived(m, g));
      ASSERT_TRUE(b.board.hold(m, 2));
      ASSERT_EQ(b.board.arrive(m, g, false, 2),
                m + 1 < members ? Board::Arrival::waiting : Board::Arrival::completed);
    }
  }
  EXPECT_NE(closed, 0u);
}

}  // namespace
}  // namespace weft::store
