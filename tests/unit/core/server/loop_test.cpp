// SPDX-License-Identifier: BSD-3-Clause
// The loop of a server: work of which there is always more holds nothing else up.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "core/server/server.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::server {
namespace {

TEST(ServerLoop, work_without_end_does_not_hold_up_an_end) {
  testing::Watchdog watchdog;
  auto started = Server::start(nullptr, nullptr, 0);
  ASSERT_TRUE(started);
  const auto server = std::move(*started);
  std::atomic<bool> has_begun{false};
  std::function<void()> again = [&] {
    has_begun.store(true);
    server->run_later(again);
  };
  server->run_later(again);
  while (!has_begun.load()) std::this_thread::yield();
  EXPECT_TRUE(server->stop());
}

}  // namespace
}  // namespace weft::server
