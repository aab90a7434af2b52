// SPDX-License-Identifier: BSD-3-Clause
// A server that closes and reopens a board while members fence at it: threads, so that TSan sees each access.
#include <thread>
#include <vector>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

struct alignas(64) Plain {
  std::uint64_t value = 0;
};

const shm::WaitPolicy policies[] = {shm::WaitPolicy::for_waiters(64, 2),
                                    {.spin = std::chrono::microseconds{0},
                                     .yield = std::chrono::microseconds{0},
                                     .slice = std::chrono::milliseconds{60'000}}};

/// Where a set meets: what the server's offer says. Incarnation 0: nowhere yet.
struct Offer {
  std::atomic<std::uint64_t> word{0};
  void publish(Incarnation incarnation, Generation next) {
    word.store(std::uint64_t{incarnation} << 32 | next, std::memory_order_release);
  }
};

// One board serves two sets of threads by turns, and the server takes it away whenever it can. A fence must
// never be cut in two: what all wrote before it is there after it, whichever incarnation it was in.
TEST(BoardCloseThreads, no_fence_is_open_on_a_closed_board) {
  testing::Watchdog watchdog;
  constexpr std::uint32_t sizes[] = {3, 2};
  const std::uint64_t total = testing::rounds(4'000);
  for (const auto& policy : policies) {
    PoolBoard b(3);
    ASSERT_TRUE(b.board.close(3));
    Offer offers[2];
    std::vector<Plain> data[2] = {std::vector<Plain>(sizes[0]), std::vector<Plain>(sizes[1])};
    std::atomic<unsigned> faults{0}, running{sizes[0] + sizes[1]};
    std::vector<std::thread> threads;
    for (unsigned set = 0; set < 2; ++set)
      for (std::uint32_t me = 0; me < sizes[set]; ++me)
        threads.emplace_back([&, set, me] {
          std::unique_ptr<BoardMember> member;
          const auto meet = [&] {
            for (;;) {
              if (member != nullptr)
                if (const auto status = fence(*member, policy)) return *status;
              // Closed: the next offer, which is another, or the same again while the other set is served.
              std::uint64_t offer = 0;
              while ((offer = offers[set].word.load(std::memory_order_acquire)) == 0)
                std::this_thread::yield();
              if (member == nullptr || member->incarnation() != offer >> 32)
                member = std::make_unique<BoardMember>(b.board, me, static_cast<Incarnation>(offer >> 32),
                                                       static_cast<Generation>(offer));
              else
                std::this_thread::yield();
            }
          };
          for (std::uint64_t round = 1; round <= total; ++round) {
            data[set][me].value = round;
            if (meet() != PMIX_SUCCESS) ++faults;
            for (const auto& other : data[set])
              if (other.value != round) ++faults;
            if (meet() != PMIX_SUCCESS) ++faults;
          }
          --running;
        });
    unsigned reopened = 0, refused = 0;
    std::uint32_t members = 3;
    while (running.load() != 0) {
      std::this_thread::yield();
      if (!b.board.close(members)) {
        ++refused;
        continue;
      }
      const auto set = ++reopened % 2;
      members = sizes[set];
      b.board.reopen(members, false, 1 + reopened);
      offers[set].publish(1 + reopened, b.board.open_generation());
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(faults.load(), 0u);
    EXPECT_GT(reopened, 1u);
    RecordProperty("reopened", static_cast<int>(reopened));
    RecordProperty("refused", static_cast<int>(refused));
  }
}

// A process that the server gave up as lost, and that runs on, arrives again and again while others use its
// board.
TEST(BoardCloseThreads, a_lost_member_that_runs_is_never_counted) {
  testing::Watchdog watchdog;
  PoolBoard b(2);
  std::atomic<bool> over{false};
  std::atomic<unsigned> counted{0};
  std::thread lost([&] {
    while (!over.load(std::memory_order_acquire))
      for (Generation ahead = 0; ahead < 3; ++ahead)
        counted += b.board.arrive(0, b.board.open_generation() + ahead, false, 1) != Board::Arrival::closed;
  });
  // The first member is lost; its board goes to others.
  while (counted.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  b.board.lose(0, -7);
  unsigned faults = 0;
  for (Incarnation i = 2; i < 2 + testing::rounds(3'000); ++i) {
    if (!b.board.close(2)) ++faults;
    b.board.reopen(2, false, i);
    const auto g = b.board.open_generation();
    BoardMember one(b.board, 0, i, g), other(b.board, 1, i, g);
    auto first = one.enter(false), second = other.enter(false);
    if (!first || !second) {
      ++faults;
      break;
    }
    faults += one.step(*first).status.has_value();
    faults += b.board.arrived_count() != 1;
    faults += other.step(*second).status != PMIX_SUCCESS;
    one.end(*first);
    other.end(*second);
  }
  over.store(true, std::memory_order_release);
  lost.join();
  EXPECT_EQ(faults, 0u);
}

}  // namespace
}  // namespace weft::store
