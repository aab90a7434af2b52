// SPDX-License-Identifier: BSD-3-Clause
// The pool of boards in a segment.
#include "core/store/segment/board_pool.hpp"

#include <set>

#include "tests/unit/core/store/boards/boards.hpp"
#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

TEST(BoardPool, gives_each_set_a_board_of_its_own) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment);
  EXPECT_EQ(pool.capacity(), most_pool_boards);
  std::set<BoardNumber> numbers;
  for (std::size_t i = 0; i < pool.capacity(); ++i) {
    const auto number = pool.take(job.view(), 2, false);
    ASSERT_TRUE(number);
    EXPECT_NE(*number, own_job_board);
    EXPECT_TRUE(numbers.insert(*number).second);
    EXPECT_TRUE(pool.is_taken(*number));
  }
  EXPECT_FALSE(pool.take(job.view(), 2, false));
  for (const auto number : numbers) {  // all of them at once, and none disturbs another
    auto& board = pool.at(number);
    ASSERT_EQ(board.arrive(0, board.open_generation(), false, pool.incarnation(number)),
              Board::Arrival::waiting);
  }
  for (const auto number : numbers) {
    auto& board = pool.at(number);
    ASSERT_EQ(board.arrive(1, board.open_generation(), false, pool.incarnation(number)),
              Board::Arrival::completed);
  }
}

TEST(BoardPool, a_board_has_room_for_the_most_members_and_no_more) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment);
  EXPECT_FALSE(pool.take(job.view(), 0, false));
  EXPECT_FALSE(pool.take(job.view(), most_pool_members + 1, false));
  const auto one = pool.take(job.view(), most_pool_members, false), next = pool.take(job.view(), 1, false);
  ASSERT_TRUE(one && next);
  auto* last_cell = reinterpret_cast<std::byte*>(&pool.at(*one).cell(most_pool_members - 1));
  EXPECT_LE(last_cell + sizeof(Board::Cell), reinterpret_cast<std::byte*>(&pool.at(*next)));
}

TEST(BoardPool, a_board_in_use_is_not_given_back) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment);
  const auto number = *pool.take(job.view(), 2, true);
  EXPECT_TRUE(pool.at(number).remote());
  EXPECT_EQ(pool.members(number), 2u);
  BoardMember member(pool.at(number), 1, pool.incarnation(number), pool.at(number).open_generation());
  auto entry = member.enter(false);
  EXPECT_FALSE(pool.give_back(number));
  EXPECT_TRUE(pool.is_taken(number));
  pool.at(number).abort(entry->generation, {PMIX_ERR_TIMEOUT, 0});
  member.end(*entry);
  EXPECT_TRUE(pool.give_back(number));
  EXPECT_FALSE(pool.is_taken(number));
  EXPECT_FALSE(member.enter(false));
}

TEST(BoardPool, a_slot_serves_set_after_set) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment);
  Incarnation before = 0;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto members = round % 5 + 1;
    const auto number = *pool.take(job.view(), members, false);
    EXPECT_EQ(number, 1u);  // memory that was used is used again
    EXPECT_NE(pool.incarnation(number), before);
    before = pool.incarnation(number);
    auto last = Board::Arrival::waiting;
    const auto g = pool.at(number).open_generation();
    for (std::uint32_t m = 0; m < members; ++m) last = pool.at(number).arrive(m, g, false, before);
    EXPECT_EQ(last, Board::Arrival::completed);
    EXPECT_TRUE(pool.give_back(number));
  }
}

TEST(BoardPool, a_board_that_has_not_been_used_makes_room_first) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment, PoolPart::groups);
  EXPECT_FALSE(pool.victim());
  const auto first = *pool.take(job.view(), 1, false), second = *pool.take(job.view(), 1, false);
  EXPECT_EQ(pool.victim(), first);
  EXPECT_EQ(pool.victim(), second);
  const auto use = [&](BoardNumber number) {
    auto& board = pool.at(number);
    (void)board.arrive(0, board.open_generation(), false, pool.incarnation(number));
  };
  use(first);
  EXPECT_EQ(pool.victim(), second);
  use(first);
  use(second);
  EXPECT_EQ(pool.victim(), first) << "both are in use: the turn decides";
  EXPECT_TRUE(pool.give_back(first));
  EXPECT_EQ(pool.victim(), second);
  EXPECT_TRUE(pool.give_back(second));
  EXPECT_FALSE(pool.victim());
}

TEST(BoardPool, a_reader_finds_the_slots_and_nothing_else) {
  Node node;
  const auto job = node.add(flat_job("job", 2, 2)).value();
  BoardPool pool(node.segment);
  const auto number = *pool.take(job.view(), 1, false);
  const auto& header = job.view().header();
  const auto slot = pool_slot(header, number);
  ASSERT_TRUE(slot);
  EXPECT_EQ(job.view().clients_memory().data() + slot->offset,
            reinterpret_cast<std::byte*>(&pool.at(number)));
  EXPECT_EQ(slot->offset % shm::page_bytes, 0u);
  const auto last = pool_slot(header, most_pool_boards + most_group_boards);
  ASSERT_TRUE(last);
  EXPECT_LE(last->offset + last->bytes, header.clients_bytes);
  EXPECT_FALSE(pool_slot(header, own_job_board));
  EXPECT_FALSE(pool_slot(header, most_pool_boards + most_group_boards + 1));
  EXPECT_FALSE(pool_slot(header, 0xffffffff));
}

// A member that has not let go keeps a slot from other sets, but not longer than there is a memory.
TEST(BoardPool, the_slot_of_a_job_that_ends_serves_another_job) {
  Node node;
  auto job = node.add(flat_job("job", 2, 2)).value();
  const auto other = node.add(flat_job("other", 2, 2)).value();
  BoardPool pool(node.segment);
  const auto number = *pool.take(job.view(), 2, false);
  const auto before = pool.incarnation(number);
  ASSERT_TRUE(pool.at(number).hold(0, before));
  EXPECT_FALSE(pool.give_back(number));
  pool.drop(number);
  job.retire(node.segment);
  EXPECT_FALSE(pool.is_taken(number));
  EXPECT_EQ(pool.take(other.view(), 2, false), number);
  EXPECT_NE(pool.incarnation(number), before);
  EXPECT_TRUE(pool.at(number).hold(0, pool.incarnation(number)));
}

TEST(BoardPool, a_small_segment_has_fewer_boards) {
  Node small(2 * 16 * 9 * pool_board_bytes + shm::page_bytes);
  const auto job = small.add(flat_job("job", 1, 1)).value();
  BoardPool few(small.segment);
  EXPECT_EQ(few.capacity(), 8u) << "and one for groups";
  EXPECT_TRUE(few.take(job.view(), 1, false));
  Node tiny(1 << 20);
  BoardPool none_at_all(tiny.segment);
  EXPECT_EQ(none_at_all.capacity(), 0u);
  EXPECT_FALSE(none_at_all.take(job.view(), 1, false));
}

}  // namespace
}  // namespace weft::store
