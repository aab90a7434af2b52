// SPDX-License-Identifier: BSD-3-Clause
// Processes of other users at a server's socket: which are let in, and that the others hold nothing up.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "core/link/messages.hpp"
#include "tests/unit/core/server/connections/server_here.hpp"

namespace weft::server {
namespace {

using link::MessageType;

constexpr uid_t another_user = 54321;  // of no account

class Strangers : public ServerHere {
 protected:
  /// A client of the other user may come.
  void expect_client() {
    std::promise<pmix_status_t> done;
    server_->registrations().register_client(link::make_proc("job", 0), {another_user, another_user, nullptr},
                                             [&](pmix_status_t status) { done.set_value(status); });
    EXPECT_EQ(done.get_future().get(), PMIX_SUCCESS);
  }
  /// Runs it in a process of the other user; what it returns is 0 where all was right.
  template <class Work>
  int as_another_user(Work&& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(another_user, another_user, another_user) != 0) ::_exit(99);
      ::_exit(work());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
  static bool can_become_another() { return ::getuid() == 0; }
  /// Waits until the server says something: true if it hangs up.
  static bool hangs_up(int socket) {
    char byte;
    return ::recv(socket, &byte, 1, 0) <= 0;
  }
  static bool is_open(int socket) {
    pollfd watch{socket, POLLIN, 0};
    return ::poll(&watch, 1, 0) == 0;
  }
  std::optional<link::Frame> say_hello() {
    auto socket = link::connect_to(name_);
    if (!socket) return std::nullopt;
    link::Hello hello;
    hello.nspace = "job";
    (void)link::send_frame(socket->get(), MessageType::hello, 0, link::encode(hello));
    auto frame = link::receive_frame(socket->get());
    return frame ? std::optional(std::move(*frame)) : std::nullopt;
  }
};

TEST_F(Strangers, are_hung_up_on_before_a_word_is_read) {
  if (!can_become_another()) GTEST_SKIP() << "only root can become another user";
  EXPECT_EQ(as_another_user([&] {
              const auto socket = link::connect_to(name_);
              if (!socket || !hangs_up(socket->get())) return 1;
              return say_hello() ? 2 : 0;  // which a client would get a reply to
            }),
            0);
}

TEST_F(Strangers, with_a_registered_client_are_read) {
  if (!can_become_another()) GTEST_SKIP() << "only root can become another user";
  expect_client();
  EXPECT_EQ(as_another_user([&] {
              const auto frame = say_hello();  // the namespace is not there yet
              return frame && frame->type == MessageType::refused ? 0 : 1;
            }),
            0);
}

TEST_F(Strangers, with_a_registered_client_are_no_tools) {
  if (!can_become_another()) GTEST_SKIP() << "only root can become another user";
  expect_client();
  EXPECT_EQ(as_another_user([&] {
              const auto socket = link::connect_to(name_);
              if (!socket) return 1;
              (void)link::send_frame(socket->get(), MessageType::hello_tool, 0,
                                     link::encode(link::HelloTool{}));
              const auto frame = link::receive_frame(socket->get());
              if (!frame || frame->type != MessageType::refused) return 2;
              const auto refused = link::decode<link::Refused>(frame->payload);
              return refused && refused->status == PMIX_ERR_NO_PERMISSIONS ? 0 : 3;
            }),
            0);
}

TEST_F(Strangers, that_say_nothing_are_as_many_as_may_come_and_64) {
  if (!can_become_another()) GTEST_SKIP() << "only root can become another user";
  expect_client();
  EXPECT_EQ(as_another_user([&] {
              std::vector<base::Fd> sockets;
              for (int i = 0; i < 70; ++i) {
                auto socket = link::connect_to(name_);
                if (!socket) return 1;
                sockets.push_back(std::move(*socket));
              }
              for (int i = 65; i < 70; ++i)
                if (!hangs_up(sockets[i].get())) return 2;
              for (int i = 0; i < 65; ++i)
                if (!is_open(sockets[i].get())) return 3;
              sockets.clear();
              for (;;)  // there is room again as soon as the server has seen it
                if (const auto frame = say_hello()) return frame->type == MessageType::refused ? 0 : 4;
            }),
            0);
}

TEST_F(Strangers, that_come_and_go_do_not_hold_up_an_end) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> comers;
  for (int i = 0; i < 3; ++i)
    comers.emplace_back([&] {
      // Where the server is gone they do not keep its thread from a core.
      while (!is_over.load())
        if (!link::connect_to(name_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  expect_client();
  std::promise<pmix_status_t> rank, nspace;
  server_->registrations().deregister_client(link::make_proc("job", 0),
                                             [&](pmix_status_t status) { rank.set_value(status); });
  EXPECT_EQ(rank.get_future().get(), PMIX_SUCCESS);
  server_->registrations().deregister_nspace("job", [&](pmix_status_t status) { nspace.set_value(status); });
  EXPECT_EQ(nspace.get_future().get(), PMIX_SUCCESS);
  server_.reset();
  is_over.store(true);
  for (auto& comer : comers) comer.join();
}

}  // namespace
}  // namespace weft::server
