// SPDX-License-Identifier: BSD-3-Clause
// A tool beside a job: what it reads, hears and says, and how it gets in.
#include <fcntl.h>
#include <pmix_tool.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr pmix_status_t code_of_tool = PMIX_EXTERNAL_ERR_BASE - 20,
                        code_of_rank = PMIX_EXTERNAL_ERR_BASE - 21;

/// The latest event of each code that a handler saw, by its source.
struct Heard {
  std::mutex mutex;
  std::vector<std::pair<pmix_status_t, pmix_proc_t>> events;
  static Heard& of_process() {
    static Heard heard;
    return heard;
  }
  static void take(size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t*, size_t, pmix_info_t*,
                   size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
    {
      auto& heard = of_process();
      const std::lock_guard lock(heard.mutex);
      heard.events.emplace_back(code, *source);
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
  }
  /// Waits for it.
  pmix_proc_t source_of(pmix_status_t code) {
    pmix_proc_t out{};
    check(eventually([&] {
            const std::lock_guard lock(mutex);
            for (const auto& [each, source] : events)
              if (each == code) {
                out = source;
                return true;
              }
            return false;
          }),
          "the event did not come");
    return out;
  }
};

int listen_for(pmix_status_t code) {
  return PMIx_Register_event_handler(&code, 1, nullptr, 0, Heard::take, nullptr, nullptr);
}

pmix_status_t raise(pmix_status_t code, pmix_data_range_t range) {
  return PMIx_Notify_event(code, nullptr, range, nullptr, 0, nullptr, nullptr);
}

pmix_status_t init(const Infos& infos, pmix_proc_t* me = nullptr) {
  return PMIx_tool_init(me, const_cast<pmix_info_t*>(infos.data()), infos.size());
}

/// The process that started this one.
Infos parent() {
  Infos out;
  out.pid(PMIX_SERVER_PIDINFO, ::getppid());
  return out;
}

/// Every call of a tool whose answer is a server's.
void ask_in_vain(pmix_status_t wanted) {
  const auto someone = proc_of("job", 0);
  Infos infos;
  infos.text("key", "value");
  pmix_pdata_t data{};
  std::strcpy(data.key, "key");
  check_status(get(someone, PMIX_JOB_SIZE).status, wanted);
  check_status(listen_for(code_of_rank), wanted);
  check_status(raise(code_of_tool, PMIX_RANGE_GLOBAL), wanted);
  check_status(PMIx_Publish(infos.data(), infos.size()), wanted);
  check_status(PMIx_Lookup(&data, 1, nullptr, 0), wanted);
  check_status(PMIx_Unpublish(nullptr, nullptr, 0), wanted);
  check_status(PMIx_Job_control(&someone, 1, infos.data(), infos.size(), nullptr, nullptr), wanted);
  check_status(PMIx_Log(infos.data(), infos.size(), nullptr, 0), wanted);
  check_status(PMIx_Allocation_request(PMIX_ALLOC_NEW, infos.data(), infos.size(), nullptr, nullptr), wanted);
  check_status(PMIx_IOF_pull(&someone, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, nullptr),
               wanted);
  check_status(PMIx_IOF_push(&someone, 1, nullptr, nullptr, 0, nullptr, nullptr), wanted);
}

int tool_without_a_server(const Words&) {
  ask_in_vain(PMIX_ERR_INIT);
  Infos alone;
  alone.flag(PMIX_TOOL_DO_NOT_CONNECT);
  check_status(init(alone), PMIX_SUCCESS);
  ask_in_vain(PMIX_ERR_UNREACH);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  ask_in_vain(PMIX_ERR_INIT);
  return 0;
}

int tool_reads(const Words&) {
  pmix_proc_t me{};
  check_status(init(parent(), &me), PMIX_SUCCESS);
  const auto job = proc_of("job", PMIX_RANK_WILDCARD), rank = proc_of("job", 0);
  check_equal(get(job, PMIX_JOB_SIZE).u32(), 2);
  check_equal(get(rank, "of_rank").u64(), 7);
  check_equal(get(rank, PMIX_LOCAL_RANK).u16(), 0);
  check_status(get(rank, "of_rank", optional()).status, PMIX_ERR_NOT_FOUND);
  Infos now;
  now.flag(PMIX_IMMEDIATE);
  check_status(get(rank, "of_no_rank", now).status, PMIX_ERR_NOT_FOUND);
  check_status(get(proc_of("no_job", 0), "of_rank", now).status, PMIX_ERR_NOT_FOUND);
  check_status(get(me, "of_rank", now).status, PMIX_ERR_NOT_FOUND);
  check(get(rank, nullptr).there(), "everything about a rank");
  Waiter later;
  check_status(PMIx_Get_nb(&rank, "of_rank", nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
  check_status(later.wait(), PMIX_SUCCESS);
  check_equal(later.number, 7);

  pmix_value_t mine;
  const std::uint64_t number = 9;
  PMIX_VALUE_LOAD(&mine, &number, PMIX_UINT64);
  check_status(PMIx_Store_internal(&rank, "of_rank", &mine), PMIX_SUCCESS);
  check_equal(get(rank, "of_rank").u64(), 9);

  pmix_proc_t* peers = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Resolve_peers(nullptr, "job", &peers, &count), PMIX_SUCCESS);
  check_equal(count, 2);
  std::free(peers);
  char* nodes = nullptr;
  check_status(PMIx_Resolve_nodes("job", &nodes), PMIX_SUCCESS);
  std::free(nodes);
  check_status(PMIx_Put(PMIX_GLOBAL, "key", &mine), PMIX_ERR_INIT);  // a tool has no card
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

int rank_with_a_value(const Words&) {
  Client client;
  if (client.me.rank == 0) check_status(put("of_rank", 7), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  say("committed");
  await("end");
  client.finalize();
  return 0;
}

int tool_hears_and_says(const Words&) {
  pmix_proc_t me{};
  check_status(init(parent(), &me), PMIX_SUCCESS);
  const auto handler = listen_for(code_of_rank);
  check(handler >= 0, "no handler");
  say("listening");
  auto& heard = Heard::of_process();
  check(PMIX_CHECK_NSPACE(heard.source_of(code_of_rank).nspace, "job"), "the rank is not the source");
  check_status(raise(code_of_tool, PMIX_RANGE_LOCAL), PMIX_OPERATION_SUCCEEDED);
  check_status(raise(code_of_tool, PMIX_RANGE_INVALID), PMIX_ERR_BAD_PARAM);
  await("end");
  check_status(PMIx_Deregister_event_handler(static_cast<size_t>(handler), nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

int rank_that_says_and_hears(const Words&) {
  Client client;
  check(listen_for(code_of_tool) >= 0, "no handler");
  check_status(raise(code_of_rank, PMIX_RANGE_LOCAL), PMIX_OPERATION_SUCCEEDED);
  const auto source = Heard::of_process().source_of(code_of_tool);
  check(!PMIX_CHECK_NSPACE(source.nspace, "job") && source.nspace[0] != '\0', "the tool is not the source");
  say("heard");
  await("end");
  client.finalize();
  return 0;
}

/// Words: a file that goes with the tool.
int tool_that_orders_a_clean_up(const Words& words) {
  check_status(init(parent()), PMIX_SUCCESS);
  Infos order;
  order.text(PMIX_REGISTER_CLEANUP, words.at(0));
  check_status(PMIx_Job_control(nullptr, 0, order.data(), order.size(), nullptr, nullptr), PMIX_SUCCESS);
  say("ordered");
  (void)listen();
  return 0;
}

/// Words: the status wanted; the name that it wants, or none; then the name that it is to have.
int tool_that_enters(const Words& words) {
  auto infos = parent();
  if (!words.at(1).empty()) infos.text(PMIX_TOOL_NSPACE, words[1]).number(PMIX_TOOL_RANK, 5);
  pmix_proc_t me{};
  const pmix_status_t wanted = std::stoi(words[0]);
  check_status(init(infos, &me), wanted);
  if (wanted == PMIX_SUCCESS) {
    check_equal(std::string_view(me.nspace), words.at(2));
    check_equal(me.rank, std::stoul(words.at(3)));
    say("in");
    await("end");
    check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  }
  check_status(PMIx_tool_finalize(), PMIX_ERR_INIT);
  return 0;
}

// ---- tests

class ToolRole : public Multiproc {};

/// A host that decides on tools.
struct Door {
  std::function<void(pmix_tool_connection_cbfunc_t, void*)> decide;
  std::mutex mutex;
  std::vector<std::string> asked;  ///< the attributes of each call

  Door() { now = this; }
  ~Door() { now = nullptr; }
  static inline Door* now = nullptr;  // the module's functions carry no context
  static void on_tool(pmix_info_t* infos, size_t ninfo, pmix_tool_connection_cbfunc_t done, void* open) {
    std::string line;
    for (size_t i = 0; i < ninfo; ++i) {
      const auto& value = infos[i].value;
      line += infos[i].key + std::string("=");
      line += value.type == PMIX_STRING ? value.data.string : std::to_string(value.data.uint32);
      line += " ";
    }
    {
      const std::lock_guard lock(now->mutex);
      now->asked.push_back(line);
    }
    now->decide(done, open);
  }
  Upcalls upcalls() const {
    Upcalls out;
    out.others = [](pmix_server_module_t& module) { module.tool_connected = on_tool; };
    return out;
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return asked;
  }
  static std::string user() {
    return PMIX_USERID "=" + std::to_string(::getuid()) + " " PMIX_GRPID "=" + std::to_string(::getgid()) +
           " ";
  }
};

Child entering(pmix_status_t wanted, const std::string& name = "", const std::string& gets = "",
               pmix_rank_t rank = 0) {
  return Child("tool_that_enters", {std::to_string(wanted), name, gets, std::to_string(rank)}, {});
}

void let_go(Child& tool) {
  tool.expect("in");
  tool.tell("end");
  tool.expect_success();
}

TEST_F(ToolRole, has_the_name_that_it_brings_unless_that_is_taken) {
  Host host;
  host.add_job("job", 1);
  auto tool = entering(PMIX_SUCCESS, "mine", "mine", 5);
  tool.expect("in");
  entering(PMIX_ERR_EXISTS, "mine").expect_success();
  entering(PMIX_ERR_EXISTS, "job").expect_success();
  tool.tell("end");
  tool.expect_success();
}

TEST_F(ToolRole, is_let_in_and_named_by_the_host) {
  Door door;
  Host host(door.upcalls());
  door.decide = [](pmix_tool_connection_cbfunc_t done, void* open) {
    auto name = proc_of("from.the.host", 3);
    done(PMIX_SUCCESS, &name, open);
    done(PMIX_ERR_NOT_FOUND, nullptr, open);  // without effect
  };
  auto first = entering(PMIX_SUCCESS, "", "from.the.host", 3);
  first.expect("in");
  entering(PMIX_ERR_EXISTS).expect_success();
  first.tell("end");
  first.expect_success();
  auto named = entering(PMIX_SUCCESS, "mine", "from.the.host", 3);
  let_go(named);
  const auto version = std::string(PMIX_VERSION_INFO "=") + PMIx_Get_version() + " ";
  EXPECT_EQ(door.all(), (std::vector<std::string>{
                            Door::user() + version, Door::user() + version,
                            Door::user() + PMIX_TOOL_NSPACE "=mine " PMIX_TOOL_RANK "=5 " + version}));
}

TEST_F(ToolRole, keeps_its_name_where_the_host_gives_none) {
  Door door;
  Host host(door.upcalls());
  door.decide = [](pmix_tool_connection_cbfunc_t done, void* open) { done(PMIX_SUCCESS, nullptr, open); };
  auto tool = entering(PMIX_SUCCESS, "mine", "mine", 5);
  let_go(tool);
}

TEST_F(ToolRole, is_refused_with_the_hosts_status) {
  Door door;
  Host host(door.upcalls());
  door.decide = [](pmix_tool_connection_cbfunc_t done, void* open) {
    done(PMIX_ERR_NO_PERMISSIONS, nullptr, open);
  };
  entering(PMIX_ERR_NO_PERMISSIONS).expect_success();
  door.decide = [](pmix_tool_connection_cbfunc_t done, void* open) {
    auto name = proc_of("unused", 0);
    Host::now()->later.run([=]() mutable { done(PMIX_EXTERNAL_ERR_BASE - 30, &name, open); });
  };
  entering(PMIX_EXTERNAL_ERR_BASE - 30).expect_success();
}

TEST_F(ToolRole, waits_for_a_host_that_decides_late) {
  Door door;
  Host host(door.upcalls());
  pmix_tool_connection_cbfunc_t answer = nullptr;
  std::atomic<void*> asked{nullptr};
  door.decide = [&](pmix_tool_connection_cbfunc_t done, void* open) {
    answer = done;
    asked = open;
  };
  auto tool = entering(PMIX_SUCCESS, "", "late", 0);
  ASSERT_TRUE(eventually([&] { return asked.load() != nullptr; }));
  host.add_job("meanwhile", 1);  // the server does other things
  auto name = proc_of("late", PMIX_RANK_UNDEF);
  answer(PMIX_SUCCESS, &name, asked.load());
  let_go(tool);
}

TEST_F(ToolRole, that_ends_before_the_host_decides_leaves_nothing) {
  Door door;
  Host host(door.upcalls());
  pmix_tool_connection_cbfunc_t answer = nullptr;
  std::atomic<void*> asked{nullptr};
  door.decide = [&](pmix_tool_connection_cbfunc_t done, void* open) {
    answer = done;
    asked = open;
  };
  auto tool = entering(PMIX_SUCCESS);
  ASSERT_TRUE(eventually([&] { return asked.load() != nullptr; }));
  tool.kill();
  EXPECT_NE(tool.wait(), -1);
  auto name = proc_of("gone", 0);
  answer(PMIX_SUCCESS, &name, asked.load());
  door.decide = [&](pmix_tool_connection_cbfunc_t done, void* open) { done(PMIX_SUCCESS, &name, open); };
  auto next = entering(PMIX_SUCCESS, "", "gone", 0);
  let_go(next);
}

TEST_F(ToolRole, without_a_server_its_calls_are_in_vain) {
  Host host;
  Child("tool_without_a_server", {}, {}).expect_success();
}

TEST_F(ToolRole, reads_what_the_server_knows) {
  Host host;
  host.add_job("job", 2);
  auto ranks = host.start_all("job", 2, "rank_with_a_value");
  for (auto& rank : ranks) rank.expect("committed");
  Child("tool_reads", {}, {}).expect_success();
  for (auto& rank : ranks) rank.tell("end");
  expect_success(ranks);
}

TEST_F(ToolRole, hears_events_and_raises_them) {
  Host host;
  host.add_job("job", 1);
  Child tool("tool_hears_and_says", {}, {});
  tool.expect("listening");
  auto rank = host.start("job", 0, "rank_that_says_and_hears");
  rank.expect("heard");
  rank.tell("end");
  rank.expect_success();
  tool.tell("end");
  tool.expect_success();
}

TEST_F(ToolRole, is_cleaned_up_after) {
  const Scratch scratch;
  const auto file = scratch.path() + "/file";
  ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  Host host;
  Child tool("tool_that_orders_a_clean_up", {file}, {});
  tool.expect("ordered");
  tool.kill();
  EXPECT_NE(tool.wait(), -1);
  EXPECT_TRUE(eventually([&] { return ::access(file.c_str(), F_OK) != 0; }));
}

}  // namespace

void add_tool_role_programs(Programs& programs) {
  programs.add("tool_without_a_server", tool_without_a_server);
  programs.add("tool_reads", tool_reads);
  programs.add("rank_with_a_value", rank_with_a_value);
  programs.add("tool_hears_and_says", tool_hears_and_says);
  programs.add("rank_that_says_and_hears", rank_that_says_and_hears);
  programs.add("tool_that_enters", tool_that_enters);
  programs.add("tool_that_orders_a_clean_up", tool_that_orders_a_clean_up);
}

}  // namespace weft::test
