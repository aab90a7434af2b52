// SPDX-License-Identifier: BSD-3-Clause
// A tool beside a job: what it reads, hears and says, and how it gets in.
#include <fcntl.h>
#include <pmix_tool.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "tests/multiproc/host.hpp"

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

// ---- tests

class ToolRole : public Multiproc {};

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
  programs.add("tool_that_orders_a_clean_up", tool_that_orders_a_clean_up);
}

}  // namespace weft::test
