// SPDX-License-Identifier: BSD-3-Clause
// What a client costs and leaves behind: descriptors, system calls, threads, libraries; kills at any moment;
// limits reached on either side; the report of what is stuck.
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "tests/multiproc/harness/host.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::test {
namespace {

// ---- programs

int come_and_go(const Words&) {
  Client client;
  check_status(put("key", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(client.peer((client.me.rank + 1) % client.size), "key").u64(),
              (client.me.rank + 1) % client.size);
  client.finalize();
  return 0;
}

/// Works with its two neighbours whatever happens to the last rank, until told to stop.
int survives(const Words&) {
  Client client;
  const std::vector<pmix_proc_t> survivors{client.peer(0), client.peer(1), client.peer(2)};
  say("ready");
  std::uint64_t round = 0;
  for (bool go_on = true; go_on; ++round) {
    check_status(put("round", round), PMIX_SUCCESS);
    if (client.me.rank == 0 && round % 8 == 0) {  // one decides for all when to stop
      say("round");
      go_on = listen() == "on";
      check_status(put("go on", std::uint64_t{go_on}), PMIX_SUCCESS);
    }
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(survivors), PMIX_SUCCESS);
    for (const auto& peer : survivors) check_equal(get(peer, "round").u64(), round);
    if (client.me.rank != 0 && round % 8 == 0) go_on = get(client.peer(0), "go on").u64() == 1;
    // The victim's data: whatever of it is there; and a fence of all, which ends well or names a reason.
    (void)get(client.peer(3), "victim", std::move(Infos().flag(PMIX_OPTIONAL)));
    const auto status = fence();
    check(status == PMIX_SUCCESS || status == PMIX_ERR_PROC_ABORTED || status == PMIX_ERR_UNREACH,
          PMIx_Error_string(status));
    check_status(fence(survivors), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Does everything again and again until it is killed.
int victim(const Words&) {
  for (std::uint64_t i = 0;; ++i) {
    pmix_proc_t me;
    if (PMIx_Init(&me, nullptr, 0) != PMIX_SUCCESS) return 0;
    Waiter got, fenced;
    auto other = me;
    other.rank = 0;
    (void)PMIx_Get_nb(&other, "round", nullptr, 0, Waiter::on_value, &got);
    (void)put("victim", i);
    (void)PMIx_Commit();
    (void)PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &fenced);
    (void)got.wait();
    (void)fenced.wait();
    (void)fence({me, other}, std::move(Infos().integer(PMIX_TIMEOUT, 1)));
    if (i % 3 == 2) (void)PMIx_Finalize(nullptr, 0);
  }
}

/// What strace is to see nothing of lies between two calls of getppid.
int silent_loop(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  const Infos optional = std::move(Infos().flag(PMIX_OPTIONAL));
  check_status(put("key", std::string(256, 'x')), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto everything = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      check_status(get(other, "key").status, PMIX_SUCCESS);
      check_status(get(client.me, "key").status, PMIX_SUCCESS);
      check_status(get(client.job, PMIX_JOB_SIZE).status, PMIX_SUCCESS);
      check_status(get(client.me, PMIX_LOCAL_RANK).status, PMIX_SUCCESS);
      check_status(get(client.job, PMIX_LOCAL_PEERS).status, PMIX_SUCCESS);
      check_status(get(other, "none", optional).status, PMIX_ERR_NOT_FOUND);
      check_status(get(client.job, "pmix.none", optional).status, PMIX_ERR_NOT_FOUND);
      if (i % 50 == 0) check_status(put("another", std::uint64_t{7}), PMIX_SUCCESS);
      if (i % 50 == 0) check_status(PMIx_Commit(), PMIX_SUCCESS);
    }
  };
  everything(100);  // memory is taken from the system now
  (void)::getppid();
  everything(1000);
  (void)::getppid();
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int weigh(const Words&) {
  const auto before = threads_of().size();
  Client client;
  check_status(put("key", std::uint64_t{1}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  (void)get(client.peer(client.me.rank ^ 1), "key");
  check_equal(threads_of().size(), before);  // none, as long as nothing needs one
  Waiter waiter;
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
  check_status(waiter.wait(), PMIX_SUCCESS);
  check_status(get(proc_of("no such job", 0), "key").status, PMIX_ERR_NOT_FOUND);
  check_equal(threads_of().size(), before + 1);
  for (const char* library : {"libfabric", "libucp", "libucs", "libhwloc", "libnuma"})
    check(mappings_of(library) == 0, std::string("maps ") + library);
  client.finalize();
  check_equal(threads_of().size(), before);
  check_equal(mappings_of("memfd:weft"), 0);
  return 0;
}

/// Nothing of its server's, and nothing of other clients'.
int own_descriptors(const Words&) {
  for (const auto& fd : names_in("/proc/self/fd")) {
    const auto number = std::stoi(fd);
    char target[256] = {};
    (void)!::readlink(("/proc/self/fd/" + fd).c_str(), target, sizeof target - 1);
    const std::string what = target;
    check(number <= 3 || (what.find("socket:") != 0 && what.find("memfd:") == std::string::npos &&
                          what.find("anon_inode:") != 0),
          "inherits " + fd + ", " + what);
  }
  Client client;
  client.finalize();
  return 0;
}

/// Goes through its life with whatever descriptors it has; only the end counts.
int live_on_little(const Words&) {
  pmix_proc_t me;
  const auto status = PMIx_Init(&me, nullptr, 0);
  if (status == PMIX_SUCCESS) {
    (void)put("key", std::uint64_t{1});
    (void)PMIx_Commit();
    Waiter waiter;
    if (PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter) == PMIX_SUCCESS)
      check(waiter.wait() != Waiter::never_came, "a callback never came");
    (void)get(proc_of("no such job", 0), "key");
    (void)PMIx_Finalize(nullptr, 0);
  }
  say(PMIx_Error_string(status));
  return 0;
}

/// Like "serve", with no more descriptors than it has, and `spare` more.
int serve_in_need(const Words& words) {
  Host host;
  const auto ranks = static_cast<std::uint32_t>(std::stoul(words[0]));
  host.add_job("job", ranks);
  say_variables(host, "job", ranks);
  if (words.size() > 1) {
    const auto most = open_descriptors() - 1 + std::stoul(words[1]);
    const rlimit limit{most, most};
    check(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  }
  say("serving");
  await("end");
  return 0;
}

int hold(const Words&) {
  pmix_proc_t me;
  auto status = PMIx_Init(&me, nullptr, 0);
  // What needs the server says whether it took us in.
  if (status == PMIX_SUCCESS) status = get(proc_of("no such job", 0), "key").status;
  say(status == PMIX_ERR_NOT_FOUND ? "taken in" : "sent away");
  if (status == PMIX_ERR_NOT_FOUND) await("leave");
  (void)PMIx_Finalize(nullptr, 0);
  return 0;
}

int stuck(const Words& words) {
  Client client;
  say("ready");
  const bool away = client.me.rank >= 3;
  if (away) {
    await("leave");
    client.finalize();
    return 0;
  }
  await("go");  // all at once: the report is made some time after the first has come
  std::vector<pmix_proc_t> set;
  if (words[0] == "set")
    for (pmix_rank_t r = 0; r < 5; ++r) set.push_back(client.peer(r));
  check_status(fence(set, std::move(Infos().integer(PMIX_TIMEOUT, 10))), PMIX_ERR_TIMEOUT);
  client.finalize();
  return 0;
}

}  // namespace

void add_limit_programs(Programs& programs) {
  programs.add("come_and_go", come_and_go);
  programs.add("survives", survives);
  programs.add("victim", victim);
  programs.add("silent_loop", silent_loop);
  programs.add("weigh", weigh);
  programs.add("own_descriptors", own_descriptors);
  programs.add("live_on_little", live_on_little);
  programs.add("serve_in_need", serve_in_need);
  programs.add("hold", hold);
  programs.add("stuck", stuck);
}

// ---- tests

class LimitTest : public Multiproc {
 protected:
  /// A server in a process of its own; each rank's environment.
  Child serve(const Words& words, Child::Options options, std::vector<Variables>& ranks) {
    Child server("serve_in_need", words, options);
    for (auto& rank : ranks) rank = hear_variables(server);
    server.expect("serving");
    return server;
  }
};

TEST_F(LimitTest, many_come_and_go) {
  constexpr std::uint32_t many = testing::sanitized ? 16 : 64;
  Host host;
  host.add_job("job", 1);
  auto first = host.start("job", 0, "come_and_go");
  first.expect_success();
  std::size_t before = 0;
  for (int round = 0; round < 10; ++round) {
    host.add_job("many", many);
    auto children = host.start_all("many", many, "come_and_go");
    expect_success(children);
    children.clear();
    host.remove_job("many");
    if (round == 0) before = open_descriptors();
    EXPECT_EQ(open_descriptors(), before) << "in round " << round;
  }
}

/// A hundred kills, in four parts. The victims reach the segment in this way.
class KillTest : public Multiproc, public ::testing::WithParamInterface<std::tuple<Segment, int>> {};
INSTANTIATE_TEST_SUITE_P(Victim, KillTest,
                         ::testing::Combine(::testing::Values(Segment::mapped, Segment::refused),
                                            ::testing::Values(1, 2)),
                         [](const auto& way) {
                           return name_of(std::get<0>(way.param)) + std::to_string(std::get<1>(way.param));
                         });

TEST_P(KillTest, at_any_moment) {
  Host host;
  host.add_job("job", 4);
  std::vector<Child> survivors;
  for (pmix_rank_t r = 0; r < 3; ++r)
    survivors.push_back(
        host.start("job", r, "survives", {}, reach(r == 1 ? Segment::refused : Segment::mapped, r)));
  for (auto& child : survivors) child.expect("ready");
  const auto seed = std::random_device()();
  const auto way = std::get<0>(GetParam());
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto before = open_descriptors();
  std::atomic<bool> stop{false};
  std::thread answers([&] {
    for (bool over = false; !over && survivors[0].hear() == "round";) {
      over = stop.load();
      survivors[0].tell(over ? "stop" : "on");
    }
  });
  for (int killed = 0; killed < 25; ++killed) {
    auto doomed = host.start("job", 3, "victim", {}, reach(way, 3));
    const timespec moment{0, static_cast<long>(random() % 8'000'000)};
    ::ppoll(nullptr, 0, &moment, nullptr);
    doomed.kill();
    EXPECT_EQ(doomed.wait(), SIGKILL);
  }
  stop = true;
  host.remove_client(proc_of("job", 3));  // no fence is to wait for its next incarnation
  answers.join();
  expect_success(survivors);
  survivors.clear();
  EXPECT_TRUE(eventually([&] { return open_descriptors() < before; }))
      << "the server keeps descriptors of the dead";
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST_F(LimitTest, no_system_call_for_what_the_node_knows) {
  if (sanitized)
    GTEST_SKIP() << "LeakSanitizer does not work under strace, and the sanitizer's malloc calls mmap";
  if (::access("/usr/bin/strace", X_OK) != 0) GTEST_SKIP() << "there is no strace (Debian: strace)";
  const Scratch scratch;
  Host host;
  host.add_job("job", 2);
  Child::Options traced;
  traced.before = {"/usr/bin/strace", "-f", "-o", scratch.path() + "/trace"};
  auto one = host.start("job", 0, "silent_loop", {}, traced);
  auto two = host.start("job", 1, "silent_loop");
  const int status = one.wait();
  std::ifstream file(scratch.path() + "/trace");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  const auto is_mark = [](const std::string& line) { return line.find("getppid()") != std::string::npos; };
  const auto from = std::find_if(lines.begin(), lines.end(), is_mark);
  if (status != 0 && from == lines.end()) {
    two.kill();
    two.wait();
    GTEST_SKIP() << "strace may not trace here";
  }
  EXPECT_EQ(status, 0);
  two.expect_success();
  ASSERT_NE(from, lines.end());
  const auto to = std::find_if(from + 1, lines.end(), is_mark);
  ASSERT_NE(to, lines.end());
  for (auto line = from + 1; line != to; ++line) ADD_FAILURE() << "a system call: " << *line;
}

TEST_F(LimitTest, what_a_client_weighs) {
  Host host;
  host.add_job("job", 2);
  auto children = host.start_all("job", 2, "weigh");
  expect_success(children);
}

TEST_F(LimitTest, a_child_inherits_nothing) {
  Host host;
  host.add_job("job", 8);
  std::vector<Child> holders;
  for (pmix_rank_t r = 0; r < 4; ++r) holders.push_back(host.start("job", r, "hold"));
  for (auto& child : holders) child.expect("taken in");
  for (pmix_rank_t r = 4; r < 8; ++r) host.start("job", r, "own_descriptors").expect_success();
  for (auto& child : holders) child.tell("leave");
  expect_success(holders);
}

TEST_F(LimitTest, a_client_without_descriptors) {
  if (sanitized)
    GTEST_SKIP() << "UBSan reads objects through a pipe, and takes one for wrong when it cannot open it";
  Host host;
  host.add_job("job", 1);
  for (int most = 5; most <= 12; ++most) {
    Child::Options options;
    options.before = {"/usr/bin/prlimit", "--nofile=" + std::to_string(most)};
    options.catch_errors = true;
    auto child = host.start("job", 0, "live_on_little", {}, options);
    const auto status = child.hear();
    child.expect_success();
    const auto said = child.errors();
    EXPECT_FALSE(status.empty()) << "with " << most << " descriptors: " << said;
    EXPECT_TRUE(status == "PMIX_SUCCESS" || !said.empty())
        << "with " << most << " descriptors: " << status << " without a word";
  }
}

TEST_F(LimitTest, a_server_without_descriptors) {
  if (sanitized)
    GTEST_SKIP() << "UBSan reads objects through a pipe, and takes one for wrong when it cannot open it";
  constexpr std::uint32_t ranks = 6;
  std::vector<Variables> environments(ranks);
  Child::Options options;
  options.catch_errors = true;
  auto server = serve({std::to_string(ranks), "4"}, options, environments);
  std::vector<Child> clients;
  unsigned taken = 0;
  for (const auto& environment : environments) {
    Child::Options own;
    own.variables = environment;
    own.catch_errors = true;
    clients.emplace_back("hold", Words{}, own);
  }
  for (auto& client : clients) {
    const auto answer = client.hear();
    EXPECT_TRUE(answer == "taken in" || answer == "sent away") << answer;
    if (answer == "taken in") {
      ++taken;
      client.tell("leave");
    }
    client.expect_success();
    const auto said = client.errors();
    EXPECT_TRUE(answer == "taken in" || said.find("descriptor") != std::string::npos) << said;
  }
  EXPECT_GE(taken, 1u);
  clients.clear();
  // It recovers.
  Child::Options own;
  own.variables = environments[0];
  Child later("hold", {}, own);
  later.expect("taken in");
  later.tell("leave");
  later.expect_success();
  server.tell("end");
  server.expect_success();
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(LimitTest, a_server_with_little_address_space) {
  constexpr std::uint32_t ranks = 4;
  std::vector<Variables> environments(ranks);
  Child::Options options;
  options.before = {"/usr/bin/prlimit", "--as=1000000000"};
  auto server = serve({std::to_string(ranks)}, options, environments);
  std::vector<Child> clients;
  for (const auto& environment : environments) {
    Child::Options own;
    own.variables = environment;
    clients.emplace_back("come_and_go", Words{}, own);
  }
  expect_success(clients);
  server.tell("end");
  server.expect_success();
}
#endif

TEST_F(LimitTest, the_report_of_what_is_stuck) {
  for (const char* what : {"whole", "set"}) {
    std::vector<Variables> environments(6);
    Child::Options options;
    options.catch_errors = true;
    options.variables = reports_soon({});
    auto server = serve({"6"}, options, environments);
    std::vector<Child> clients;
    for (pmix_rank_t r = 0; r < 5; ++r) {  // rank 5 is never started
      Child::Options own;
      own.variables = environments[r];
      clients.emplace_back("stuck", Words{what}, own);
    }
    for (auto& client : clients) client.expect("ready");
    for (std::size_t r = 0; r < 3; ++r) clients[r].tell("go");
    const auto third = clients[3].pid(), fourth = clients[4].pid();
    server.wait_for_error("missing: 3-");
    for (int r = 0; r < 3; ++r) clients[static_cast<std::size_t>(r)].expect_success();  // their deadline
    for (int r = 3; r < 5; ++r) {
      clients[static_cast<std::size_t>(r)].tell("leave");
      clients[static_cast<std::size_t>(r)].expect_success();
    }
    server.tell("end");
    server.expect_success();
    const auto said = server.errors();
    const bool whole = what == std::string_view("whole");
    EXPECT_NE(said.find(whole ? "missing: 3-5 (" : "missing: 3-4 ("), std::string::npos) << said;
    EXPECT_NE(said.find("rank 3 pid " + std::to_string(third)), std::string::npos) << said;
    EXPECT_NE(said.find("rank 4 pid " + std::to_string(fourth)), std::string::npos) << said;
    EXPECT_EQ(said.find("rank 5 never called PMIx_Init") != std::string::npos, whole) << said;
    EXPECT_EQ(said.find("has been open", said.find("has been open") + 1), std::string::npos)
        << "said twice:\n"
        << said;
  }
}

}  // namespace weft::test
