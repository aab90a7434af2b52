// SPDX-License-Identifier: BSD-3-Clause
// Every type of message, in its turn and out of it, with bodies that no library sends: from a process that
// has not said hello, from a client and from a tool. The server stays, and serves others.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <future>

#include "core/link/requests.hpp"
#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using link::MessageType;

constexpr int beyond_the_last = static_cast<int>(MessageType::guest_taken) + 10;

/// Nothing, zeros (which are a whole message of many a type), and noise.
std::vector<std::vector<std::byte>> bodies() {
  std::vector<std::vector<std::byte>> out;
  for (std::size_t size = 0; size <= 40; ++size) out.emplace_back(size);
  std::uint32_t noise = 1;
  for (const std::size_t size : {1, 8, 12, 64, 300}) {
    auto& body = out.emplace_back(size);
    for (auto& byte : body) byte = static_cast<std::byte>((noise = noise * 1664525 + 1013904223) >> 24);
  }
  return out;
}

class Messages : public ServerHere {
 protected:
  void SetUp() override {
    ServerHere::SetUp();
    data::Infos infos;
    infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{2}));
    std::promise<pmix_status_t> registered, known;
    server_->registrations().register_nspace("job", 2, std::move(infos),
                                             [&](pmix_status_t status) { registered.set_value(status); });
    ASSERT_EQ(registered.get_future().get(), PMIX_SUCCESS);
    server_->registrations().register_client(me_, {::getuid(), ::getgid(), nullptr},
                                             [&](pmix_status_t status) { known.set_value(status); });
    ASSERT_EQ(known.get_future().get(), PMIX_SUCCESS);
  }

  /// A reply that does not come is a failure, and no hang.
  shm::Fd connect() {
    auto socket = std::move(*link::connect_to(name_));
    const timeval watchdog{60, 0};
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &watchdog, sizeof watchdog);
    return socket;
  }
  /// Whether the server replies to a hello with a welcome; without a reply it has closed the connection.
  static bool is_welcome(const shm::Fd& socket) {
    const auto frame = link::receive_frame(socket.get());
    return frame && frame->type == MessageType::welcome;
  }
  shm::Fd tool() {
    auto socket = connect();
    (void)link::send_frame(socket.get(), MessageType::hello_tool, 0, link::encode(link::HelloTool{}));
    EXPECT_TRUE(is_welcome(socket));
    return socket;
  }
  /// Rank 0, when the last one that was has gone.
  shm::Fd client() {
    for (;;) {
      auto socket = connect();
      (void)link::send_frame(socket.get(), MessageType::hello, 0, link::encode(hello()));
      if (is_welcome(socket)) return socket;
    }
  }
  link::Hello hello() {
    char** env = nullptr;
    EXPECT_EQ(server_->launch().children().set_up(me_, &env), PMIX_SUCCESS);
    link::Hello out;
    out.nspace = "job";
    for (char** each = env; *each != nullptr; ++each) {
      const std::string_view line = *each, name = "WEFT_TOKEN=";
      if (line.starts_with(name)) out.token = *link::Token::parse(line.substr(name.size()));
      std::free(*each);
    }
    std::free(env);
    return out;
  }
  /// Writes all and goes; when it returns the server has read it all, or has hung up.
  static void say_and_go(const shm::Fd& socket, MessageType type, const std::vector<std::byte>& body) {
    const auto frame = link::make_frame(type, 7, body);
    (void)::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
    (void)::shutdown(socket.get(), SHUT_WR);
    std::array<std::byte, 4096> replies;
    while (::recv(socket.get(), replies.data(), replies.size(), 0) > 0) {
    }
  }
  void expect_to_serve() { (void)tool(); }

  const pmix_proc_t me_ = link::make_proc("job", 0);
};

TEST_F(Messages, of_a_process_that_has_not_said_hello) {
  for (int type = 0; type < beyond_the_last; ++type)
    for (const auto& body : bodies()) say_and_go(connect(), static_cast<MessageType>(type), body);
  expect_to_serve();
}

TEST_F(Messages, of_a_tool) {
  for (int type = 0; type < beyond_the_last; ++type)
    for (const auto& body : bodies()) say_and_go(tool(), static_cast<MessageType>(type), body);
  expect_to_serve();
}

TEST_F(Messages, of_a_client) {
  for (int type = 0; type < beyond_the_last; ++type)
    for (const auto& body : bodies()) say_and_go(client(), static_cast<MessageType>(type), body);
  expect_to_serve();
}

/// Sends it again and again, and reads what is answered, which is no more than the refusals.
std::size_t refused_of(const shm::Fd& socket, MessageType type, const std::vector<std::byte>& body,
                       std::size_t sent, std::size_t refused) {
  for (std::uint64_t tag = 1; tag <= sent; ++tag) (void)link::send_frame(socket.get(), type, tag, body);
  std::size_t out = 0;
  while (out < refused) {
    const auto frame = link::receive_frame(socket.get());
    if (!frame || frame->type != MessageType::done) return 0;
    const auto done = link::decode<link::Done>(frame->payload);
    if (!done || done->status != PMIX_ERR_OUT_OF_RESOURCE) return 0;
    ++out;
  }
  return out;
}

TEST_F(Messages, a_client_has_a_bounded_number_of_requests_open) {
  const link::Get get{link::make_proc("job", 1), "is.never.put", {}};
  for (int life = 0; life < 3; ++life) {  // what a client leaves open goes with it
    const auto rank = client();
    EXPECT_EQ(refused_of(rank, MessageType::get, link::encode(get), OpenRequests::most + 50, 50), 50u);
    EXPECT_TRUE(link::send_frame(rank.get(), MessageType::query, 5000, {}));
    const auto frame = link::receive_frame(rank.get());
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->tag, 5000u) << "and nothing else has been answered";
  }
}

TEST_F(Messages, invitations_and_bootstraps_have_the_same_bound) {
  const std::vector<pmix_proc_t> both{me_, link::make_proc("job", 1)};
  const auto rank = client();
  std::uint64_t tag = 0;
  const auto say = [&](MessageType type, const std::vector<std::byte>& body) {
    EXPECT_TRUE(link::send_frame(rank.get(), type, ++tag, body));
  };
  const auto construct = [&] {
    say(MessageType::group_construct,
        link::encode(link::GroupConstruct{"boot" + std::to_string(tag), {}, {}}));
  };
  for (std::size_t i = 0; i < OpenRequests::most / 2; ++i) {
    say(MessageType::group_invite, link::encode(link::GroupInvite{"group" + std::to_string(tag), both, {}}));
    construct();
  }
  for (int refused = 0; refused < 20; ++refused) construct();
  for (std::uint64_t of = OpenRequests::most + 1; of <= tag; ++of) {
    const auto frame = link::receive_frame(rank.get());
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->tag, of);
    const auto done = link::decode<link::Done>(frame->payload);
    EXPECT_TRUE(done && done->status == PMIX_ERR_OUT_OF_RESOURCE);
  }
}

TEST_F(Messages, a_client_has_a_bounded_number_of_bytes_open) {
  link::Get get{link::make_proc("job", 1), "is.never.put", {}};
  get.directives.add("large", data::Value::of(std::string(std::size_t{100} << 10, 'x')));
  const auto rank = client();
  EXPECT_EQ(refused_of(rank, MessageType::get, link::encode(get), 20, 10), 10u);
}

TEST_F(Messages, what_members_give_to_a_group_leaves_room_for_other_requests) {
  link::GroupConstruct construct{"large", {link::make_proc("job", 0), link::make_proc("job", 1)}, {}};
  construct.directives.add(PMIX_GROUP_INFO, data::Value::of(std::string(std::size_t{8} << 20, 'x')));
  const auto rank = client();
  ASSERT_TRUE(link::send_frame(rank.get(), MessageType::group_construct, 1000, link::encode(construct)));
  EXPECT_TRUE(link::send_frame(rank.get(), MessageType::query, 7, {}));
  const auto frame = link::receive_frame(rank.get());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->tag, 7u);
  const auto done = link::decode<link::Done>(frame->payload);
  EXPECT_TRUE(done && done->status == PMIX_ERR_BAD_PARAM) << "it was looked at";
}

TEST_F(Messages, without_a_tag_count_and_are_not_answered) {
  const link::Get get{link::make_proc("job", 1), "is.never.put", {}};
  const auto rank = client();
  for (std::size_t i = 0; i < OpenRequests::most; ++i)
    EXPECT_TRUE(link::send_frame(rank.get(), MessageType::get, 0, link::encode(get)));
  EXPECT_EQ(refused_of(rank, MessageType::get, link::encode(get), 3, 3), 3u);
}

TEST_F(Messages, without_a_tag_that_have_ended_count_no_more) {
  const auto socket = tool();
  for (std::size_t i = 0; i < 2 * OpenRequests::most; ++i)
    EXPECT_TRUE(link::send_frame(socket.get(), MessageType::query, 0, {}));
  EXPECT_TRUE(link::send_frame(socket.get(), MessageType::query, 7, {}));
  const auto frame = link::receive_frame(socket.get());
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->tag, 7u);
  const auto done = link::decode<link::Done>(frame->payload);
  EXPECT_TRUE(done && done->status == PMIX_ERR_BAD_PARAM);
}

TEST_F(Messages, of_a_tag_that_is_open_end_the_connection) {
  const link::Get get{link::make_proc("job", 1), "is.never.put", {}};
  const auto rank = client();
  for (int i = 0; i < 2; ++i) (void)link::send_frame(rank.get(), MessageType::get, 1, link::encode(get));
  EXPECT_FALSE(link::receive_frame(rank.get()));
}

TEST(OpenRequests, are_counted_until_their_reply) {
  using Outcome = OpenRequests::Outcome;
  OpenRequests open;
  EXPECT_EQ(open.take(MessageType::get, 1, 5000, 1000), Outcome::taken) << "one alone may be longer";
  EXPECT_EQ(open.take(MessageType::get, 2, 1, 1000), Outcome::full);
  EXPECT_EQ(open.take(MessageType::get, 1, 1, 1000), Outcome::repeated);
  EXPECT_FALSE(open.last());
  open.give_back(1);
  open.give_back(1);
  ASSERT_TRUE(open.last());
  EXPECT_EQ(open.last()->type, MessageType::get);
  EXPECT_EQ(open.bytes(), 0u);
  EXPECT_EQ(open.take(MessageType::get, 3, 400, 1000), Outcome::taken);
  EXPECT_EQ(open.take(MessageType::get, 4, 600, 1000), Outcome::taken);
  EXPECT_EQ(open.take(MessageType::get, 5, 1, 1000), Outcome::full);
  open.give_back(4);
  EXPECT_EQ(open.take(MessageType::get, 5, 600, 1000), Outcome::taken);
  for (std::uint64_t tag = 10; tag < 10 + OpenRequests::most - 2; ++tag)
    EXPECT_EQ(open.take(MessageType::get, tag, 0, 1000), Outcome::taken);
  EXPECT_EQ(open.take(MessageType::get, 9, 0, 1000), Outcome::full);
  EXPECT_EQ(open.count(), OpenRequests::most);
}

}  // namespace
}  // namespace weft::server
