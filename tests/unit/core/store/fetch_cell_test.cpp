// SPDX-License-Identifier: BSD-3-Clause
// Questions and answers through a FetchCell: numbers, given-up questions, threads, an asker that is killed, wild bytes.
#include "core/store/fetch_cell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include "tests/unit/core/store/logs.hpp"

namespace weft::store {
namespace {

TEST(FetchCell, a_new_one_has_no_question_and_no_answer) {
  FetchCell cell;
  EXPECT_EQ(cell.question().number, 0u);
  std::int32_t status = 7;
  EXPECT_FALSE(cell.answered(1, status));
}

TEST(FetchCell, an_answer_is_the_answer_to_its_question_only) {
  FetchCell cell;
  const auto given_up = cell.ask(11, FetchCell::anything);
  const auto number = cell.ask(12, 34);
  EXPECT_NE(given_up, number);
  EXPECT_EQ(cell.question().number, number);
  EXPECT_EQ(cell.question().rank, 12u);
  EXPECT_EQ(cell.question().seen, 34u);
  std::int32_t status = 0;
  cell.answer(given_up, -5);  // it comes late
  EXPECT_FALSE(cell.answered(number, status));
  cell.answer(number, -46);
  EXPECT_TRUE(cell.answered(number, status));
  EXPECT_EQ(status, -46);
}

TEST(FetchCell, ranks_of_all_sizes_and_statuses_of_both_signs_pass) {
  FetchCell cell;
  for (const std::uint32_t rank : {0u, 1u, 0x7fffffffu, 0xfffffffeu})
    for (const std::int32_t status : {0, -1, 1, INT32_MIN, INT32_MAX}) {
      const auto number = cell.ask(rank, FetchCell::anything);
      ASSERT_EQ(cell.question().rank, rank);
      cell.answer(number, status);
      std::int32_t got = 0;
      ASSERT_TRUE(cell.answered(number, got));
      ASSERT_EQ(got, status);
    }
}

TEST(FetchCellThreads, what_was_published_before_an_answer_is_seen_after_it) {
  testing::Watchdog watchdog;
  FetchCell cell;
  std::uint32_t published = 0;  // plain: the answer has to order it
  const std::uint32_t questions = testing::rounds(20'000);
  std::thread server([&] {
    for (std::uint32_t served = 0; served < questions;) {
      const auto [number, rank, seen] = cell.question();
      if (number == served) {
        std::this_thread::yield();
        continue;
      }
      served = number;
      published = rank;
      cell.answer(number, static_cast<std::int32_t>(rank));
    }
  });
  unsigned wrong = 0;
  for (std::uint32_t i = 1; i <= questions; ++i) {
    const auto number = cell.ask(i * 3, FetchCell::anything);
    std::int32_t status = 0;
    const auto over = [&] { return cell.answered(number, status); };
    const shm::WaitPolicy at_once{.yield = std::chrono::microseconds(i % 2 == 0 ? 0 : 50)};
    if (!shm::wait_until(cell.waiting(), at_once, std::nullopt, over, [] { return true; })) ++wrong;
    if (status != static_cast<std::int32_t>(i * 3) || published != i * 3) ++wrong;
  }
  server.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(FetchCellProcesses, an_asker_that_is_killed_leaves_a_cell_that_the_next_one_can_use) {
  testing::Watchdog watchdog;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& cell = *new (memory) FetchCell;
  std::uint32_t last = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t asker = ::fork();
    if (asker == 0) {
      for (;;) {
        std::int32_t status = 0;
        const auto number = cell.ask(5, FetchCell::anything);
        (void)shm::wait_until(
            cell.waiting(), {.yield = std::chrono::microseconds(0)}, std::nullopt,
            [&] { return cell.answered(number, status); }, [] { return true; });
      }
    }
    for (int served = 0; served < 50;) {
      const auto [number, rank, seen] = cell.question();
      if (number == last) continue;
      ASSERT_EQ(rank, 5u);
      ASSERT_GT(number, last);
      last = number;
      if (++served < 50) cell.answer(number, 0);  // the last one dies without an answer
    }
    ::kill(asker, SIGKILL);
    ASSERT_EQ(::waitpid(asker, nullptr, 0), asker);
  }
  const auto number = cell.ask(6, FetchCell::anything);
  EXPECT_GT(number, last);
  cell.answer(number, 1);
  std::int32_t status = 0;
  EXPECT_TRUE(cell.answered(number, status));
  ::munmap(memory, 4096);
}

TEST(FetchCellDamage, wild_bytes_are_a_question_or_none) {
  std::mt19937_64 random(1234);
  for (int i = 0; i < 1000; ++i) {
    alignas(64) std::byte bytes[sizeof(FetchCell)];
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    auto& cell = *reinterpret_cast<FetchCell*>(bytes);
    const auto question = cell.question();
    cell.answer(question.number, 3);
    std::int32_t status = 0;
    EXPECT_TRUE(cell.answered(question.number, status));
    EXPECT_EQ(status, 3);
  }
}

}  // namespace
}  // namespace weft::store
