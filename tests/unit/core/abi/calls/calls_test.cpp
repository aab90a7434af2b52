// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/calls/calls.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace weft::abi {
namespace {

constexpr std::chrono::milliseconds a_moment{1};
constexpr std::chrono::seconds as_long_as_it_takes{60};

/// A thread that is inside a call until it is let go.
class Caller {
 public:
  template <class Inside>
  explicit Caller(Inside&& inside)
      : thread_([this, inside] {
          const InCall call;
          inside([this] {
            is_there_.set_value();
            go_.get_future().wait();
          });
        }) {
    is_there_.get_future().wait();
  }
  Caller() : Caller([](const auto& wait) { wait(); }) {}
  ~Caller() {
    if (thread_.joinable()) leave();
  }
  void leave() {
    go_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> is_there_, go_;
  std::thread thread_;
};

TEST(Calls, the_own_call_is_not_waited_for) {
  const InCall call;
  const InCall of_a_callback;
  EXPECT_TRUE(others_have_left(a_moment));
}

TEST(Calls, another_threads_call_is) {
  Caller caller;
  EXPECT_FALSE(others_have_left(a_moment));
  auto left = std::async(std::launch::async, [] { return others_have_left(as_long_as_it_takes); });
  caller.leave();
  EXPECT_TRUE(left.get());
  EXPECT_TRUE(others_have_left(a_moment));
}

TEST(Calls, a_call_in_a_callback_ends_nothing) {
  Caller caller([](const auto& wait) {
    { const InCall of_a_callback; }
    wait();
  });
  EXPECT_FALSE(others_have_left(a_moment));
}

TEST(Calls, a_call_that_waits_for_finalize_is_not_waited_for) {
  Caller caller([](const auto& wait) {
    const OutsideCall outside;
    wait();
  });
  EXPECT_TRUE(others_have_left(a_moment));
}

TEST(Calls, a_childs_threads_are_its_own) {
  Caller caller;
  const pid_t child = ::fork();
  if (child == 0) {
    forget_threads_of_parent();
    ::_exit(others_have_left(a_moment) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(others_have_left(a_moment));
}

/// An object that is taken away is freed only when no thread uses it: threads sanitizer and asan see to the
/// rest.
TEST(Calls, what_a_call_has_found_stays_until_its_end) {
  std::atomic<int*> role{nullptr};
  std::atomic<bool> is_over{false};
  std::array<std::atomic<std::uint64_t>, 3> found{};
  std::atomic<bool> was_stale{false};
  std::vector<std::thread> threads;
  for (auto& count : found)
    threads.emplace_back([&] {
      while (!is_over.load()) {
        const InCall call;
        if (const int* const now = role.load(std::memory_order_acquire))
          *now == 7 ? void(++count) : was_stale.store(true);
      }
    });
  for (int round = 0; round < 300; ++round) {
    auto made = std::make_unique<int>(7);
    role.store(made.get(), std::memory_order_release);
    const auto before = found[0].load();
    while (found[0].load() == before) std::this_thread::yield();
    role.store(nullptr, std::memory_order_release);
    ASSERT_TRUE(others_have_left(as_long_as_it_takes));
    *made = 0;
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(was_stale.load());
}

}  // namespace
}  // namespace weft::abi
