// SPDX-License-Identifier: BSD-3-Clause
// The server's side of one set: stand-ins that arrive for members, beside members that arrive by themselves.
#include "core/server/fences/fence_board.hpp"

#include <gtest/gtest.h>

#include "core/link/messages.hpp"
#include "core/server/connections/connection.hpp"

namespace weft::server {
namespace {

struct NoOwner final : ClientConnection::Owner {
  void on_frame(const ConnectionRef&, link::Frame) override {}
  void on_closed(const ConnectionRef&) override {}
};

class FenceBoardTest : public ::testing::Test {
 protected:
  static FenceBoard::Shape shape(std::uint32_t members, bool is_remote = false) {
    FenceBoard::Shape out{
        Participants({link::make_proc("job", 0), link::make_proc("job", 2)}), {}, is_remote};
    for (std::uint32_t i = 0; i < members; ++i) out.members.push_back({"job", 2 * i});
    return out;
  }
  ConnectionRef connection() {
    return std::make_shared<ClientConnection>(ClientConnection::Socket(loop_),
                                              static_cast<ClientConnection::Owner&>(owner_));
  }
  std::vector<FenceBoard::Reply> step(FenceBoard& fence) {
    std::vector<FenceBoard::Reply> ended;
    must_look_ = fence.step(ended);
    return ended;
  }

  asio::io_context loop_;
  NoOwner owner_;
  bool must_look_ = false;
};

TEST_F(FenceBoardTest, members_by_place) {
  FenceBoard fence(shape(3));
  EXPECT_EQ(fence.member_of("job", 4), 2u);
  EXPECT_FALSE(fence.member_of("job", 1));
  EXPECT_FALSE(fence.member_of("other", 0));
  EXPECT_FALSE(fence.is_pooled());
  EXPECT_FALSE(fence.is_of_job());
}

TEST_F(FenceBoardTest, stand_ins_complete_a_fence) {
  FenceBoard fence(shape(2));
  ASSERT_NE(fence.enter(0, connection(), 10, false), nullptr);
  EXPECT_TRUE(step(fence).empty());
  EXPECT_TRUE(fence.is_stood_in_for(0));
  EXPECT_TRUE(fence.has_arrived("job", 0, 1));
  EXPECT_FALSE(fence.has_arrived("job", 2, 1));
  ASSERT_NE(fence.enter(1, connection(), 11, false), nullptr);
  const auto ended = step(fence);
  ASSERT_EQ(ended.size(), 2u);
  for (const auto& reply : ended) {
    EXPECT_EQ(reply.status, PMIX_SUCCESS);
    EXPECT_TRUE(reply.is_last);
    EXPECT_EQ(reply.next, 2u);
    EXPECT_EQ(reply.tag, 10u + reply.member);
  }
  EXPECT_FALSE(fence.has_requests());
}

TEST_F(FenceBoardTest, requests_of_a_member_are_consecutive_fences) {
  FenceBoard fence(shape(2));
  const auto first = connection(), second = connection();
  for (const std::uint64_t tag : {1, 2, 3}) ASSERT_NE(fence.enter(0, first, tag, false), nullptr);
  ASSERT_NE(fence.enter(1, second, 4, false), nullptr);
  auto ended = step(fence);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_TRUE(fence.is_stood_in_for(0));
  EXPECT_EQ(fence.board().open_generation(), 2u);
  for (const auto& reply : ended) EXPECT_EQ(reply.is_last, reply.member == 1) << reply.tag;
  ASSERT_NE(fence.find(0, 2), nullptr);
  EXPECT_EQ(fence.find(0, 2)->tag, 2u);
  EXPECT_EQ(fence.find(0, 1), nullptr);
}

TEST_F(FenceBoardTest, a_member_at_the_board_itself_meets_a_stand_in) {
  FenceBoard fence(shape(2));
  store::BoardMember other(fence.board(), 1, 0, 1);
  auto entry = other.enter(true);
  ASSERT_TRUE(entry);
  EXPECT_FALSE(other.step(*entry).status);
  ASSERT_NE(fence.enter(0, connection(), 7, false), nullptr);
  ASSERT_EQ(step(fence).size(), 1u);
  EXPECT_EQ(other.step(*entry).status, PMIX_SUCCESS);
  EXPECT_TRUE(fence.wanted().collect) << "one member that asks for it is enough";
}

TEST_F(FenceBoardTest, of_a_set_that_spans_nodes_the_server_has_to_look) {
  FenceBoard fence(shape(1, true));
  ASSERT_NE(fence.enter(0, connection(), 7, false), nullptr);
  EXPECT_TRUE(step(fence).empty());
  EXPECT_TRUE(must_look_);
  EXPECT_TRUE(fence.is_full());
  ASSERT_TRUE(fence.board().complete(1));
  EXPECT_EQ(step(fence).size(), 1u);
}

TEST_F(FenceBoardTest, a_lost_member_ends_it_for_all) {
  FenceBoard fence(shape(3));
  ASSERT_NE(fence.enter(0, connection(), 1, false), nullptr);
  EXPECT_TRUE(step(fence).empty());
  fence.board().lose(2, PMIX_ERR_PROC_ABORTED);
  const auto ended = step(fence);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, PMIX_ERR_PROC_ABORTED);
}

TEST_F(FenceBoardTest, a_closed_connection_takes_its_requests_along) {
  FenceBoard fence(shape(2));
  const auto first = connection();
  ASSERT_NE(fence.enter(0, first, 1, false), nullptr);
  EXPECT_TRUE(step(fence).empty());
  fence.drop(*first);
  EXPECT_FALSE(fence.has_requests());
  fence.drop(*first);
}

TEST_F(FenceBoardTest, begins_where_the_member_was_told) {
  FenceBoard fence(shape(2));
  ASSERT_TRUE(fence.board().abort(1, {PMIX_ERR_TIMEOUT, 1}));
  fence.begin_at(0, 1);
  ASSERT_NE(fence.enter(0, connection(), 5, false), nullptr);
  const auto ended = step(fence);  // it was at the first fence, which has failed
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].status, PMIX_ERR_TIMEOUT);
}

}  // namespace
}  // namespace weft::server
