// SPDX-License-Identifier: BSD-3-Clause
// Whole servers: their thread serves the fabric besides all else.
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "core/server/server.hpp"
#include "core/server/session.hpp"

namespace weft::server {
namespace {

struct Node {
  std::unique_ptr<Server> server;
  Fabric* fabric = nullptr;
  std::string note;

  void start(const mesh::JobKey& key, mesh::NodeNumber self) {
    auto started = Server::start(nullptr, nullptr, 0);
    ASSERT_TRUE(started) << started.error().what;
    server = std::move(*started);
    std::promise<void> opened;
    server->open_fabric(key, {self, 1}, 2, [&](Fabric* found, const std::string& why) {
      fabric = found;
      note = why;
      opened.set_value();
    });
    opened.get_future().wait();
  }
  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    server->run_later([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
};

struct Waiting : mesh::Sending {
  std::promise<bool> ended;
};

TEST(ServerFabric, a_message_from_server_to_server) {
  ASSERT_EQ(::setenv("WEFT_TRANSPORT", "shm", 1), 0);
  const auto key = mesh::JobKey::random();
  Waiting sending;  // both outlive the servers
  std::promise<std::string> heard;
  Node a, b;
  a.start(key, 0);
  b.start(key, 1);
  ASSERT_NE(a.fabric, nullptr) << a.note;
  ASSERT_NE(b.fabric, nullptr) << b.note;
  mesh::Contact of_b;
  b.on_loop([&] {
    of_b = b.fabric->mesh().contact();
    ASSERT_TRUE(b.fabric->mesh().expect(0));
    b.fabric->mesh().on(
        1,
        [](void* self, mesh::NodeNumber, Bytes, Bytes payload) noexcept {
          static_cast<std::promise<std::string>*>(self)->set_value(std::string(as_text(payload)));
        },
        &heard);
  });
  sending.done = [](mesh::Work& work, Result<void> outcome) noexcept {
    static_cast<Waiting&>(static_cast<mesh::Sending&>(work)).ended.set_value(outcome.has_value());
  };
  a.on_loop([&] {
    ASSERT_TRUE(a.fabric->mesh().enter(1, of_b));
    ASSERT_TRUE(a.fabric->mesh().send(1, 1, {}, as_bytes("from server to server"), sending));
  });
  auto text = heard.get_future();
  ASSERT_EQ(text.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(text.get(), "from server to server");
  auto ended = sending.ended.get_future();
  ASSERT_EQ(ended.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_TRUE(ended.get());
  ::unsetenv("WEFT_TRANSPORT");
}

TEST(ServerFabric, without_a_transport_the_server_goes_on_and_says_why) {
  ASSERT_EQ(::setenv("WEFT_TRANSPORT", "warp", 1), 0);
  Node a;
  a.start(mesh::JobKey::random(), 0);
  EXPECT_EQ(a.fabric, nullptr);
  EXPECT_NE(a.note.find("warp"), std::string::npos) << a.note;
  bool served = false;
  a.on_loop([&] { served = true; });
  EXPECT_TRUE(served);
  ::unsetenv("WEFT_TRANSPORT");
}

}  // namespace
}  // namespace weft::server
