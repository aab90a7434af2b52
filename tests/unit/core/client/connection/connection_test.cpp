// SPDX-License-Identifier: BSD-3-Clause
// Requests of many threads over one socket: each has its answer, and frames take effect in their order,
// whichever thread has read them.
#include "core/client/connection/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace weft::client {
namespace {

using link::MessageType;

std::vector<std::byte> bytes_of(std::uint64_t number) {
  std::vector<std::byte> out(sizeof number);
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

std::uint64_t number_in(const link::Frame& frame) {
  std::uint64_t number = 0;
  if (frame.payload.size() == sizeof number) std::memcpy(&number, frame.payload.data(), sizeof number);
  return number;
}

/// Serves one client until that hangs up, or serve() says so.
class Server {
 public:
  /// serve: false: the server goes.
  using Serve = std::function<bool(Server& self, const link::Frame& request)>;
  explicit Server(Serve serve) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    mine_ = shm::Fd(ends[0]);
    client = shm::Fd(ends[1]);
    thread_ = std::thread([this, serve = std::move(serve)] {
      for (;;) {
        const auto frame = link::receive_frame(mine_.get());
        if (!frame || !serve(*this, *frame)) break;
      }
      ::shutdown(mine_.get(), SHUT_RDWR);
    });
  }
  ~Server() {
    ::shutdown(mine_.get(), SHUT_RDWR);
    thread_.join();
  }
  bool answer(const link::Frame& request) {
    return send(MessageType::answer, request.tag, number_in(request));
  }
  bool push(std::uint64_t number) { return send(MessageType::event, 0, number); }

  shm::Fd client;

 private:
  bool send(MessageType type, std::uint64_t tag, std::uint64_t number) {
    return link::send_frame(mine_.get(), type, tag, bytes_of(number)).has_value();
  }
  shm::Fd mine_;
  std::thread thread_;
};

Result<link::Frame> ask(Connection& connection, std::uint64_t number) {
  return connection.ask(MessageType::get, bytes_of(number));
}

constexpr int rounds = 2000;

TEST(Connection, each_thread_has_its_answers) {
  Server server([](Server& self, const link::Frame& request) { return self.answer(request); });
  Connection connection(std::move(server.client));
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&connection, t] {
      for (std::uint64_t i = 0; i < rounds / 4; ++i) {
        const auto answer = ask(connection, t << 32 | i);
        ASSERT_TRUE(answer);
        ASSERT_EQ(number_in(*answer), t << 32 | i);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(Connection, a_push_before_an_answer_has_taken_effect_when_the_call_returns) {
  Server server([](Server& self, const link::Frame& request) {
    const auto number = number_in(request);
    return (number % 3 == 0 || self.push(number)) && self.answer(request);
  });
  Connection connection(std::move(server.client));
  std::atomic<std::uint64_t> last{0};
  std::atomic<bool> is_on_thread{true};
  connection.on_push([&](const link::Frame& frame) {
    is_on_thread = is_on_thread && connection.on_thread();
    EXPECT_GT(number_in(frame), last.exchange(number_in(frame)));
  });
  for (std::uint64_t i = 1; i < rounds; ++i) {
    ASSERT_TRUE(ask(connection, i));
    ASSERT_EQ(last.load(), i % 3 == 0 ? i - 1 : i);
  }
  EXPECT_TRUE(is_on_thread);
}

TEST(Connection, pushes_come_in_their_order_while_threads_ask) {
  std::uint64_t pushed = 0;
  Server server([&pushed](Server& self, const link::Frame& request) {
    return self.push(++pushed) && self.answer(request) && self.push(++pushed);
  });
  Connection connection(std::move(server.client));
  std::atomic<std::uint64_t> seen{0};
  connection.on_push([&](const link::Frame& frame) { EXPECT_EQ(number_in(frame), ++seen); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&connection] {
      for (int i = 0; i < rounds / 4; ++i) ASSERT_TRUE(ask(connection, 7));
    });
  for (auto& thread : threads) thread.join();
  while (seen.load() != 2 * 3 * (rounds / 4)) std::this_thread::yield();
}

TEST(Connection, what_does_not_wait_hears_on_the_librarys_thread) {
  Server server([](Server& self, const link::Frame& request) { return self.answer(request); });
  Connection connection(std::move(server.client));
  std::atomic<int> heard{0};
  for (int i = 0; i < rounds / 4; ++i) {
    connection.request(MessageType::get, bytes_of(1), [&](const Result<link::Frame>& answer) {
      EXPECT_TRUE(answer);
      EXPECT_TRUE(connection.on_thread());
      ++heard;
    });
    ASSERT_TRUE(ask(connection, 2));
    ASSERT_EQ(heard, i + 1) << "its answer came first";
  }
}

TEST(Connection, the_thread_works_on_when_its_frame_has_been_read_by_another) {
  Server server([](Server& self, const link::Frame& request) { return self.answer(request); });
  Connection connection(std::move(server.client));
  for (int i = 0; i < 5 * rounds; ++i) {
    ASSERT_TRUE(ask(connection, 1));
    std::promise<void> has_run;
    connection.run_later([&] { has_run.set_value(); });
    has_run.get_future().wait();
  }
}

TEST(Connection, a_callback_asks_while_another_thread_does) {
  Server server([](Server& self, const link::Frame& request) {
    return self.push(number_in(request)) && self.answer(request);
  });
  Connection connection(std::move(server.client));
  std::atomic<int> asked{0};
  connection.on_push([&](const link::Frame& frame) {
    if (number_in(frame) == 0) return;  // of the callback's own
    EXPECT_TRUE(ask(connection, 0));
    ++asked;
  });
  for (int i = 0; i < rounds / 4; ++i) ASSERT_TRUE(ask(connection, 1));
  while (asked.load() != rounds / 4) std::this_thread::yield();
}

TEST(Connection, a_server_that_goes_is_told_of_once) {
  for (int i = 0; i < 50; ++i) {
    Server server([](Server& self, const link::Frame& request) {
      return number_in(request) != 9 && self.answer(request);
    });
    std::atomic<int> losses{0};
    Connection connection(std::move(server.client));
    connection.on_lost([&] { ++losses; });
    for (int n = 0; n < i; ++n) ASSERT_TRUE(ask(connection, 1));
    const auto answer = ask(connection, 9);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::peer_lost);
    EXPECT_FALSE(ask(connection, 1));
    while (losses == 0) std::this_thread::yield();
    EXPECT_FALSE(connection.alive());
    connection.stop();
    EXPECT_EQ(losses, 1);
  }
}

TEST(Connection, hanging_up_ends_a_wait) {
  std::atomic<bool> is_asked{false};
  Server server([&](Server&, const link::Frame&) { return is_asked = true; });
  Connection connection(std::move(server.client));
  std::thread asker([&] { EXPECT_FALSE(ask(connection, 1)); });
  while (!is_asked) std::this_thread::yield();
  connection.hang_up();
  asker.join();
}

TEST(Connection, its_end_ends_a_wait) {
  std::atomic<bool> is_asked{false};
  Server server([&](Server& self, const link::Frame& request) {
    if (number_in(request) == 1) return self.answer(request);
    return is_asked = true;
  });
  Connection connection(std::move(server.client));
  ASSERT_TRUE(ask(connection, 1));
  std::thread asker([&] {
    const auto answer = ask(connection, 2);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::canceled);
  });
  while (!is_asked) std::this_thread::yield();
  connection.stop();
  asker.join();
}

}  // namespace
}  // namespace weft::client
