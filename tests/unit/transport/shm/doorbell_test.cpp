// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/doorbell.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

TEST(Doorbell, is_silent_while_the_server_is_awake) {
  Doorbell bell;
  EXPECT_FALSE(bell.ring());
  bell.asleep();
  bell.awake();
  EXPECT_FALSE(bell.ring());
}

TEST(Doorbell, one_ringer_a_sleep_has_to_wake) {
  Doorbell bell;
  for (int sleep = 0; sleep < 3; ++sleep) {
    bell.asleep();
    EXPECT_TRUE(bell.ring());
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(bell.ring());
  }
}

// A server that goes to sleep although a notice waits never wakes again: the clients then wait for its
// answer, and the watchdog ends the test.
TEST(Doorbell, no_notice_is_slept_through) {
  testing::Watchdog watchdog;
  Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Doorbell bell;
  std::atomic<std::uint32_t> notices{0};
  std::atomic<std::uint32_t> served{0};
  std::atomic<std::uint32_t> ended{0};
  const testing::Rounds rounds(100'000);
  constexpr std::uint32_t clients = 2;
  std::vector<std::thread> ringers;
  for (std::uint32_t c = 0; c < clients; ++c)
    ringers.emplace_back([&] {
      const auto ring = [&] {
        const std::uint64_t one = 1;
        if (bell.ring()) (void)!::write(fd.get(), &one, sizeof one);
      };
      for (std::uint32_t i = 0; rounds.go_on(i); ++i) {
        const auto mine = notices.fetch_add(1, std::memory_order_release) + 1;
        ring();
        while (static_cast<std::int32_t>(served.load(std::memory_order_acquire) - mine) < 0)
          std::this_thread::yield();
      }
      ended.fetch_add(1, std::memory_order_release);
      ring();
    });
  while (ended.load(std::memory_order_acquire) < clients) {
    const auto seen = notices.load(std::memory_order_acquire);
    if (seen != served.load(std::memory_order_relaxed)) {
      served.store(seen, std::memory_order_release);
      continue;
    }
    bell.asleep();
    if (notices.load(std::memory_order_acquire) == seen && ended.load(std::memory_order_acquire) < clients) {
      pollfd p{fd.get(), POLLIN, 0};
      ::poll(&p, 1, -1);
      std::uint64_t count = 0;
      (void)!::read(fd.get(), &count, sizeof count);
    }
    bell.awake();
  }
  for (auto& ringer : ringers) ringer.join();
  EXPECT_EQ(served.load(), notices.load());  // each ringer has waited for its last
}

}  // namespace
}  // namespace weft::shm
