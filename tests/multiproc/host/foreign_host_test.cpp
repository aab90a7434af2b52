// SPDX-License-Identifier: BSD-3-Clause
// Hosts with locks, threads and forked children of their own, of which the library knows nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

int comes_and_goes(const Words&) {
  Client client;
  client.finalize();
  return 0;
}

/// A rank of a job of two nodes, of which the host is one: reads its server's URI, a card, fences with data,
/// and gets a key of the rank that is elsewhere.
int half_of_a_job(const Words&) {
  Client client;
  say(get(client.job, PMIX_SERVER_URI).text());
  check_status(put("card", std::uint64_t{7}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_equal(get(client.me, "card").u64(), 7);
  check_status(get(client.peer(1), "card").status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

Infos two_nodes() {
  Infos infos;
  infos.number(PMIX_JOB_SIZE, 2).number(PMIX_NUM_NODES, 2).number(PMIX_NODEID, 0);
  infos.text(PMIX_NODE_MAP, "first,second").text(PMIX_PROC_MAP, "0;1");
  return infos;
}

/// What PMIx_server_setup_fork says in a child that this process forks.
Variables variables_of_a_forked_child(const pmix_proc_t& proc) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(static_cast<unsigned>(patience()));
    char** env = nullptr;
    std::string all;
    if (PMIx_server_setup_fork(&proc, &env) == PMIX_SUCCESS)
      for (char** entry = env; entry != nullptr && *entry != nullptr; ++entry)
        all += std::string(*entry) + "\n";
    ::_exit(::write(pipe[1], all.data(), all.size()) == static_cast<ssize_t>(all.size()) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string text;
  char some[512];
  for (ssize_t n; (n = ::read(pipe[0], some, sizeof some)) > 0;)
    text.append(some, static_cast<std::size_t>(n));
  ::close(pipe[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "PMIx_server_setup_fork did not return in the child";
  Variables out;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto equals = text.find('=', at);
    out.emplace_back(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1));
  }
  return out;
}

struct ForeignHostTest : ::testing::Test {};

/// glibc's malloc can be used in the child of a fork whatever other threads of the parent were at; that of
/// gcc 12's AddressSanitizer keeps the locks that they had.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_malloc_after_fork = false;
#else
constexpr bool has_malloc_after_fork = true;
#endif

TEST_F(ForeignHostTest, sets_the_environment_up_in_the_child_that_it_has_forked) {
  if (!has_malloc_after_fork) GTEST_SKIP() << "malloc() in the child of a fork with threads";
  Host host;
  const auto proc = proc_of("job", 0);
  const auto before = variables_of_a_forked_child(proc);
  EXPECT_FALSE(before.empty());
  host.add_job("job", 1);
  auto after = variables_of_a_forked_child(proc);
  EXPECT_EQ(after, host.fork_variables(proc));
  for (const auto& variables : {before, after}) {
    Child::Options options;
    options.variables = variables;
    Child("comes_and_goes", {}, options).expect_success();
  }
  // Where a job's memory lies is known from its registration on; before, the server hands it over.
  EXPECT_EQ(std::erase_if(after, [](const auto& each) { return each.first == "WEFT_SEGMENT"; }), 1u);
  EXPECT_EQ(before, after);
}

/// A lock that a thread of the host has in the library when it forks is never released in the child.
TEST_F(ForeignHostTest, forks_while_other_threads_are_in_the_library) {
  if (!has_malloc_after_fork) GTEST_SKIP() << "malloc() in the child of a fork with threads";
  Host host;
  host.add_job("job", 1);
  std::atomic<bool> is_over{false};
  std::thread busy([&] {
    for (int i = 0; !is_over.load(); ++i) {
      Infos infos;
      infos.variable("A_VARIABLE", "and its value");
      const auto nspace = "other" + std::to_string(i % 10);
      EXPECT_EQ(PMIx_server_setup_local_support(nspace.c_str(), infos.data(), infos.size(), nullptr, nullptr),
                PMIX_OPERATION_SUCCEEDED);
    }
  });
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(variables_of_a_forked_child(proc_of("job", 0)).empty());
  is_over = true;
  busy.join();
}

/// As Slurm's plugin: it calls back, and is called back, under one mutex.
struct Locked {
  std::mutex mutex;
  std::string cards;
  std::atomic<std::thread::id> holder{};
  std::atomic<int> released{0};
  std::atomic<bool> was_inside{false};
  template <class Callback>
  void call_back(Callback&& callback) {
    const std::lock_guard lock(mutex);
    holder = std::this_thread::get_id();
    callback();
    holder = std::thread::id();
  }
  static void release(void* self) {
    auto& host = *static_cast<Locked*>(self);
    if (host.holder.load() == std::this_thread::get_id())
      host.was_inside = true;  // its lock would wait for itself for ever
    else
      const std::lock_guard lock(host.mutex);
    ++host.released;
  }
};

TEST_F(ForeignHostTest, has_its_lock_in_its_callback_and_in_its_release) {
  Locked held;
  Upcalls upcalls;
  pmix_modex_cbfunc_t answer = nullptr;
  void* open = nullptr;
  upcalls.fence = [&](std::vector<pmix_proc_t>, bool, std::string card, pmix_modex_cbfunc_t done,
                      void* pointer) {
    held.cards = std::move(card);
    answer = done;
    open = pointer;
    Host* const host = Host::now();
    host->later.run([&] {
      held.call_back(
          [&] { answer(PMIX_SUCCESS, held.cards.data(), held.cards.size(), open, Locked::release, &held); });
    });
    return PMIX_SUCCESS;
  };
  upcalls.modex = [&](const pmix_proc_t&, pmix_modex_cbfunc_t done, void* pointer) {
    Host::now()->later.run([&held, done, pointer] {
      held.call_back([&] {
        done(PMIX_ERR_NOT_FOUND, nullptr, 0, pointer, Locked::release, &held);
        done(PMIX_SUCCESS, nullptr, 0, pointer, Locked::release, &held);  // a second answer has no effect
      });
    });
    return PMIX_SUCCESS;
  };
  Host host(std::move(upcalls));
  auto infos = two_nodes();
  host.add_job("half", 1, infos);
  host.add_client(proc_of("half", 0));
  auto child = host.start("half", 0, "half_of_a_job");
  EXPECT_NE(child.hear(), "") << "the URI of the server";
  child.expect_success();  // the host ends with its children
  EXPECT_FALSE(held.was_inside.load());
  EXPECT_EQ(held.released.load(), 2) << "each answer that had an effect was given back";
}

}  // namespace

void add_foreign_host_programs(Programs& programs) {
  programs.add("comes_and_goes", comes_and_goes);
  programs.add("half_of_a_job", half_of_a_job);
}

}  // namespace weft::test
