// SPDX-License-Identifier: BSD-3-Clause
// Timers of a loop, by a clock that the test moves, and by the machine's.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/server/loop/loop.hpp"

namespace weft::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

struct TimersTest : ::testing::Test {
  std::unique_ptr<Timer> timer(milliseconds after, const std::string& name) {
    return std::make_unique<Timer>(loop, after, [this, name] { ran.push_back(name); });
  }
  void pass(milliseconds time) {
    now += time;
    loop.run_due();
  }

  asio::io_context io;
  Loop::TimePoint now{hours(1)};
  Loop loop{io, &now};
  std::vector<std::string> ran;
};

TEST_F(TimersTest, run_in_the_order_of_their_times_and_then_of_their_setting) {
  const auto third = timer(milliseconds(2), "third"), first = timer(milliseconds(1), "first"),
             second = timer(milliseconds(1), "second");
  EXPECT_EQ(loop.next(), now + milliseconds(1));
  pass(milliseconds(0));
  EXPECT_TRUE(ran.empty());
  pass(milliseconds(2));
  EXPECT_EQ(ran, (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_EQ(loop.next(), std::nullopt);
}

TEST_F(TimersTest, one_that_has_ended_does_not_run) {
  auto ended = timer(milliseconds(1), "ended");
  const auto kept = timer(milliseconds(1), "kept");
  ended.reset();
  pass(milliseconds(1));
  EXPECT_EQ(ran, std::vector<std::string>{"kept"});
}

TEST_F(TimersTest, one_may_end_itself_and_others_of_its_time) {
  std::unique_ptr<Timer> self;
  auto other = timer(milliseconds(1), "other");
  const auto earlier = std::make_unique<Timer>(loop, milliseconds(0), [&] { other.reset(); });
  self = std::make_unique<Timer>(loop, milliseconds(1), [&, name = std::string("self")] {
    self.reset();
    ran.push_back(name);
  });
  pass(milliseconds(1));
  EXPECT_EQ(ran, std::vector<std::string>{"self"});
}

TEST_F(TimersTest, what_a_timer_sets_for_at_once_runs_in_the_next_call) {
  std::unique_ptr<Timer> next;
  const Timer first(loop, milliseconds(0), [&] { next = timer(milliseconds(0), "next"); });
  loop.run_due();
  EXPECT_TRUE(ran.empty());
  loop.run_due();
  EXPECT_EQ(ran, std::vector<std::string>{"next"});
}

TEST(TimersOfTheMachine, run_by_the_loop_and_an_earlier_one_first) {
  asio::io_context io;
  Loop loop(io);
  std::vector<int> ran;
  const Timer never(loop, hours(1000), [&] { ran.push_back(0); });
  const Timer late(loop, milliseconds(20), [&] { ran.push_back(2); });
  const Timer early(loop, milliseconds(1), [&] { ran.push_back(1); });
  while (ran.size() < 2) io.run_one();
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace weft::server
