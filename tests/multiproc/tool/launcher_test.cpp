// SPDX-License-Identifier: BSD-3-Clause
// Tools that are the servers of processes that they start: PMIX_LAUNCHER and PMIx_tool_set_server_module.
#include <pmix_tool.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr pmix_status_t from_launcher = -4101, from_child = -4102, from_server = -4103;

std::atomic<int> heard_of_child{0}, heard_of_server{0}, published{0};

void take(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
          pmix_event_notification_cbfunc_fn_t done, void* open) {
  if (code == from_child) ++heard_of_child;
  if (code == from_server) ++heard_of_server;
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}

pmix_status_t notify(pmix_status_t code) {
  return PMIx_Notify_event(code, nullptr, PMIX_RANGE_GLOBAL, nullptr, 0, nullptr, nullptr);
}

/// A process that a launcher starts.
int launched(const Words&) {
  Client client;
  check_equal(client.size, 1u);
  std::atomic<int> heard{0};
  static std::atomic<int>* counter = nullptr;
  counter = &heard;
  pmix_status_t code = from_launcher;
  check(PMIx_Register_event_handler(
            &code, 1, nullptr, 0,
            [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
               pmix_event_notification_cbfunc_fn_t done, void* open) {
              ++*counter;
              done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
            },
            nullptr, nullptr) >= 0,
        "no handler");
  Infos infos;
  infos.text("port", "here");
  check_status(PMIx_Publish(infos.data(), infos.size()), PMIX_SUCCESS);
  check_status(notify(from_child), PMIX_OPERATION_SUCCEEDED);
  say("up");
  check(eventually([&] { return heard == 1; }), "the launcher's event did not come");
  client.finalize();
  return 0;
}

pmix_server_module_t module() {
  pmix_server_module_t out{};
  out.publish = [](const pmix_proc_t*, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
    ++published;
    return PMIX_OPERATION_SUCCEEDED;
  };
  return out;
}

/// As a tool that is a launcher already: one process, served to its end.
void launch_one() {
  auto upcalls = module();
  check_status(PMIx_tool_set_server_module(&upcalls), PMIX_SUCCESS);
  pmix_status_t codes[] = {from_child, from_server};
  check(PMIx_Register_event_handler(codes, 2, nullptr, 0, take, nullptr, nullptr) >= 0, "no handler");
  Infos job;
  job.number(PMIX_JOB_SIZE, 1);
  check_status(PMIx_server_register_nspace("launched", 1, job.data(), job.size(), nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  const auto proc = proc_of("launched", 0);
  check_status(PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  char** env = nullptr;
  check_status(PMIx_server_setup_fork(&proc, &env), PMIX_SUCCESS);
  Child::Options options;
  for (char** entry = env; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    options.variables.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    std::free(*entry);
  }
  std::free(env);
  Child child("launched", {}, options);
  check_equal(child.hear(), std::string("up"));
  check_equal(published.load(), 1);
  check(eventually([] { return heard_of_child == 1; }), "the child's event did not come");
  check_equal(get(proc_of("launched", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).u32(), 1u);
  check_status(notify(from_launcher), PMIX_OPERATION_SUCCEEDED);
  check_equal(child.wait(), 0);
  check_equal(heard_of_child.load(), 1);
}

Infos launcher() {
  Infos out;
  out.flag(PMIX_LAUNCHER);
  return out;
}

int launches_alone(const Words& words) {
  check_status(PMIx_tool_set_server_module(nullptr), PMIX_ERR_INIT);
  Infos infos = words[0] == "attribute" ? launcher() : Infos();
  infos.flag(PMIX_TOOL_DO_NOT_CONNECT);
  for (int life = 0; life < 2; ++life) {
    heard_of_child = published = 0;
    pmix_proc_t me{};
    check_status(PMIx_tool_init(&me, infos.data(), infos.size()), PMIX_SUCCESS);
    check_status(PMIx_tool_set_server_module(nullptr), PMIX_ERR_BAD_PARAM);
    launch_one();
    check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
    check_status(PMIx_server_register_nspace("late", 0, nullptr, 0, nullptr, nullptr), PMIX_ERR_INIT);
  }
  return 0;
}

/// What its own server does not know the server above tells, and events come from both.
int launches_under_a_server(const Words&) {
  Infos infos = launcher();
  infos.pid(PMIX_SERVER_PIDINFO, ::getppid());
  check_status(PMIx_tool_init(nullptr, infos.data(), infos.size()), PMIX_SUCCESS);
  launch_one();
  check_equal(get(proc_of("above", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).u32(), 3u);
  say("raise");
  check(eventually([] { return heard_of_server == 1; }), "the server's event did not come");
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

class LauncherTest : public Multiproc {};

TEST_F(LauncherTest, a_tool_without_a_server_serves_what_it_starts) {
  for (const char* how : {"attribute", "module"}) Child("launches_alone", {how}, {}).expect_success();
}

TEST_F(LauncherTest, a_tool_of_a_server_serves_what_it_starts) {
  Host host;
  host.add_job("above", 3);
  Child tool("launches_under_a_server", {}, {});
  tool.expect("raise");
  EXPECT_EQ(notify(from_server), PMIX_OPERATION_SUCCEEDED);
  tool.expect_success();
}

TEST_F(LauncherTest, a_server_is_no_launcher_besides) {
  Host host;
  auto infos = launcher();
  infos.flag(PMIX_TOOL_DO_NOT_CONNECT);
  EXPECT_EQ(PMIx_tool_init(nullptr, infos.data(), infos.size()), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_tool_finalize(), PMIX_ERR_INIT);
}

}  // namespace

void add_launcher_programs(Programs& programs) {
  programs.add("launched", launched);
  programs.add("launches_alone", launches_alone);
  programs.add("launches_under_a_server", launches_under_a_server);
}

}  // namespace weft::test
