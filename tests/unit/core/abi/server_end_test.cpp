// SPDX-License-Identifier: BSD-3-Clause
// PMIx_server_finalize beside calls of other threads, and beside a loop that does not come back.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::abi {
namespace {

pmix_proc_t rank(pmix_rank_t number) {
  pmix_proc_t proc{};
  PMIX_LOAD_PROCID(&proc, "job", number);
  return proc;
}

/// A job of one rank, which never comes.
void register_job() {
  char *nodes = nullptr, *ranks = nullptr;
  ASSERT_EQ(PMIx_generate_regex("here", &nodes), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_generate_ppn("0", &ranks), PMIX_SUCCESS);
  std::uint32_t one = 1, here = 0;
  pmix_info_t infos[4];
  PMIX_INFO_LOAD(&infos[0], PMIX_NODE_MAP, nodes, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_PROC_MAP, ranks, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[2], PMIX_JOB_SIZE, &one, PMIX_UINT32);
  PMIX_INFO_LOAD(&infos[3], PMIX_NODEID, &here, PMIX_UINT32);
  const auto proc = rank(0);
  EXPECT_EQ(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  EXPECT_EQ(PMIx_server_register_nspace("job", 1, infos, 4, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  for (auto& info : infos) PMIX_INFO_DESTRUCT(&info);
  std::free(nodes);
  std::free(ranks);
}

/// The threads of this process that are loops of servers.
std::size_t count_loops() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    count += std::getline(file, name) && name == "weft-server";
  }
  return count;
}

/// The results of the calls of one thread.
struct Tally {
  std::atomic<std::uint64_t> asked{0}, answered{0};

  static void on_status(pmix_status_t status, void* self) {
    EXPECT_TRUE(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_INIT) << status;
    ++static_cast<Tally*>(self)->answered;
  }
  static void on_card(pmix_status_t status, char*, std::size_t, void* self) { on_status(status, self); }
  static void on_value(pmix_status_t status, pmix_value_t*, void* self) { on_status(status, self); }
  /// A call with a callback: either it failed and there is none, or there is one.
  void add(pmix_status_t status) {
    EXPECT_TRUE(status == PMIX_SUCCESS || status == PMIX_ERR_INIT) << status;
    if (status == PMIX_SUCCESS) ++asked;
  }
};

void call_in_all_ways(Tally& tally) {
  const auto none = rank(0), client = rank(1);
  const auto status = PMIx_server_register_client(&client, ::getuid(), ::getgid(), nullptr, nullptr, nullptr);
  EXPECT_TRUE(status == PMIX_OPERATION_SUCCEEDED || status == PMIX_ERR_INIT ||
              status == PMIX_ERR_OUT_OF_RESOURCE)  // the job has room for one
      << status;
  char** env = nullptr;
  const auto forked = PMIx_server_setup_fork(&none, &env);
  EXPECT_TRUE(forked == PMIX_SUCCESS || forked == PMIX_ERR_INIT) << forked;
  for (char** at = env; at != nullptr && *at != nullptr; ++at) std::free(*at);
  std::free(env);
  pmix_proc_t* procs = nullptr;
  std::size_t count = 0;
  if (PMIx_Resolve_peers(nullptr, "job", &procs, &count) == PMIX_SUCCESS) std::free(procs);
  tally.add(PMIx_server_dmodex_request(&none, Tally::on_card, &tally));  // it never commits
  tally.add(PMIx_Get_nb(&none, "key", nullptr, 0, Tally::on_value, &tally));
  ++tally.asked;  // of this one the callback says all
  PMIx_server_deregister_client(&client, Tally::on_status, &tally);
}

class ServerEnd : public ::testing::Test {
  testing::Watchdog watchdog_;
};

TEST_F(ServerEnd, calls_of_other_threads_end) {
  std::atomic<bool> is_over{false};
  std::vector<Tally> tallies(3);
  std::vector<std::thread> threads;
  for (auto& tally : tallies)
    threads.emplace_back([&] {
      while (!is_over) call_in_all_ways(tally);
    });
  threads.emplace_back([&] {
    const auto none = rank(0);
    while (!is_over) {
      pmix_value_t* value = nullptr;
      const auto status = PMIx_Get(&none, "key", nullptr, 0, &value);
      EXPECT_TRUE(status == PMIX_ERR_INIT || status == PMIX_ERR_NOT_FOUND)
          << status;  // while there is no job
    }
  });
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS);
    register_job();
    const auto asked = tallies[0].asked.load();
    while (tallies[0].asked < asked + 10) std::this_thread::yield();
    EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
    EXPECT_EQ(count_loops(), 0U);
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  for (const auto& tally : tallies) EXPECT_EQ(tally.asked, tally.answered) << "each callback came, once";
}

TEST_F(ServerEnd, a_slow_loop_is_waited_for) {
  struct Host {
    std::atomic<int> returned{0};
    static void stay(pmix_status_t, void* self) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      ++static_cast<Host*>(self)->returned;
    }
  } host;
  ASSERT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS);
  register_job();
  const auto proc = rank(0);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, Host::stay, &host),
              PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
  EXPECT_EQ(host.returned.load(), 3);
  EXPECT_EQ(count_loops(), 0U);
}

/// Standard error in a pipe.
class Errors {
 public:
  Errors() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe(ends_), 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~Errors() {
    ::dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) ::close(fd);
  }
  /// Reads until a line has come.
  std::string read_line() {
    std::string line;
    for (char byte; line.find('\n') == std::string::npos && ::read(ends_[0], &byte, 1) == 1;) line += byte;
    return line;
  }

 private:
  int before_;
  int ends_[2]{};
};

TEST_F(ServerEnd, a_callback_that_does_not_return) {
  struct Host {
    std::promise<void> is_in, may_return;
    static void stay(pmix_status_t, void* self) {
      static_cast<Host*>(self)->is_in.set_value();
      static_cast<Host*>(self)->may_return.get_future().wait();
    }
  } host;
  ASSERT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS);
  register_job();
  const auto proc = rank(0);
  EXPECT_EQ(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, Host::stay, &host),
            PMIX_SUCCESS);
  host.is_in.get_future().wait();
  std::thread waiting([&] {  // behind it
    EXPECT_EQ(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
              PMIX_ERR_INIT);
  });
  Errors errors;
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
  const auto line = errors.read_line();
  EXPECT_NE(line.find("the server does not end within 5 s: its loop is held up by a call of the host"),
            std::string::npos)
      << line;
  waiting.join();
  EXPECT_EQ(PMIx_Initialized(), 0);
  // The next one is not troubled by it.
  ASSERT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS);
  register_job();
  EXPECT_EQ(count_loops(), 2U);
  host.may_return.set_value();
  while (count_loops() != 1) std::this_thread::yield();
  EXPECT_EQ(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
  EXPECT_EQ(count_loops(), 0U);
}

}  // namespace
}  // namespace weft::abi
