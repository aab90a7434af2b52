// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/requests/requests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/server/requests/chapters.hpp"

namespace weft::server {
namespace {

using link::MessageType;

/// Of the server, or of a process that has said nothing yet.
constexpr MessageType others[] = {
    MessageType::hello,          MessageType::hello_tool,   MessageType::welcome,
    MessageType::refused,        MessageType::value,        MessageType::done,
    MessageType::board_moved,    MessageType::event,        MessageType::results,
    MessageType::board_offer,    MessageType::answer,       MessageType::output,
    MessageType::group_question, MessageType::group_change, MessageType::guest_reply,
    MessageType::guest_taken};

TEST(RequestTable, has_each_message_of_a_client_and_no_other) {
  for (std::uint16_t number = 1; link::to_text(MessageType{number}) != "unknown"; ++number) {
    const MessageType type{number};
    const bool is_of_client = std::find(std::begin(others), std::end(others), type) == std::end(others);
    const auto* const request = request_of(type);
    EXPECT_EQ(request != nullptr, is_of_client) << link::to_text(type);
    EXPECT_TRUE(request == nullptr || request->type == type) << link::to_text(type);
  }
}

TEST(RequestTable, knows_no_number_beyond_the_last) {
  for (const std::uint16_t number : {0, 63, 64, 999, 65535})
    EXPECT_EQ(request_of(MessageType{number}), nullptr);
}

TEST(RequestTable, has_no_message_twice) {
  std::set<MessageType> types;
  for (const auto& chapter :
       {data_access_requests(), publish_requests(), process_requests(), job_requests(), event_requests(),
        group_requests(), fabric_requests(), security_requests(), standard_io_requests()})
    for (const auto& request : chapter)
      EXPECT_TRUE(types.insert(request.type).second) << link::to_text(request.type);
}

// What a client keeps open at its server is bounded by the requests that wait for a reply.
TEST(RequestTable, counts_what_is_replied_to_later) {
  for (const auto type :
       {MessageType::get, MessageType::fence, MessageType::publish, MessageType::group_join})
    EXPECT_EQ(request_of(type)->reply, Reply::later) << link::to_text(type);
  for (const auto type : {MessageType::store, MessageType::nudge, MessageType::withdraw})
    EXPECT_EQ(request_of(type)->reply, Reply::none) << link::to_text(type);
}

}  // namespace
}  // namespace weft::server
