// SPDX-License-Identifier: BSD-3-Clause
// Tools at the door of a server: which are let in, what a tool may say, and that its bytes harm no server.
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/link/requests.hpp"
#include "core/server/requests/requests.hpp"
#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using link::MessageType;

class Tools : public ServerHere {
 protected:
  /// The server's reply to this as the first message; nothing: it closes the connection.
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
  link::HelloTool hello;
  hello.wire = 99;
  const auto frame = first(MessageType::hello_tool, link::encode(hello));
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
TEST_F(Tools, may_not_say_what_is_for_members_of_a_job) {
  for (const auto type : {MessageType::nudge, MessageType::store, MessageType::fence, MessageType::withdraw,
                          MessageType::abort, MessageType::finalize, MessageType::fence_directives,
                          MessageType::turned_away, MessageType::group_verdict, MessageType::welcome,
                          MessageType::results, MessageType::answer, MessageType::output}) {
    ASSERT_TRUE(say_hello());
    EXPECT_FALSE(next(type, {})) << link::to_text(type);
  }
  EXPECT_TRUE(still_answers());
}

// Each message without its fields: it is refused or the connection ends.
TEST_F(Tools, may_say_nothing_that_makes_no_sense) {
  for (int type = 0; type < 60; ++type) {
    ASSERT_TRUE(say_hello());
    const auto frame = next(static_cast<MessageType>(type), {});
    if (!frame) continue;
    ASSERT_EQ(frame->type, MessageType::done) << type;
    const auto done = link::decode<link::Done>(frame->payload);
    const auto* const request = request_of(static_cast<MessageType>(type));
    ASSERT_NE(request, nullptr) << type;
    const bool is_for_members = request->senders == Senders::members_tools_refused;
    EXPECT_TRUE(done && done->status == (is_for_members ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_BAD_PARAM))
        << type;
  }
  EXPECT_TRUE(still_answers());
}

TEST_F(Tools, are_in_no_set_of_processes) {
  const auto welcome = say_hello();
  ASSERT_TRUE(welcome);
  const auto me = link::decode<link::Welcome>(welcome->payload)->tool;
  const auto frame = next(MessageType::connect, link::encode(link::Connect{{me}, {}}));
  ASSERT_TRUE(frame);
  const auto done = link::decode<link::Done>(frame->payload);
  EXPECT_TRUE(done && done->status == PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(Tools, have_names_of_their_own) {
  const auto refusal = [&](const link::HelloTool& hello) {
    const auto frame = first(MessageType::hello_tool, link::encode(hello));
    if (!frame || frame->type != MessageType::refused) return PMIX_SUCCESS;
    const auto refused = link::decode<link::Refused>(frame->payload);
    return refused ? refused->status : PMIX_SUCCESS;
  };
  link::HelloTool hello;
  hello.nspace = link::nspace_of(server_->self());
  EXPECT_EQ(refusal(hello), PMIX_ERR_EXISTS);
  hello.nspace = std::string(PMIX_MAX_NSLEN + 1, 'n');
  EXPECT_EQ(refusal(hello), PMIX_ERR_BAD_PARAM);
  hello.nspace = std::string("a\0b", 3);
  EXPECT_EQ(refusal(hello), PMIX_ERR_BAD_PARAM);
  hello.nspace = "mine";
  hello.rank = PMIX_RANK_WILDCARD;
  EXPECT_EQ(refusal(hello), PMIX_ERR_BAD_PARAM);
  hello.rank = 3;
  const auto frame = first(MessageType::hello_tool, link::encode(hello));
  ASSERT_TRUE(frame);
  const auto welcome = link::decode<link::Welcome>(frame->payload);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(link::nspace_of(welcome->tool), "mine");
  EXPECT_EQ(welcome->tool.rank, 3U);
}

TEST_F(Tools, that_only_look_are_told_a_name_and_no_more) {
  link::HelloTool hello;
  hello.only_looks = 1;
  const auto frame = first(MessageType::hello_tool, link::encode(hello));
  ASSERT_TRUE(frame);
  const auto welcome = link::decode<link::Welcome>(frame->payload);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->server_nspace, link::nspace_of(server_->self()));
  EXPECT_EQ(welcome->tool.nspace[0], '\0');
  EXPECT_FALSE(next(MessageType::query, link::encode(query({PMIX_QUERY_NAMESPACES}))));
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
