// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/replies.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace weft::channel {
namespace {

class RepliesTest : public ::testing::Test {
 protected:
  Reply add() {
    return pending_->add([this](bool is_received) { ++(is_received ? sent_ : refused_); });
  }
  std::optional<PendingReplies> pending_{std::in_place};
  int sent_ = 0, refused_ = 0;
};

TEST_F(RepliesTest, a_call_sends_it_once) {
  const Reply reply = add();
  EXPECT_EQ(sent_, 0);
  reply();
  EXPECT_EQ(sent_, 1);
  reply();
  reply.refuse();
  pending_->refuse_all();
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(refused_, 0);
}

TEST_F(RepliesTest, a_refusal_is_the_reply) {
  const Reply reply = add();
  reply.refuse();
  EXPECT_EQ(refused_, 1);
  reply();
  EXPECT_EQ(sent_, 0);
}

TEST_F(RepliesTest, a_reply_that_is_thrown_away_is_sent) {
  { const Reply forgotten = add(); }
  EXPECT_EQ(sent_, 1);
}

TEST_F(RepliesTest, copies_are_one_reply) {
  std::function<void()> last;
  {
    const Reply first = add();
    last = first;
  }
  EXPECT_EQ(sent_, 0);
  last = nullptr;
  EXPECT_EQ(sent_, 1);
}

TEST_F(RepliesTest, the_end_refuses_what_is_pending) {
  const Reply first = add(), second = add();
  first();
  pending_.reset();
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(refused_, 1);
  second();
  EXPECT_EQ(sent_, 1);
  EXPECT_EQ(refused_, 1);
}

TEST_F(RepliesTest, an_empty_reply_does_nothing) {
  Reply{}();
  Reply{}.refuse();
  Reply moved = add();
  const Reply reply = std::move(moved);
  EXPECT_EQ(sent_, 0);
}

TEST_F(RepliesTest, a_reply_may_be_added_while_another_is_sent) {
  Reply next;
  pending_->add([&](bool) { next = add(); })();
  EXPECT_EQ(sent_, 0);
  next();
  EXPECT_EQ(sent_, 1);
}

TEST(RepliesThreads, each_is_sent_once) {
  constexpr int many = 2000;
  std::vector<std::atomic<int>> sent(many);
  {
    PendingReplies pending;
    std::vector<Reply> replies;
    for (auto& count : sent) replies.push_back(pending.add([&count](bool) { ++count; }));
    std::thread other([&pending] { pending.refuse_all(); });
    for (auto& reply : replies) reply();
    other.join();
  }
  for (const auto& count : sent) ASSERT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace weft::channel
