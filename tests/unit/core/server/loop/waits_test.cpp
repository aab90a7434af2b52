// SPDX-License-Identifier: BSD-3-Clause
// What becomes of calls of the host that the server does not come to.
#include "core/server/loop/waits.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace weft::server {
namespace {

constexpr std::chrono::hours a_while{1};

TEST(Waits, end_with_their_answer) {
  Waits waits;
  const auto first = Waits::make(), second = Waits::make();
  EXPECT_EQ(waits.look(first), std::nullopt);
  std::thread loop([&] { waits.answer(second, PMIX_ERR_NOT_FOUND); });
  EXPECT_EQ(waits.wait_for(second, a_while), PMIX_ERR_NOT_FOUND);
  loop.join();
  EXPECT_EQ(waits.look(first), std::nullopt);
}

TEST(Waits, end_with_the_server) {
  Waits waits;
  const auto open = Waits::make(), answered = Waits::make();
  waits.answer(answered, PMIX_SUCCESS);
  std::thread end([&] { waits.close(); });
  EXPECT_EQ(waits.wait_for(open, a_while), PMIX_ERR_INIT);
  EXPECT_EQ(waits.wait_for(answered, a_while), PMIX_SUCCESS);
  end.join();
  EXPECT_EQ(waits.wait_for(Waits::make(), a_while), PMIX_ERR_INIT) << "that begins afterwards";
  waits.answer(open, PMIX_SUCCESS);  // comes late
  EXPECT_EQ(waits.wait_for(open, a_while), PMIX_SUCCESS);
}

TEST(AnsweredOnce, calls_for_the_task_that_was_dropped) {
  int calls = 0;
  pmix_status_t last = PMIX_SUCCESS;
  const std::function<void(pmix_status_t, std::string)> reply = [&](pmix_status_t status,
                                                                    const std::string& text) {
    ++calls;
    last = status;
    EXPECT_EQ(text, status == PMIX_SUCCESS ? "found" : "");
  };
  {
    const auto sure = answered_once(reply);
    const auto copy = sure;
    copy(PMIX_SUCCESS, "found");
    sure(PMIX_SUCCESS, "found");
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(last, PMIX_SUCCESS);
  { const auto dropped = answered_once(reply); }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(last, PMIX_ERR_INIT);
}

}  // namespace
}  // namespace weft::server
