// SPDX-License-Identifier: BSD-3-Clause
// Every type of message, in its turn and out of it, with bodies that no library sends: from a process that
// has not said hello, from a client and from a tool. The server stays, and serves others.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>

#include "core/link/requests.hpp"
#include "core/server/connections/message_rules.hpp"
#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using link::MessageType;

constexpr int beyond_the_last = static_cast<int>(MessageType::group_change) + 10;

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
    server_->register_nspace("job", 2, std::move(infos),
                             [&](pmix_status_t status) { registered.set_value(status); });
    ASSERT_EQ(registered.get_future().get(), PMIX_SUCCESS);
    server_->register_client(me_, {::getuid(), ::getgid(), nullptr},
                             [&](pmix_status_t status) { known.set_value(status); });
    ASSERT_EQ(known.get_future().get(), PMIX_SUCCESS);
  }

  shm::Fd connect() { return std::move(*link::connect_to(name_)); }
  /// What the server replies to a hello: nothing, it hung up.
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
    EXPECT_EQ(server_->children().set_up(me_, &env), PMIX_SUCCESS);
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

TEST(MessageRules, servers_messages_are_nobodys) {
  for (const auto type : {MessageType::welcome, MessageType::value, MessageType::done, MessageType::event,
                          MessageType::answer, MessageType::group_change, MessageType{999}})
    EXPECT_EQ(rule_of(type).senders, MessageRule::Senders::nobody) << link::to_text(type);
}

}  // namespace
}  // namespace weft::server
