// SPDX-License-Identifier: BSD-3-Clause
// Writers that are killed at any moment: what they leave is whole messages, in order, to the last one.
#include <csignal>
#include <thread>

#include "tests/unit/transport/shm/endpoint/rings.hpp"
#include "transport/shm/wait.hpp"

namespace weft::shm {
namespace {

constexpr std::uint64_t capacity = std::uint64_t{1} << 14;

TEST(MessageRingProcesses, writers_killed_at_random_leave_whole_messages) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  std::uint64_t read = 0;
  const testing::Rounds rounds(300);
  unsigned kills = 0;
  for (; rounds.go_on(kills, 1); ++kills) {
    testing::SharedBlock block(RingHeader::footprint(capacity));
    auto& header = *::new (block.get()) RingHeader;
    const auto child = testing::start_child([&] {
      RingWriter writer(header, capacity);
      for (std::uint64_t number = 0;; ++number) {
        const Numbered next(number, length_of(number, capacity));
        while (!writer.push(next.id, next.message())) std::this_thread::yield();
      }
      return false;
    });
    RingReader reader(header, capacity);
    std::vector<std::byte> into(capacity / 4);
    std::uint64_t next = 0, wrong = 0;
    const auto drain = [&] {
      const auto count = reader.drain(into, [&](std::uint16_t id, const Message& got) {
        wrong += !Numbered(next, length_of(next, capacity)).is(id, got);
        ++next;
      });
      ASSERT_TRUE(count);
      if (*count == 0) std::this_thread::yield();
    };
    // The writer is well under way; any instruction may now be its last.
    for (const auto until = 20 + random.below(2000); next < until && !HasFatalFailure();) drain();
    for (auto spins = random.below(300); spins != 0; --spins) cpu_relax();
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    if (random.below(2) == 0) drain();  // while it dies
    ASSERT_TRUE(WIFSIGNALED(testing::reap(child)));
    drain();
    ASSERT_EQ(wrong, 0u) << "after " << next;
    EXPECT_TRUE(reader.is_empty());
    read += next;
  }
  EXPECT_GT(read, 20u * kills);
}

// A reader that dies leaves a ring that fills up, and a writer that is told so.
TEST(MessageRingProcesses, a_reader_that_is_killed_leaves_a_full_ring) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  const testing::Rounds rounds(100);
  for (unsigned kill = 0; rounds.go_on(kill, 1); ++kill) {
    testing::SharedBlock block(RingHeader::footprint(capacity));
    auto& header = *::new (block.get()) RingHeader;
    const auto child = testing::start_child([&] {
      RingReader reader(header, capacity);
      std::vector<std::byte> into(capacity / 4);
      std::uint64_t next = 0;
      bool right = true;
      while (right) {
        const auto count = reader.drain(into, [&](std::uint16_t id, const Message& got) {
          right = right && Numbered(next, length_of(next, capacity)).is(id, got);
          ++next;
        });
        right = right && count.has_value();
        if (count.value_or(0) == 0) std::this_thread::yield();
      }
      return false;
    });
    RingWriter writer(header, capacity);
    std::uint64_t number = 0;
    const auto push = [&] {
      const Numbered next(number, length_of(number, capacity));
      const auto pushed = writer.push(next.id, next.message());
      number += pushed.has_value();
      return pushed;
    };
    for (const auto until = 200 + random.below(2000); number < until;)
      if (!push()) std::this_thread::yield();
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    if (random.below(2) == 0) (void)push();
    ASSERT_TRUE(WIFSIGNALED(testing::reap(child))) << "the reader saw something wrong";
    Result<void> pushed;
    for (std::uint64_t more = 0; more < 2 * capacity && pushed; ++more) pushed = push();
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code, Errc::again);
  }
}

}  // namespace
}  // namespace weft::shm
