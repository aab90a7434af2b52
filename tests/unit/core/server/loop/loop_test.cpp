// SPDX-License-Identifier: BSD-3-Clause
// The loop of a server: work of which there is always more holds nothing else up.
#include <atomic>
#include <functional>

#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using ServerLoop = ServerHere;

TEST_F(ServerLoop, work_without_end_does_not_hold_up_an_end) {
  std::atomic<bool> has_begun{false};
  std::function<void()> again = [&] {
    has_begun.store(true);
    server_->run_later(again);
  };
  server_->run_later(again);
  while (!has_begun.load()) std::this_thread::yield();
  EXPECT_TRUE(server_->stop());
}

}  // namespace
}  // namespace weft::server
