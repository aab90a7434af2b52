// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/grace_timer.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::weftrun {
namespace {

using std::chrono::milliseconds;

TEST(GraceTimer, the_handler_of_the_last_start_runs) {
  asio::io_context loop;
  GraceTimer timer(loop);
  int first = 0, second = 0;
  timer.start(milliseconds(0), [&] { ++first; });
  timer.start(milliseconds(0), [&] { ++second; });
  loop.run();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(GraceTimer, a_cancelled_start_has_no_effect) {
  asio::io_context loop;
  GraceTimer timer(loop);
  int calls = 0;
  timer.start(milliseconds(0), [&] { ++calls; });
  timer.cancel();
  loop.run();
  EXPECT_EQ(calls, 0);
}

TEST(GraceTimer, a_handler_that_is_due_already_can_be_cancelled) {
  asio::io_context loop;
  GraceTimer timer(loop);
  asio::steady_timer other(loop, milliseconds(0));
  int calls = 0;
  other.async_wait(
      [&](const asio::error_code&) { timer.cancel(); });  // due at the same time, and queued before
  timer.start(milliseconds(0), [&] { ++calls; });
  loop.run();
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace weft::weftrun
