// SPDX-License-Identifier: BSD-3-Clause
// Progress that a program makes by PMIx_Progress: with PMIX_EXTERNAL_PROGRESS from the start, or once it has
// stopped the library's thread.
#include <pmix_tool.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr pmix_status_t code_of_progress = PMIX_EXTERNAL_ERR_BASE - 6;

Infos by_calls() {
  Infos out;
  out.flag(PMIX_EXTERNAL_PROGRESS);
  PMIX_INFO_REQUIRED(&out.data()[0]);
  return out;
}

bool has_thread(std::string_view name) {
  const auto threads = threads_of();
  return std::find(threads.begin(), threads.end(), name) != threads.end();
}

/// What callbacks have told, and whether all of them ran on the thread that made this.
struct Progressed {
  const std::thread::id thread = std::this_thread::get_id();
  std::atomic<int> ends{0}, events{0};
  std::atomic<bool> is_elsewhere{false};
  bool stops = false;  ///< the next handler stops the library's thread

  void note(std::atomic<int>& count) {
    if (std::this_thread::get_id() != thread) is_elsewhere = true;
    ++count;
  }
  static void on_end(pmix_status_t status, void* self) {
    check_status(status, PMIX_SUCCESS);
    auto& heard = *static_cast<Progressed*>(self);
    heard.note(heard.ends);
  }
  static void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                       pmix_event_notification_cbfunc_fn_t done, void* open) {
    if (std::exchange(now->stops, false)) PMIx_Progress_thread_stop(nullptr, 0);
    now->note(now->events);
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
  }
  static Progressed* now;
};
Progressed* Progressed::now = nullptr;

bool progress_until(const std::function<bool()>& condition) {
  return eventually([&] {
    PMIx_Progress();
    return condition();
  });
}

void handle_progress_events() {
  auto code = code_of_progress;
  check(PMIx_Register_event_handler(&code, 1, nullptr, 0, Progressed::on_event, nullptr, nullptr) >= 0,
        "handler");
}

/// Every rank raises an event and hears those of all, without and with waiting.
void work_by_calls(const Client& client) {
  Progressed heard;
  Progressed::now = &heard;
  handle_progress_events();
  check_status(fence(), PMIX_SUCCESS);
  check_status(PMIx_Notify_event(code_of_progress, &client.me, PMIX_RANGE_NAMESPACE, nullptr, 0,
                                 Progressed::on_end, &heard),
               PMIX_SUCCESS);
  const auto everybody = static_cast<int>(client.size);
  check(progress_until([&] { return heard.events == everybody && heard.ends == 1; }), "events");
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, Progressed::on_end, &heard), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);  // behind the other
  check(progress_until([&] { return heard.ends == 2; }), "the fence");
  if (client.me.rank < 2) check_status(fence({client.peer(0), client.peer(1)}, collect()), PMIX_SUCCESS);
  char key[] = PMIX_QUERY_NAMESPACES;
  char* keys[] = {key, nullptr};
  pmix_query_t query{keys, nullptr, 0};
  pmix_info_t* results = nullptr;
  size_t count = 0;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  PMIX_INFO_FREE(results, count);
  check(!heard.is_elsewhere, "a callback ran on another thread");
}

int makes_progress(const Words&) {
  auto infos = by_calls();
  pmix_proc_t me{};
  check_status(PMIx_Init(&me, infos.data(), infos.size()), PMIX_SUCCESS);
  Client client;
  work_by_calls(client);
  check(!has_thread("weft-client"), "the library has a thread");
  client.finalize();
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  return 0;
}

int stops_the_thread(const Words& words) {
  Client client;
  Progressed before;
  Progressed::now = &before;
  handle_progress_events();
  check(has_thread("weft-client"), "there is no thread to stop");
  if (words.at(0) == "in_a_callback") {
    before.stops = true;
    check_status(
        PMIx_Notify_event(code_of_progress, &client.me, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr),
        PMIX_OPERATION_SUCCEEDED);
    check(eventually([&] { return before.events == 1; }), "no event");
  } else {
    Infos flush;
    flush.flag(PMIX_PROGRESS_THREAD_FLUSH);
    PMIx_Progress_thread_stop(flush.data(), flush.size());
  }
  check(eventually([] { return !has_thread("weft-client"); }), "the thread goes on");
  PMIx_Deregister_event_handler(0, nullptr, nullptr);
  work_by_calls(client);
  client.finalize();
  return 0;
}

/// A tool whose callbacks come in PMIx_Progress.
int makes_progress_as_a_tool(const Words&) {
  auto infos = by_calls();
  infos.pid(PMIX_SERVER_PIDINFO, ::getppid());
  check_status(PMIx_tool_init(nullptr, infos.data(), infos.size()), PMIX_SUCCESS);
  Progressed heard;
  Progressed::now = &heard;
  handle_progress_events();
  say("listening");
  check(progress_until([&] { return heard.events == 1; }), "no event");
  check(!heard.is_elsewhere && !has_thread("weft-client"), "the library has a thread");
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

int notices_the_end_of_its_server(const Words&) {
  auto infos = by_calls();
  check_status(PMIx_Init(nullptr, infos.data(), infos.size()), PMIX_SUCCESS);
  Client client;
  Progressed heard;
  Progressed::now = &heard;
  auto code = PMIX_ERR_LOST_CONNECTION;
  check(PMIx_Register_event_handler(&code, 1, nullptr, 0, Progressed::on_event, nullptr, nullptr) >= 0,
        "handler");
  say("listening");
  check(progress_until([&] { return heard.events == 1; }), "no event");
  check_status(PMIx_Unpublish(nullptr, nullptr, 0), PMIX_ERR_LOST_CONNECTION);
  return 0;
}

/// The loop of a host that is driven by calls, until these have ended well.
void drive_until_success(std::vector<Child>& children) {
  for (auto& child : children) {
    EXPECT_TRUE(progress_until([&] { return child.ended(); }));
    child.expect_success();
  }
}

class ProgressTest : public Multiproc {};

TEST_F(ProgressTest, of_clients_is_their_own) {
  Host host;
  host.add_job("job", 3);
  auto clients = host.start_all("job", 3, "makes_progress");
  expect_success(clients);
}
TEST_F(ProgressTest, of_a_client_without_a_segment) {
  all_run(Segment::refused, 2, "makes_progress");
}
TEST_F(ProgressTest, is_the_clients_once_the_thread_is_stopped) {
  for (const char* where : {"outside", "in_a_callback"})
    all_run(Segment::mapped, 2, "stops_the_thread", {where});
}
TEST_F(ProgressTest, of_a_tool_is_its_own) {
  Host host;
  Child tool("makes_progress_as_a_tool", {}, {});
  tool.expect("listening");
  const auto me = proc_of("host", 0);
  EXPECT_EQ(PMIx_Notify_event(code_of_progress, &me, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  tool.expect_success();
}
TEST_F(ProgressTest, tells_of_a_server_that_went) {
  Child client;
  {
    Host host;
    host.add_job("job", 1);
    client = host.start("job", 0, "notices_the_end_of_its_server");
    client.expect("listening");
  }
  client.expect_success();
}
TEST_F(ProgressTest, of_a_server_is_its_hosts) {
  Upcalls upcalls;
  const auto host_thread = std::this_thread::get_id();
  std::atomic<int> connected{0}, elsewhere{0};
  upcalls.connected = [&](const pmix_proc_t&, void*, pmix_op_cbfunc_t, void*) {
    ++connected;
    elsewhere += std::this_thread::get_id() == host_thread ? 0 : 1;
    return PMIX_OPERATION_SUCCEEDED;
  };
  Host host(upcalls, {}, by_calls());
  EXPECT_FALSE(has_thread("weft-server"));
  host.add_job("job", 2);
  auto clients = host.start_all("job", 2, "makes_progress");
  drive_until_success(clients);
  EXPECT_EQ(connected, 2);
  EXPECT_EQ(elsewhere, 0);
}
TEST_F(ProgressTest, is_the_hosts_once_the_thread_is_stopped) {
  Host host;
  host.add_job("job", 2);
  EXPECT_TRUE(has_thread("weft-server"));
  PMIx_Progress_thread_stop(nullptr, 0);
  EXPECT_FALSE(has_thread("weft-server"));
  auto clients = host.start_all("job", 2, "makes_progress");
  drive_until_success(clients);
  host.remove_job("job");
}
TEST_F(ProgressTest, may_be_made_by_several_threads) {
  Host host({}, {}, by_calls());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!is_over) PMIx_Progress();
    });
  host.add_job("job", 2);
  auto clients = host.start_all("job", 2, "makes_progress");
  expect_success(clients);
  is_over = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace

void add_progress_programs(Programs& programs) {
  programs.add("makes_progress", makes_progress);
  programs.add("stops_the_thread", stops_the_thread);
  programs.add("makes_progress_as_a_tool", makes_progress_as_a_tool);
  programs.add("notices_the_end_of_its_server", notices_the_end_of_its_server);
}

}  // namespace weft::test
