// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads/worker.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <memory>
#include <vector>

namespace weft::base {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds long_time{60'000};

TEST(Worker, does_tasks_in_order_on_one_other_thread) {
  struct Seen {
    std::vector<int> numbers;
    std::vector<std::thread::id> threads;
    bool takes_signals = false;
  };
  const auto seen = std::make_shared<Seen>();
  Worker worker("worker");
  EXPECT_TRUE(worker.wait(milliseconds(0), milliseconds(0)));  // nothing to do is done
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(worker.add([seen, i](Worker::Steps&) {
      seen->numbers.push_back(i);
      seen->threads.push_back(std::this_thread::get_id());
      sigset_t mask;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      seen->takes_signals |= ::sigismember(&mask, SIGTERM) == 0;
    }));
  ASSERT_TRUE(worker.wait(long_time, long_time));
  ASSERT_EQ(seen->numbers.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen->numbers[static_cast<std::size_t>(i)], i);
  EXPECT_NE(seen->threads.front(), std::this_thread::get_id());
  EXPECT_EQ(seen->threads.front(), seen->threads.back());
  EXPECT_FALSE(seen->takes_signals);
}

TEST(Worker, a_task_that_hangs_is_waited_for_no_longer_than_agreed_and_left_behind) {
  struct Shared {
    std::promise<void> begun, may_end, ended;
    bool has_next_run = false;
  };
  const auto shared = std::make_shared<Shared>();
  {
    Worker worker("worker");
    EXPECT_TRUE(worker.add([shared](Worker::Steps&) {
      shared->begun.set_value();
      shared->may_end.get_future().wait();
      shared->ended.set_value();
    }));
    EXPECT_TRUE(worker.add([shared](Worker::Steps&) { shared->has_next_run = true; }));
    shared->begun.get_future().wait();
    EXPECT_FALSE(worker.wait(milliseconds(1), long_time));  // no step
    EXPECT_FALSE(worker.wait(long_time, milliseconds(1)));
  }
  shared->may_end.set_value();
  shared->ended.get_future().wait();
  EXPECT_FALSE(shared->has_next_run);
}

TEST(Worker, is_waited_for_while_it_gets_on) {
  Worker worker("worker");
  const auto begin = std::chrono::steady_clock::now();
  // Longer in all than the patience without a step, however slow this machine is at the moment.
  EXPECT_TRUE(worker.add([begin](Worker::Steps& steps) {
    while (std::chrono::steady_clock::now() - begin < milliseconds(700)) {
      steps.fetch_add(1);
      std::this_thread::yield();
    }
  }));
  EXPECT_TRUE(worker.wait(milliseconds(300), long_time));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(700));
}

}  // namespace
}  // namespace weft::base
