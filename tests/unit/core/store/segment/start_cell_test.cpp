// SPDX-License-Identifier: BSD-3-Clause
// The first call of its kind is noted, and no other.
#include "core/store/segment/start_cell.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace weft::store {
namespace {

TEST(FirstCallTest, notes_the_first_and_no_other) {
  FirstCall call;
  EXPECT_EQ(call.begun(), 0u);
  {
    const FirstCallScope first(&call);
    EXPECT_NE(call.begun(), 0u);
    EXPECT_EQ(call.ended(), 0u);
    const FirstCallScope inner(&call);
  }
  const auto begun = call.begun(), ended = call.ended();
  EXPECT_GE(ended, begun);
  { const FirstCallScope second(&call); }
  EXPECT_EQ(call.begun(), begun);
  EXPECT_EQ(call.ended(), ended);
}

TEST(FirstCallTest, without_a_cell_nothing_is_noted) {
  const FirstCallScope none(nullptr);
}

TEST(FirstCallTest, one_of_several_threads_is_the_first) {
  FirstCall call;
  std::atomic<int> first{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      if (!call.begin()) return;
      ++first;
      call.end();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(first, 1);
  EXPECT_GE(call.ended(), call.begun());
}

}  // namespace
}  // namespace weft::store
