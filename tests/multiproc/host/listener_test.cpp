// SPDX-License-Identifier: BSD-3-Clause
// A host that accepts the processes that connect to its server (the upcall `listener`).
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

/// The host's thread: it watches the socket and hands what it accepts to the library.
struct HostListening {
  pmix_status_t answer = PMIX_SUCCESS;
  std::atomic<int> socket{-1};
  std::atomic<int> accepted{0};
  std::atomic<bool> is_over{false};
  pmix_connection_cbfunc_t hand_over = nullptr;
  void* open = nullptr;
  std::thread thread;

  pmix_status_t start(int listening, pmix_connection_cbfunc_t cbfunc, void* cbdata) {
    socket = listening;
    hand_over = cbfunc;
    open = cbdata;
    if (answer != PMIX_SUCCESS) return answer;
    thread = std::thread([this] {
      while (!is_over) {
        pollfd watch{socket, POLLIN, 0};
        if (::poll(&watch, 1, 1) != 1) continue;
        const int fd = ::accept(socket, nullptr, nullptr);
        if (fd < 0) continue;
        ++accepted;
        hand_over(fd, open);
      }
    });
    return PMIX_SUCCESS;
  }
  void stop() {
    is_over = true;
    if (thread.joinable()) thread.join();
  }
  ~HostListening() { stop(); }
};
HostListening* listening = nullptr;  // the module's functions carry no context

class ListenerTest : public Multiproc {
 protected:
  void SetUp() override {
    Multiproc::SetUp();
    listening = &listening_;
  }
  static Upcalls upcalls() {
    Upcalls out;
    out.others = [](pmix_server_module_t& module) {
      module.listener = [](int socket, pmix_connection_cbfunc_t cbfunc, void* cbdata) {
        return listening->start(socket, cbfunc, cbdata);
      };
    };
    return out;
  }
  HostListening listening_;
};

int connects_and_ends(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

TEST_F(ListenerTest, the_host_accepts_the_clients) {
  {
    Host host(upcalls());
    EXPECT_NE(::fcntl(listening_.socket, F_GETFL) & O_NONBLOCK, 0);
    host.add_job("accepts", 3);
    auto clients = host.start_all("accepts", 3, "connects_and_ends");
    expect_success(clients);
    EXPECT_EQ(listening_.accepted, 3);
    // A socket that is none, and none at all.
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    listening_.hand_over(ends[0], listening_.open);
    listening_.hand_over(-1, listening_.open);
    EXPECT_TRUE(eventually([&] { return ::fcntl(ends[0], F_GETFD) == -1; })) << "the library closes it";
    ::close(ends[1]);
    listening_.stop();
  }
  // The server has gone: what the host still brings is closed.
  int pair[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  listening_.hand_over(pair[0], listening_.open);
  char byte = 0;
  EXPECT_EQ(::read(pair[1], &byte, 1), 0);
  ::close(pair[1]);
}

TEST_F(ListenerTest, a_host_that_refuses_leaves_it_to_the_server) {
  for (const auto status : {PMIX_ERR_NOT_SUPPORTED, PMIX_ERROR}) {
    listening_.answer = status;
    Host host(upcalls());
    EXPECT_GE(listening_.socket, 0);
    host.add_job("refuses", 2);
    auto clients = host.start_all("refuses", 2, "connects_and_ends");
    expect_success(clients);
    EXPECT_EQ(listening_.accepted, 0);
  }
}

}  // namespace

void add_listener_programs(Programs& programs) {
  programs.add("connects_and_ends", connects_and_ends);
}

}  // namespace weft::test
