// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/loop/off_loop.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

namespace weft::server {
namespace {

TEST(OffLoop, works_on_its_own_thread_and_brings_the_outcome_back) {
  asio::io_context io;
  Loop loop(io);
  OffLoop off_loop(loop, "weft-test");
  std::optional<std::thread::id> worked_on, came_back_on;
  ASSERT_TRUE(off_loop.run([] { return std::this_thread::get_id(); },
                           [&](const std::thread::id& of) {
                             worked_on = of;
                             came_back_on = std::this_thread::get_id();
                           }));
  while (!worked_on) {
    io.restart();
    io.poll();
  }
  EXPECT_NE(*worked_on, std::this_thread::get_id());
  EXPECT_EQ(*came_back_on, std::this_thread::get_id());
}

TEST(OffLoop, what_comes_back_after_its_end_has_no_effect) {
  asio::io_context io;
  Loop loop(io);
  const auto gate = std::make_shared<std::promise<void>>();
  const auto begun = std::make_shared<std::promise<void>>(), worked = std::make_shared<std::promise<void>>();
  bool has_come = false;
  {
    OffLoop off_loop(loop, "weft-test");
    ASSERT_TRUE(off_loop.run(
        [gate, begun, worked] {
          begun->set_value();
          gate->get_future().wait();
          worked->set_value();
          return 7;
        },
        [&has_come](int) { has_come = true; }));
    begun->get_future().wait();
  }
  gate->set_value();
  worked->get_future().wait();
  io.poll();
  EXPECT_FALSE(has_come);
}

}  // namespace
}  // namespace weft::server
