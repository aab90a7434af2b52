// SPDX-License-Identifier: BSD-3-Clause
// Init and Finalize: counted, again and again, without a server, with a dead one, with another library's; and
// what every function says where there is no library to speak of.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- programs

/// Every function of the client's chapters that is implemented says PMIX_ERR_INIT; no other does anything.
void call_everything() {
  pmix_proc_t me = proc_of("nobody", 0), *procs = nullptr;
  pmix_value_t value, *out = nullptr;
  pmix_info_t info;
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  std::size_t count = 0;
  char* text = nullptr;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT64;
  PMIX_INFO_CONSTRUCT(&info);
  const auto handler = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*,
                          size_t, pmix_event_notification_cbfunc_fn_t, void*) {};
  Waiter waiter;
  check_equal(static_cast<std::uint64_t>(PMIx_Initialized()), 0);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Abort(1, "no", nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Put(PMIX_GLOBAL, "key", &value), PMIX_ERR_INIT);
  check_status(PMIx_Commit(), PMIX_ERR_INIT);
  check_status(PMIx_Store_internal(&me, "key", &value), PMIX_ERR_INIT);
  check_status(PMIx_Get(&me, "key", nullptr, 0, &out), PMIX_ERR_INIT);
  check_status(PMIx_Get_nb(&me, "key", nullptr, 0, Waiter::on_value, &waiter), PMIX_ERR_INIT);
  check_status(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter), PMIX_ERR_INIT);
  check_status(PMIx_Resolve_peers(nullptr, nullptr, &procs, &count), PMIX_ERR_INIT);
  check_status(PMIx_Resolve_nodes(nullptr, &text), PMIX_ERR_INIT);
  check_status(PMIx_Log(&info, 1, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Log_nb(&info, 1, nullptr, 0, Waiter::on_status, &waiter), PMIX_ERR_INIT);
  check_status(PMIx_Job_control(nullptr, 0, &info, 1, nullptr, nullptr), PMIX_ERR_INIT);
  check_status(PMIx_Job_control_nb(nullptr, 0, &info, 1, nullptr, nullptr), PMIX_ERR_INIT);
  check_status(PMIx_Register_event_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr), PMIX_ERR_INIT);
  check_status(PMIx_Deregister_event_handler(0, nullptr, nullptr), PMIX_ERR_INIT);
  check_status(PMIx_Notify_event(code, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr),
               PMIX_ERR_INIT);
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_info_t* results = nullptr;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_ERR_INIT);
  pmix_pdata_t wanted;
  PMIX_PDATA_CONSTRUCT(&wanted);
  char nspace[PMIX_MAX_NSLEN + 1] = {};
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  check_status(PMIx_Publish(&info, 1), PMIX_ERR_INIT);
  check_status(PMIx_Lookup(&wanted, 1, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Unpublish(nullptr, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Spawn(nullptr, 0, &app, 1, nspace), PMIX_ERR_INIT);
  check_status(PMIx_Connect(&me, 1, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Disconnect(&me, 1, nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Group_construct("group", &me, 1, nullptr, 0, &results, &count), PMIX_ERR_INIT);
  check_status(PMIx_Group_destruct("group", nullptr, 0), PMIX_ERR_INIT);
  check_status(PMIx_Group_invite("group", &me, 1, nullptr, 0, &results, &count), PMIX_ERR_INIT);
  check_status(PMIx_Group_join("group", &me, PMIX_GROUP_ACCEPT, nullptr, 0, &results, &count), PMIX_ERR_INIT);
  check_status(PMIx_Group_leave("group", nullptr, 0), PMIX_ERR_INIT);
  PMIx_Progress();
  check(PMIx_Get_version() != nullptr && PMIx_Get_version()[0] >= '3', "the version's first character");
}

int without_init(const Words& words) {
  call_everything();
  if (words.empty()) return 0;
  for (int i = 0; i < 3; ++i) {
    Client client;
    client.finalize();
    call_everything();
  }
  return 0;
}

/// Counted: the library is there until the last Finalize, and then again after the next Init.
int counted(const Words&) {
  for (int round = 0; round < 20; ++round) {
    pmix_proc_t first, second;
    check_status(PMIx_Init(&first, nullptr, 0), PMIX_SUCCESS);
    check_status(PMIx_Init(&second, nullptr, 0), PMIX_SUCCESS);
    check_status(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
    check(std::memcmp(&first, &second, sizeof first) == 0, "two names");
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    check_equal(static_cast<std::uint64_t>(PMIx_Initialized()), 1);
    check_status(fence(), PMIX_SUCCESS);
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    check_status(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
  }
  return 0;
}

bool is_child_of_fork = false;

/// Runs `work` in the child of a fork, which ends with it.
void fork_and_wait(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    is_child_of_fork = true;
    work();
    std::exit(0);  // and not _exit(): what the library left for the end of a process runs, too
  }
  int status = -1;
  check(child > 0 && ::waitpid(child, &status, 0) == child, "fork");
  check_equal(static_cast<std::uint64_t>(status), 0);
}

/// The child of a fork has no library, and its calls do nothing to its parent's.
int forks(const Words& words) {
  Client client;
  check_status(put("key", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  Waiter waiter;
  if (words[0] == "with_thread")
    check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
  if (words[0] == "with_thread") check_status(waiter.wait(), PMIX_SUCCESS);
  fork_and_wait([] { call_everything(); });
  fork_and_wait([] {
    pmix_proc_t me;
    check_status(PMIx_Init(&me, nullptr, 0), PMIX_ERR_NO_PERMISSIONS);  // the rank is its parent
    call_everything();
    fork_and_wait([] { call_everything(); });
  });
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(client.peer(client.me.rank ^ 1), "key").u64(), client.me.rank ^ 1);
  client.finalize();
  // A rank that has finalized is free for its child.
  fork_and_wait([] {
    Client again;
    check_equal(get(again.job, PMIX_JOB_SIZE).u32(), 2);
    again.finalize();
  });
  return 0;
}

/// Threads that call all the time, and one that waits for what never comes, while the library comes and goes.
int finalizes_beside_calls(const Words&) {
  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<bool> is_in_fence{false};  // or about to be, perhaps behind the next initialization
  Client first;
  const auto me = first.me, other = first.peer(me.rank ^ 1), job = first.job;
  check_status(put("key", std::string(100, 'x')), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!is_over.load()) {
        for (const auto& [whose, key] :
             {std::pair(me, "key"), std::pair(other, "key"), std::pair(job, PMIX_JOB_SIZE)})
          if (get(whose, key).status == PMIX_SUCCESS) ++reads;
        (void)put("another", std::uint64_t{1});
        (void)PMIx_Commit();
      }
    });
  threads.emplace_back([&] {
    while (!is_over.load()) {
      if (PMIx_Initialized() == 0) continue;
      const auto status = get(proc_of("no such job", 0), "key").status;  // of the server
      check(status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_INIT || status == PMIX_ERR_LOST_CONNECTION,
            PMIx_Error_string(status));
    }
  });
  threads.emplace_back([&] {
    while (!is_over.load()) {
      if (PMIx_Initialized() == 0) continue;
      is_in_fence.store(true);
      (void)fence({me, other});  // the other rank is not there
      is_in_fence.store(false);
    }
  });
  for (int round = 0; round < 12; ++round) {
    const auto read = reads.load();
    check(eventually([&] { return reads.load() > read + 100 && is_in_fence.load(); }),
          "no call came through");
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
    check_status(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  }
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  is_over = true;
  for (auto& thread : threads) thread.join();
  check_equal(mappings_of("memfd:weft"), 0);
  return 0;
}

/// The other rank of that.
int fences_once(const Words&) {
  Client client;
  check_status(put("key", std::string(100, 'x')), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  await("go");
  client.finalize();
  return 0;
}

/// PMIX_EMBED_BARRIER: no rank leaves before all have come.
int embedded_barrier(const Words&) {
  Client client;
  if (client.me.rank == 1) await("go");
  const Infos infos = std::move(Infos().flag(PMIX_EMBED_BARRIER));
  check_status(PMIx_Finalize(infos.data(), infos.size()), PMIX_SUCCESS);
  say("finalized");
  return 0;
}

/// A singleton has a library that works for one process.
int singleton(const Words&) {
  using Clock = std::chrono::steady_clock;
  pmix_proc_t me;
  const auto start = Clock::now();
  const auto status = PMIx_Init(&me, nullptr, 0);
  const auto took = Clock::now() - start;
  check_status(status, PMIX_ERR_UNREACH);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  check(me.nspace == "singleton." + std::string(host) + "." + std::to_string(::getpid()) && me.rank == 0,
        me.nspace);
  auto job = me;
  job.rank = PMIX_RANK_WILDCARD;
  const Infos optional = std::move(Infos().flag(PMIX_OPTIONAL));
  for (const auto* whom : {&me, &job})  // callers ask either
    for (const char* one : {PMIX_JOB_SIZE, PMIX_LOCAL_SIZE, PMIX_UNIV_SIZE, PMIX_NUM_NODES})
      check_equal(get(*whom, one, optional).u32(), 1);
  check(get(job, PMIX_LOCAL_PEERS, optional).text() == "0", "LOCAL_PEERS");
  check_equal(get(me, PMIX_LOCAL_RANK, optional).u16(), 0);
  check_equal(get(me, PMIX_NODE_RANK, optional).u16(), 0);
  check_equal(get(me, PMIX_APPNUM, optional).u32(), 0);
  check_equal(get(me, PMIX_RANK, optional).rank(), 0);
  check(get(me, PMIX_HOSTNAME, optional).text() == host, "HOSTNAME");
  check_status(get(me, "none", optional).status, PMIX_ERR_NOT_FOUND);
  check_status(get(me, "none").status, PMIX_ERR_NOT_FOUND);
  check_status(get(proc_of("elsewhere", 0), "none").status, PMIX_ERR_NOT_FOUND);
  check_equal(get(job, PMIX_JOB_SIZE, std::move(Infos().flag(PMIX_GET_REFRESH_CACHE))).u32(), 1);
  check_status(put("key", std::uint64_t{5}), PMIX_SUCCESS);
  check_equal(get(me, "key").u64(), 5);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_equal(get(me, "key", optional).u64(), 5);
  check_status(get(me, nullptr).status, PMIX_SUCCESS);
  pmix_value_t* own = nullptr;
  check_status(PMIx_Get(nullptr, "key", nullptr, 0, &own), PMIX_SUCCESS);
  check(own != nullptr && own->data.uint64 == 5, "a key of the caller, of which NULL is the name");
  PMIX_VALUE_RELEASE(own);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT16;
  value.data.uint16 = 9;
  check_status(PMIx_Store_internal(&me, PMIX_LOCALITY, &value), PMIX_SUCCESS);
  check_equal(get(me, PMIX_LOCALITY).u16(), 9);
  check_status(fence(), PMIX_SUCCESS);
  check_status(fence({me}), PMIX_SUCCESS);
  check_status(fence({proc_of("elsewhere", 0)}), PMIX_ERR_UNREACH);
  Waiter fenced, read, registered, removed;
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &fenced), PMIX_SUCCESS);
  check_status(fenced.wait(), PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&me, "key", nullptr, 0, Waiter::on_value, &read), PMIX_SUCCESS);
  check_status(read.wait(), PMIX_SUCCESS);
  const auto handler = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*,
                          size_t, pmix_event_notification_cbfunc_fn_t, void*) {};
  check_status(
      PMIx_Register_event_handler(nullptr, 0, nullptr, 0, handler, Waiter::on_registered, &registered),
      PMIX_SUCCESS);
  check_status(registered.wait(), PMIX_SUCCESS);
  check_status(PMIx_Deregister_event_handler(registered.number, Waiter::on_status, &removed), PMIX_SUCCESS);
  check_status(removed.wait(), PMIX_SUCCESS);
  pmix_proc_t* procs = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Resolve_peers(nullptr, nullptr, &procs, &count), PMIX_SUCCESS);
  check(count == 1 && procs[0].rank == 0, "my only peer is me");
  PMIX_PROC_FREE(procs, count);
  check_status(PMIx_Abort(1, "nobody to ask", nullptr, 0), PMIX_ERR_UNREACH);
  (void)PMIx_Init(nullptr, nullptr, 0);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
  for (std::uint64_t life = 1; life <= 25; ++life) {
    check_status(PMIx_Init(&me, nullptr, 0), PMIX_ERR_UNREACH);
    check_status(put("key", life), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    check_equal(get(me, "key").u64(), life);
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  }
  say("PMIx_Init took " +
      std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()) + " us");
  return 0;
}

int say_init(const Words&) {
  pmix_proc_t me;
  const auto status = PMIx_Init(&me, nullptr, 0);
  say(PMIx_Error_string(status));
  if (status == PMIX_SUCCESS || status == PMIX_ERR_UNREACH)
    check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  return 0;
}

/// A server in a process of its own, so that it can be killed.
int serve(const Words& words) {
  Host host;
  const auto ranks = static_cast<std::uint32_t>(std::stoul(words[0]));
  host.add_job("job", ranks);
  say_variables(host, "job", ranks);
  await("end");
  return 0;
}

/// Waits for what only the server, or a rank that does not come, could bring.
int wait_for_server(const Words& words) {
  Client client;
  static Waiter told;
  if (words[0] == "event") {
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;
    const auto handler = [](size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t*, size_t,
                            pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
      Waiter::on_status(status, &told);
      if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
    };
    check(PMIx_Register_event_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr) >= 0, "registration");
  }
  say("ready");
  pmix_status_t status = PMIX_SUCCESS;
  if (words[0] == "fence") status = fence();
  if (words[0] == "fence_nb") {
    Waiter waiter;
    check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
    status = waiter.wait();
  }
  if (words[0] == "set") status = fence({client.me, client.peer(1)});
  if (words[0] == "get") status = get(client.peer(1), "never").status;
  if (words[0] == "get_nb") {
    Waiter waiter;
    const auto other = client.peer(1);
    check_status(PMIx_Get_nb(&other, "never", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
    status = waiter.wait();
  }
  if (words[0] == "event") status = told.wait();
  if (words[0] == "abort") {
    await("server is gone");
    status = PMIx_Abort(3, "in vain", nullptr, 0);
  }
  if (words[0] == "finalize") {
    await("server is gone");
    status = PMIx_Finalize(nullptr, 0);
    say(PMIx_Error_string(status));
    return 0;
  }
  say(PMIx_Error_string(status));
  // What was here stays readable, and what needs the server ends at once.
  if (words.size() == 1) check_equal(get(client.job, PMIX_JOB_SIZE).u32(), client.size);
  check_status(fence(), PMIX_ERR_LOST_CONNECTION);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_ERR_LOST_CONNECTION);
  return 0;
}

}  // namespace

void add_singleton_programs(Programs& programs) {
  programs.add("without_init", without_init);
  programs.add("counted", counted);
  programs.add("embedded_barrier", embedded_barrier);
  programs.add("singleton", singleton);
  programs.add("forks", forks);
  programs.add("finalizes_beside_calls", finalizes_beside_calls);
  programs.add("fences_once", fences_once);
  programs.add("say_init", say_init);
  programs.add("serve", serve);
  programs.add("wait_for_server", wait_for_server);
}

// ---- tests

class LifecycleTest : public Multiproc {};

TEST_F(LifecycleTest, calls_without_init) {
  Child child("without_init", {}, {});
  child.expect_success();
  Host host;
  host.add_job("job", 1);
  auto rank = host.start("job", 0, "without_init", {"and after finalize"});
  rank.expect_success();
}

TEST_F(LifecycleTest, counted) {
  Host host;
  host.add_job("job", 2);
  auto children = host.start_all("job", 2, "counted");
  expect_success(children);
}

TEST_F(LifecycleTest, finalize_with_a_barrier) {
  Host host;
  host.add_job("job", 2);
  auto children = host.start_all("job", 2, "embedded_barrier");
  children[1].tell("go");
  children[0].expect("finalized");
  children[1].expect("finalized");
  expect_success(children);
}

TEST_F(LifecycleTest, singleton) {
  Child child("singleton", {}, {});
  const auto took = child.hear();
  EXPECT_EQ(took.find("PMIx_Init took "), 0u) << took;
  std::printf("%s\n", took.c_str());
  child.expect_success();
}

TEST_F(LifecycleTest, environment_of_a_dead_server) {
  Child::Options options;
  options.catch_errors = true;
  {
    Host host;
    host.add_job("job", 1);
    options.variables = host.fork_variables(proc_of("job", 0));
  }
  Child child("say_init", {}, options);
  child.expect("PMIX_ERR_SERVER_NOT_AVAIL");
  child.expect_success();
  const auto said = child.errors();
  EXPECT_NE(said.find("does not answer"), std::string::npos) << said;
  EXPECT_NE(said.find("rank 0"), std::string::npos) << said;
}

TEST_F(LifecycleTest, environment_of_another_library) {
  Child::Options options;
  options.catch_errors = true;
  options.variables = {{"PMIX_NAMESPACE", "prterun-host-123@1"},
                       {"PMIX_RANK", "0"},
                       {"PMIX_SERVER_URI41", "prte;tcp4://127.0.0.1:9"}};
  Child child("say_init", {}, options);
  child.expect("PMIX_ERR_UNREACH");
  child.expect_success();
  EXPECT_NE(child.errors().find("another PMIx library"), std::string::npos);
}

TEST_F(LifecycleTest, malformed_environment) {
  Host host;
  host.add_job("job", 1);
  const auto good = host.fork_variables(proc_of("job", 0));
  const Variables broken = {{"PMIX_RANK", "-1"},
                            {"PMIX_RANK", "zero"},
                            {"PMIX_RANK", ""},
                            {"PMIX_RANK", "99999999999"},
                            {"WEFT_TOKEN", "short"},
                            {"WEFT_TOKEN", ""},
                            {"WEFT_TOKEN", std::string(32, 'z')},
                            {"PMIX_NAMESPACE", std::string(300, 'n')},
                            {"WEFT_SERVER", ""},
                            {"WEFT_SERVER", std::string(300, 's')}};
  for (const auto& change : broken) {
    Child::Options options;
    options.catch_errors = true;
    options.variables = good;
    for (auto& [name, value] : options.variables)
      if (name == change.first) value = change.second;
    Child child("say_init", {}, options);
    const auto status = child.hear();
    EXPECT_TRUE(status == "PMIX_ERR_NO_PERMISSIONS" || status == "PMIX_ERR_SERVER_NOT_AVAIL")
        << change.first << "=" << change.second << ": " << status;
    child.expect_success();
    EXPECT_FALSE(child.errors().empty()) << change.first << "=" << change.second;
  }
}

TEST_F(LifecycleTest, a_child_of_a_fork_leaves_its_parents_library_alone) {
  for (const auto segment : ways())
    for (const char* thread : {"with_thread", "without"}) {
      SCOPED_TRACE(name_of(segment) + " " + thread);
      all_run(segment, 2, "forks", {thread});
    }
}

TEST_F(LifecycleTest, a_fork_of_a_host_leaves_its_server_alone) {
  Host host;
  host.add_job("job", 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(PMIx_Initialized() == 0 && PMIx_server_finalize() == PMIX_ERR_INIT ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto rank = host.start("job", 0, "fences_once");
  rank.tell("go");
  rank.expect_success();
}

TEST_F(LifecycleTest, calls_of_other_threads_end_with_finalize) {
  for (const auto segment : {Segment::mapped, Segment::refused}) {
    SCOPED_TRACE(name_of(segment));
    Host host;
    host.add_job("job", 2);
    auto other = host.start("job", 1, "fences_once", {}, reach(segment, 1));
    auto rank = host.start("job", 0, "finalizes_beside_calls", {}, reach(segment, 0));
    rank.expect_success();
    other.tell("go");
    other.expect_success();
  }
}

/// The name of a server that has ended, under which a process of another user listens now.
TEST_F(LifecycleTest, a_server_of_another_user_gets_nothing) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  Host host;
  host.add_job("job", 1);
  const auto listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto name = "weft-test-of-a-stranger-" + std::to_string(::getpid());
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), length), 0);
  // The kernel keeps the user that called listen().
  ASSERT_EQ(::seteuid(54321), 0);
  const int listens = ::listen(listener, 1);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(listens, 0);
  Child::Options options;
  options.catch_errors = true;
  options.variables = host.fork_variables(proc_of("job", 0));
  for (auto& [variable, value] : options.variables)
    if (variable == "WEFT_SERVER") value = name;
  Child child("say_init", {}, options);
  child.expect("PMIX_ERR_NO_PERMISSIONS");
  child.expect_success();
  EXPECT_NE(child.errors().find("another user's"), std::string::npos) << child.errors();
  const int connection = ::accept(listener, nullptr, nullptr);
  char byte;
  EXPECT_EQ(::read(connection, &byte, 1), 0) << "not even the token";
  ::close(connection);
  ::close(listener);
}

/// A namespace or rank that the server does not know, with a token that it does not either; and the token of
/// another rank.
TEST_F(LifecycleTest, unknown_names) {
  Host host;
  host.add_job("job", 2);
  Variables changes{{"PMIX_NAMESPACE", "no such job"}, {"PMIX_RANK", "7"}};
  for (const auto& [name, value] : host.fork_variables(proc_of("job", 1)))
    if (name == "WEFT_TOKEN") changes.emplace_back(name, value);
  ASSERT_EQ(changes.size(), 3U);
  for (const auto& change : changes) {
    Child::Options options;
    options.catch_errors = true;
    options.variables = host.fork_variables(proc_of("job", 0));
    for (auto& [name, value] : options.variables)
      if (name == change.first) value = change.second;
    Child child("say_init", {}, options);
    child.expect("PMIX_ERR_NO_PERMISSIONS");
    child.expect_success();
    EXPECT_NE(child.errors().find("refused"), std::string::npos);
  }
}

class ServerLossTest : public Multiproc,
                       public ::testing::WithParamInterface<std::tuple<Segment, const char*>> {};
INSTANTIATE_TEST_SUITE_P(What, ServerLossTest,
                         ::testing::Combine(::testing::Values(Segment::mapped, Segment::refused),
                                            ::testing::Values("fence", "fence_nb", "set", "get", "get_nb",
                                                              "event", "abort", "finalize")),
                         [](const auto& way) {
                           return name_of(std::get<0>(way.param)) + "_" + std::get<1>(way.param);
                         });

TEST_P(ServerLossTest, killed) {
  const auto [segment, what] = GetParam();
  Child server("serve", {"2"}, {});
  // One of the two: whatever it waits for does not come.
  auto options = reach(segment, 0);
  for (auto& variable : hear_variables(server)) options.variables.push_back(std::move(variable));
  Words words{what};
  if (segment != Segment::mapped) words.push_back("without segment");
  Child child("wait_for_server", words, options);
  child.expect("ready");
  const auto pid = server.pid();
  server.kill();
  EXPECT_EQ(server.wait(), SIGKILL);
  child.tell("server is gone");
  child.expect("PMIX_ERR_LOST_CONNECTION");
  child.expect_success();
  EXPECT_EQ(sockets_of(pid), 0u);
}

}  // namespace weft::test

/// LeakSanitizer asks before it looks: in the child of a fork the stacks of the parent's other threads are
/// gone, and what only these held looks leaked.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
  return weft::test::is_child_of_fork ? 1 : 0;
}
