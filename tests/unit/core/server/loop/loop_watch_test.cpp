// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/loop/loop_watch.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/link/frame.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

using std::chrono::milliseconds;

LoopWatch::Clock::time_point time_of_test;  // NOLINT: the clock is a function without an argument
struct LoopWatchTest : ::testing::Test {
  std::vector<std::string> lines;
  LoopWatch watch{[] { return time_of_test; },
                  [this](base::LogLevel level, const std::string& line) {
                    lines.push_back(std::string(base::to_text(level)) + ": " + line);
                  }};
};

TEST_F(LoopWatchTest, short_work_is_not_told) {
  {
    const LoopWatch::Work work(watch, "get");
    time_of_test += milliseconds(499);
  }
  EXPECT_TRUE(lines.empty());
}

TEST_F(LoopWatchTest, long_work_is_told_once_with_what_it_was) {
  const auto proc = link::make_proc("job", 3);
  {
    const LoopWatch::Work work(watch, link::to_text(link::MessageType::log), &proc);
    {
      const LoopWatch::Work inner(watch, "a call of the host");
      time_of_test += milliseconds(700);
    }
  }
  { const LoopWatch::Work next(watch, "get"); }
  EXPECT_EQ(lines, std::vector<std::string>{
                       "info: the server's loop was held up for 0.7 s by log of rank 3 of job"});
}

TEST_F(LoopWatchTest, a_warning_before_other_nodes_give_the_server_up) {
  {
    const LoopWatch::Work work(watch, "a call of the host");
    time_of_test += milliseconds(2000);
  }
  EXPECT_EQ(lines,
            std::vector<std::string>{"warn: the server's loop was held up for 2.0 s by a call of the host"});
}

TEST_F(LoopWatchTest, pieces_that_have_ended_are_counted_while_a_longer_one_goes_on) {
  const LoopWatch::Work work(watch, "a process that connects");
  EXPECT_EQ(watch.ended(), 0U);
  for (int i = 0; i < 2; ++i) const LoopWatch::Work inner(watch, "the end of the connection");
  EXPECT_EQ(watch.ended(), 2U);
}

TEST_F(LoopWatchTest, each_message_has_a_name) {
  EXPECT_EQ(link::to_text(link::MessageType::hello), "hello");
  EXPECT_EQ(link::to_text(link::MessageType::withdraw), "withdraw");
  EXPECT_EQ(link::to_text(link::MessageType::board_offer), "board_offer");
  EXPECT_EQ(link::to_text(link::MessageType{1000}), "unknown");
}

}  // namespace
}  // namespace weft::server
