// SPDX-License-Identifier: BSD-3-Clause
// One writer, readers in other threads and processes; and a writer that is killed at any moment.
#include <algorithm>
#include <csignal>
#include <thread>

#include "core/store/cards/remote_cards.hpp"
#include "pmix_common.h"
#include "tests/unit/core/store/cards/logs.hpp"
#include "transport/shm/wait.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t rank_count = 5;
constexpr std::uint32_t all_scopes = ~std::uint32_t{0};

struct Shared {
  std::atomic<std::uint32_t> links[rank_count];
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> looks{0};
};

/// Card number n, of rank n % rank_count: two records, both with its number.
Result<void> add(RemoteCards& cards, Shared& shared, std::uint64_t n) {
  const auto value = numbered_value(n);
  const CardRecord records[] = {{PMIX_GLOBAL, "first", value}, {PMIX_REMOTE, "second", value}};
  auto& link = shared.links[n % rank_count];
  const auto from = cards.known(link.load(std::memory_order_relaxed));
  // All but the first card rest on that.
  const RemoteCards::Link base = n == 1 ? 0 : 1;
  return cards.append(link, {"job", static_cast<std::uint32_t>(n % rank_count), from, from + 8, records},
                      base);
}

/// Every card is whole, its own rank's, and none is older than what was seen before. False: something was
/// wrong.
bool look(const RemoteCards& cards, const Shared& shared, std::uint64_t (&newest)[rank_count]) {
  for (std::uint32_t r = 0; r < rank_count; ++r) {
    const auto link = shared.links[r].load(std::memory_order_acquire);  // R2 <- R1
    RemoteCards::Whole whole[2];
    const auto first = cards.find(link, "first", hash_key("first"), all_scopes, whole[0]);
    const auto second = cards.find(link, "second", hash_key("second"), all_scopes, whole[1]);
    if (link == 0) continue;
    if (!first || !second) return false;
    const auto n = number_of(first->value);
    if (n == 0 || n != number_of(second->value) || n % rank_count != r || n < newest[r]) return false;
    newest[r] = n;
  }
  return true;
}

TEST(RemoteCardsThreads, readers_see_whole_cards_and_never_go_back) {
  testing::Watchdog watchdog;
  std::atomic<unsigned> faults{0};
  const testing::Rounds rounds(20);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    constexpr std::uint64_t capacity = testing::thread_sanitized ? 64 << 10 : 512 << 10;
    const testing::ExactBlock block(RemoteCards::footprint(capacity));
    RemoteCards cards(block.get(), capacity);
    Shared shared{};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
      readers.emplace_back([&] {
        std::uint64_t newest[rank_count] = {};
        for (bool last = false; !last;) {
          last = shared.stop.load(std::memory_order_acquire);
          if (!look(cards, shared, newest)) ++faults;
        }
        if (newest[0] == 0) ++faults;  // a test that saw nothing proves nothing
      });
    std::uint64_t n = 1;
    for (; add(cards, shared, n); ++n)
      if (n % 64 == 0) std::this_thread::yield();
    shared.stop.store(true, std::memory_order_release);
    for (auto& reader : readers) reader.join();
    for (std::uint32_t r = 0; r < rank_count; ++r) {
      std::deque<RemoteCards::Whole> whole;
      const auto all = cards.all(shared.links[r], whole);
      ASSERT_TRUE(all);
      std::uint64_t expected = r == 0 ? rank_count : r;
      for (std::size_t i = 0; i < all->size(); i += 2, expected += rank_count)
        ASSERT_EQ(number_of((*all)[i].value), expected);
      EXPECT_GE(expected, n) << "a card is missing";
    }
  }
  EXPECT_EQ(faults.load(), 0u);
}

TEST(RemoteCardsProcesses, a_writer_killed_at_random_leaves_whole_cards) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  constexpr std::uint64_t capacity = std::uint64_t{512} << 20;
  testing::SharedBlock memory(RemoteCards::footprint(capacity)), control(sizeof(Shared));
  auto& shared = *new (control.get()) Shared{};
  RemoteCards cards(memory.get(), capacity);
  const auto reader = testing::start_child([&] {
    std::uint64_t newest[rank_count] = {};
    while (!shared.stop.load(std::memory_order_acquire)) {
      if (!look(cards, shared, newest)) return false;
      shared.looks.fetch_add(1, std::memory_order_relaxed);
      std::this_thread::yield();
    }
    return true;
  });
  std::uint64_t newest[rank_count] = {};
  const testing::Rounds rounds(100);
  for (unsigned kill = 0; rounds.go_on(kill, 1); ++kill) {
    const auto before = cards.header().used.load();
    const auto next = *std::max_element(std::begin(newest), std::end(newest)) + 1;
    const auto writer = testing::start_child([&] {
      for (auto n = next; add(cards, shared, n); ++n) {
      }
      return false;  // it must not fill up before it is killed
    });
    while (cards.header().used.load() < before + 200 + random.below(20'000)) std::this_thread::yield();
    for (auto spins = random.below(200); spins != 0; --spins) shm::cpu_relax();
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    ASSERT_TRUE(WIFSIGNALED(testing::reap(writer)));
    ASSERT_TRUE(look(cards, shared, newest));
    ASSERT_GE(*std::max_element(std::begin(newest), std::end(newest)), next);
  }
  shared.stop.store(true, std::memory_order_release);
  EXPECT_TRUE(testing::ended_well(testing::reap(reader)));
  EXPECT_GT(shared.looks.load(), 0u);
}

}  // namespace
}  // namespace weft::store
