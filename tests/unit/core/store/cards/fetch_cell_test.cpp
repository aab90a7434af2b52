// SPDX-License-Identifier: BSD-3-Clause
// Requests and replies through a FetchCell: numbers, requests given up, threads, a requester that is killed,
// wild bytes.
#include "core/store/cards/fetch_cell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <random>
#include <thread>

#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

TEST(FetchCell, a_new_cell_has_no_request_and_no_reply) {
  FetchCell cell;
  EXPECT_EQ(cell.request().number, 0u);
  std::int32_t status = 7;
  EXPECT_FALSE(cell.has_reply(1, status));
}

TEST(FetchCell, a_reply_belongs_to_its_request_only) {
  FetchCell cell;
  const auto given_up = cell.post(11, FetchCell::anything, FetchCell::Until::commit);
  const auto number = cell.post(12, 34, FetchCell::Until::commit);
  EXPECT_NE(given_up, number);
  EXPECT_EQ(cell.request().number, number);
  EXPECT_EQ(cell.request().rank, 12u);
  EXPECT_EQ(cell.request().seen, 34u);
  std::int32_t status = 0;
  cell.reply(given_up, -5);  // it comes late
  EXPECT_FALSE(cell.has_reply(number, status));
  cell.reply(number, -46);
  EXPECT_TRUE(cell.has_reply(number, status));
  EXPECT_EQ(status, -46);
}

TEST(FetchCell, ranks_of_all_sizes_and_outcomes_of_both_signs_pass) {
  FetchCell cell;
  for (const std::uint32_t rank : {0u, 1u, 0x7fffffffu, 0xfffffffeu})
    for (const std::int32_t status : {0, -1, 1, INT32_MIN, INT32_MAX}) {
      const auto number = cell.post(rank, FetchCell::anything, FetchCell::Until::commit);
      ASSERT_EQ(cell.request().rank, rank);
      cell.reply(number, status);
      std::int32_t got = 0;
      ASSERT_TRUE(cell.has_reply(number, got));
      ASSERT_EQ(got, status);
    }
}

TEST(FetchCell, a_request_says_what_it_waits_for) {
  FetchCell cell;
  for (const auto until : {FetchCell::Until::commit, FetchCell::Until::now, FetchCell::Until::commit}) {
    (void)cell.post(1, FetchCell::anything, until);
    EXPECT_EQ(cell.request().until, until);
  }
}

TEST(FetchCellThreads, what_was_published_before_a_reply_is_seen_after_it) {
  testing::Watchdog watchdog;
  FetchCell cell;
  std::uint32_t published = 0;  // plain: the reply has to order it
  std::atomic<bool> is_over{false};
  std::thread server([&] {
    for (std::uint32_t served = 0; !is_over.load();) {
      const auto [number, rank, seen, until] = cell.request();
      if (number == served) {
        std::this_thread::yield();
        continue;
      }
      served = number;
      published = rank;
      cell.reply(number, static_cast<std::int32_t>(rank));
    }
  });
  unsigned wrong = 0;
  const testing::Rounds rounds(20'000);
  for (std::uint32_t i = 1; rounds.go_on(i - 1); ++i) {
    const auto number = cell.post(i * 3, FetchCell::anything, FetchCell::Until::commit);
    std::int32_t status = 0;
    const auto over = [&] { return cell.has_reply(number, status); };
    const shm::WaitPolicy at_once{.yield = std::chrono::microseconds(i % 2 == 0 ? 0 : 50)};
    if (!shm::wait_until(cell.waiting(), at_once, std::nullopt, over, [] { return true; })) ++wrong;
    if (status != static_cast<std::int32_t>(i * 3) || published != i * 3) ++wrong;
  }
  is_over.store(true);
  server.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(FetchCellProcesses, a_killed_requester_leaves_a_cell_that_the_next_can_use) {
  testing::Watchdog watchdog;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& cell = *new (memory) FetchCell;
  std::uint32_t last = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t requester = ::fork();
    if (requester == 0) {
      for (;;) {
        std::int32_t status = 0;
        const auto number = cell.post(5, FetchCell::anything, FetchCell::Until::commit);
        (void)shm::wait_until(
            cell.waiting(), {.yield = std::chrono::microseconds(0)}, std::nullopt,
            [&] { return cell.has_reply(number, status); }, [] { return true; });
      }
    }
    for (int served = 0; served < 50;) {
      const auto [number, rank, seen, until] = cell.request();
      if (number == last) continue;
      ASSERT_EQ(rank, 5u);
      ASSERT_GT(number, last);
      last = number;
      if (++served < 50) cell.reply(number, 0);  // the last one dies without a reply
    }
    ::kill(requester, SIGKILL);
    ASSERT_EQ(::waitpid(requester, nullptr, 0), requester);
  }
  const auto number = cell.post(6, FetchCell::anything, FetchCell::Until::commit);
  EXPECT_GT(number, last);
  cell.reply(number, 1);
  std::int32_t status = 0;
  EXPECT_TRUE(cell.has_reply(number, status));
  ::munmap(memory, 4096);
}

TEST(FetchCellDamage, wild_bytes_are_a_request_or_none) {
  std::mt19937_64 random(1234);
  for (int i = 0; i < 1000; ++i) {
    alignas(64) std::byte bytes[sizeof(FetchCell)];
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    auto& cell = *reinterpret_cast<FetchCell*>(bytes);
    const auto request = cell.request();
    EXPECT_TRUE(request.until == FetchCell::Until::commit || request.until == FetchCell::Until::now);
    cell.reply(request.number, 3);
    std::int32_t status = 0;
    EXPECT_TRUE(cell.has_reply(request.number, status));
    EXPECT_EQ(status, 3);
  }
}

}  // namespace
}  // namespace weft::store
