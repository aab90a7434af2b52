// SPDX-License-Identifier: BSD-3-Clause
// What a host hears by its upcall notify_event.
#include <mutex>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

struct Notified {
  pmix_status_t code;
  pmix_rank_t source, affected;
  pmix_data_range_t range;
  bool is_for_default_handlers, is_stamped;
};
std::mutex notified_mutex;
std::vector<Notified> notified_events;  // the module's functions carry no context

pmix_status_t on_notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                              pmix_info_t* infos, size_t ninfo, pmix_op_cbfunc_t, void*) {
  Notified event{code, source->rank, PMIX_RANK_UNDEF, range, true, false};
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC)) event.affected = infos[i].value.data.proc->rank;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_NON_DEFAULT)) event.is_for_default_handlers = false;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_TIMESTAMP)) event.is_stamped = true;
  }
  {
    const std::lock_guard lock(notified_mutex);
    notified_events.push_back(event);
  }
  // Hosts call into the library from inside its upcall. The call serves meanwhile, and may make another
  // upcall.
  if (code == PMIX_ERR_PROC_ABORTED) Host::now()->remove_client(*source);
  return PMIX_OPERATION_SUCCEEDED;
}

int stays(const Words&) {
  Client client;
  say("here");
  (void)listen();
  client.finalize();
  return 0;
}

/// One event without a stamp, one with.
int raises_two(const Words&) {
  Client client;
  pmix_info_t stamp;
  PMIX_INFO_CONSTRUCT(&stamp);
  const time_t then = 42;
  check_status(PMIx_Info_load(&stamp, PMIX_EVENT_TIMESTAMP, &then, PMIX_TIME), PMIX_SUCCESS);
  for (const size_t count : {0, 1})
    check_status(PMIx_Notify_event(7, &client.me, PMIX_RANGE_GLOBAL, &stamp, count, nullptr, nullptr),
                 PMIX_OPERATION_SUCCEEDED);
  client.finalize();
  return 0;
}

class HostEventsTest : public Multiproc {
 protected:
  void SetUp() override {
    Multiproc::SetUp();
    notified_events.clear();
  }
  static std::vector<Notified> all() {
    const std::lock_guard lock(notified_mutex);
    return notified_events;
  }
};

TEST_F(HostEventsTest, a_lost_process_is_handed_to_the_host) {
  Upcalls upcalls;
  upcalls.others = [](pmix_server_module_t& module) { module.notify_event = on_notify_event; };
  Host host(upcalls);
  host.add_job("job", 2);
  auto ranks = host.start_all("job", 2, "stays");
  for (auto& rank : ranks) rank.expect("here");
  ranks[1].kill();
  EXPECT_TRUE(eventually([] { return all().size() == 2; }));
  ranks[0].tell("go");
  ranks[0].expect_success();
  host.remove_job("job");
  const auto told = all();
  ASSERT_EQ(told.size(), 2u) << "an orderly end is none that was detected";
  EXPECT_EQ(told[0].code, PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(told[1].code, PMIX_ERR_PROC_TERM_WO_SYNC);
  for (const auto& event : told) {
    EXPECT_EQ(event.source, 1u);
    EXPECT_EQ(event.affected, 1u);
    EXPECT_EQ(event.range, PMIX_RANGE_GLOBAL);
    EXPECT_FALSE(event.is_for_default_handlers);
    EXPECT_FALSE(event.is_stamped) << "mpirun says that it cannot send PMIX_TIME";
  }
}

TEST_F(HostEventsTest, the_stamp_of_a_process_reaches_the_host_and_none_else_does) {
  Upcalls upcalls;
  upcalls.others = [](pmix_server_module_t& module) { module.notify_event = on_notify_event; };
  Host host(upcalls);
  host.add_job("job", 1);
  host.start("job", 0, "raises_two").expect_success();
  EXPECT_TRUE(eventually([] { return all().size() == 2; }));
  const auto told = all();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_FALSE(told[0].is_stamped);
  EXPECT_TRUE(told[1].is_stamped);
}

}  // namespace

void add_host_event_programs(Programs& programs) {
  programs.add("stays", stays);
  programs.add("raises_two", raises_two);
}

}  // namespace weft::test
