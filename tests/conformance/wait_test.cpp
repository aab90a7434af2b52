// SPDX-License-Identifier: BSD-3-Clause
// Sleeping: an owner that only runs when its descriptor says so misses nothing.
#include <poll.h>

#include <thread>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

class WaitTest : public Conformance {};
INSTANTIATE_TEST_SUITE_P(On, WaitTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

/// False: nothing happened for ten seconds, though `done` is waited for.
bool sleep_until(Endpoint& endpoint, const std::function<bool()>& done) {
  while (!done()) {
    if (endpoint.progress() != 0) continue;
    const auto armed = endpoint.arm();
    if (!armed && armed.error().code != Errc::again) return false;
    if (!armed) continue;
    pollfd readable{*endpoint.wait_fd(), POLLIN, 0};
    if (::poll(&readable, 1, 10'000) == 0) return false;
  }
  return true;
}

TEST_P(WaitTest, two_that_sleep_hear_each_other) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  const auto to_b = reach(*a, *b), to_a = reach(*b, *a);
  ASSERT_TRUE(to_a && to_b);
  auto source = pattern(4096, 1);
  std::vector<std::byte> target(source.size());
  const auto exposed = a->endpoint->expose(source), local = b->endpoint->expose(target);
  ASSERT_TRUE(exposed && local);
  const auto key = b->endpoint->import_key(*to_a, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  constexpr std::size_t rounds = 200;

  // Each has its thread from here on. b answers every message with a get and a message.
  bool b_done = false;
  Operations of_a, of_b;
  std::thread answering([&] {
    for (std::size_t i = 1; i <= rounds; ++i) {
      if (!sleep_until(*b->endpoint, [&] { return b->received_count >= i; })) return;
      while (!b->endpoint->get({**key, 0}, {**local, 0, target.size()}, of_b.next())) {
        of_b.all.pop_back();
        b->endpoint->progress();
      }
      if (!sleep_until(*b->endpoint, [&] { return of_b.open() == 0; })) return;
      while (!b->endpoint->send(*to_a, 1, {}, of_b.next())) {
        of_b.all.pop_back();
        b->endpoint->progress();
      }
    }
    b_done = sleep_until(*b->endpoint, [&] { return of_b.open() == 0; });
  });
  bool a_done = true;
  for (std::size_t i = 1; i <= rounds && a_done; ++i) {
    while (!a->endpoint->send(*to_b, 1, {}, of_a.next())) {
      of_a.all.pop_back();
      a->endpoint->progress();
    }
    a_done = sleep_until(*a->endpoint, [&] { return a->received_count >= i && of_a.open() == 0; });
  }
  answering.join();
  EXPECT_TRUE(a_done);
  EXPECT_TRUE(b_done);
  EXPECT_TRUE(of_a.errors.empty() && of_b.errors.empty());
  EXPECT_TRUE(source == target);
}

}  // namespace
}  // namespace weft::conformance
