// SPDX-License-Identifier: BSD-3-Clause
// Tools at the door of a server: which are let in, what a tool may say, and that its bytes harm no server.
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/link/messages.hpp"
#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using link::MessageType;

class Tools : public ServerHere {
 protected:
  /// What the server says to this as the first message; nothing: it hangs up.
  std::optional<link::Frame> first(MessageType type, const std::vector<std::byte>& payload) {
    socket_ = std::move(*link::connect_to(name_));
    return next(type, payload);
  }
  std::optional<link::Frame> next(MessageType type, const std::vector<std::byte>& payload) {
    (void)link::send_frame(socket_.get(), type, 3, payload);
    auto frame = link::receive_frame(socket_.get());
    if (!frame) return std::nullopt;
    return std::move(*frame);
  }
  std::optional<link::Frame> say_hello() {
    return first(MessageType::hello_tool, link::encode(link::HelloTool{}));
  }
  static link::Query query(std::vector<std::string> keys) {
    link::Query out;
    out.items.push_back({std::move(keys), {}});
    return out;
  }
  bool still_answers() {
    return say_hello() && next(MessageType::query, link::encode(query({PMIX_QUERY_NAMESPACES})));
  }

  shm::Fd socket_;
};

TEST_F(Tools, are_welcomed_by_name) {
  const auto frame = say_hello();
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->type, MessageType::welcome);
  const auto welcome = link::decode<link::Welcome>(frame->payload);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->segment_bytes, 0U) << "an observer gets no memory";
  EXPECT_EQ(welcome->server_nspace, link::nspace_of(server_->self()));
}

TEST_F(Tools, get_a_report) {
  ASSERT_TRUE(say_hello());
  const auto frame = next(MessageType::query, link::encode(query({report_key, "nobody.knows"})));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, MessageType::results);
  EXPECT_EQ(frame->tag, 3U);
  const auto answer = link::decode<link::QueryAnswer>(frame->payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, PMIX_ERR_PARTIAL_SUCCESS);
  ASSERT_NE(answer->results.find(report_key), nullptr);
  EXPECT_EQ(answer->results.find(report_key)->value.type, PMIX_DATA_ARRAY);
}

TEST_F(Tools, of_another_version_hear_which_one_is_spoken_here) {
  const auto frame = first(MessageType::hello_tool, link::encode(link::HelloTool{99}));
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->type, MessageType::refused);
  const auto refused = link::decode<link::Refused>(frame->payload);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, PMIX_ERR_NOT_SUPPORTED);
  EXPECT_NE(refused->reason.find("version 99"), std::string::npos) << refused->reason;
}

TEST_F(Tools, that_say_more_than_a_hello_are_refused) {
  auto bytes = link::encode(link::HelloTool{});
  bytes.push_back(std::byte{1});
  const auto frame = first(MessageType::hello_tool, bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, MessageType::refused);
  EXPECT_FALSE(first(MessageType::hello_tool, std::vector<std::byte>(5000))) << "no hello is as long";
  EXPECT_TRUE(still_answers());
}

TEST_F(Tools, may_not_speak_before_their_hello) {
  EXPECT_FALSE(first(MessageType::query, link::encode(query({report_key}))));
  EXPECT_TRUE(still_answers());
}

// A tool has no job: what only members may say must not be looked at for one.
TEST_F(Tools, may_ask_and_nothing_else) {
  for (int type = 0; type < 40; ++type) {
    if (static_cast<MessageType>(type) == MessageType::query) continue;
    ASSERT_TRUE(say_hello());
    EXPECT_FALSE(next(static_cast<MessageType>(type), {})) << type;
  }
  EXPECT_TRUE(still_answers());
}

TEST_F(Tools, ask_in_words_that_make_no_sense) {
  ASSERT_TRUE(say_hello());
  const auto frame = next(MessageType::query, std::vector<std::byte>(3));
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->type, MessageType::done);
  EXPECT_TRUE(next(MessageType::query, link::encode(query({PMIX_QUERY_NAMESPACES})))) << "and may go on";
}

TEST_F(Tools, do_not_hold_up_the_servers_end) {
  ASSERT_TRUE(say_hello());
  server_.reset();
  EXPECT_FALSE(link::receive_frame(socket_.get()));
}

}  // namespace
}  // namespace weft::server
