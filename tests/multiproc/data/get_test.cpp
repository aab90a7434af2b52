// SPDX-License-Identifier: BSD-3-Clause
// Get as the Standard and programs written for other libraries have it: NULL as the name of the caller, what
// a failure leaves behind, keys that come late, a host's own Gets.
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- clients

/// A Get of NULL, which names the caller.
Got get_own(const char* key) {
  pmix_value_t* value = nullptr;
  const auto status = PMIx_Get(nullptr, key, nullptr, 0, &value);
  return {status, status == PMIX_SUCCESS ? value : nullptr};
}

void check_same_process(const Got& got, const pmix_proc_t& wanted) {
  check_status(got.status, PMIX_SUCCESS);
  check(got.value().type == PMIX_PROC && got.value().data.proc->rank == wanted.rank &&
            std::strcmp(got.value().data.proc->nspace, wanted.nspace) == 0,
        "not the caller");
}

int ask_about_itself(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  check_status(put("mine", std::uint64_t{client.me.rank} + 10), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_equal(get_own("mine").u64(), client.me.rank + 10);
  check_equal(get_own(PMIX_RANK).rank(), client.me.rank);
  check_equal(get_own(PMIX_NSPACE).text(), client.me.nspace);
  check_equal(get(client.job, PMIX_NSPACE).text(), client.me.nspace);
  for (const auto rank : {PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF, PMIX_RANK_INVALID})
    check_equal(get(client.peer(rank), PMIX_RANK).rank(), client.me.rank);
  check_equal(get(other, PMIX_RANK).rank(), other.rank);
  check_same_process(get_own(PMIX_PROCID), client.me);
  check_same_process(get(other, PMIX_PROCID), client.me);
  check_same_process(get(client.job, PMIX_PROCID), client.me);
  Waiter later;
  check_status(PMIx_Get_nb(nullptr, "mine", nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
  check_status(later.wait(), PMIX_SUCCESS);
  check_equal(later.number, client.me.rank + 10);
  Waiter itself;
  check_status(PMIx_Get_nb(nullptr, PMIX_PROCID, nullptr, 0, Waiter::on_value, &itself), PMIX_SUCCESS);
  check_status(itself.wait(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A key that its rank has deleted is not there: for the rank itself at once, for others once they may see
/// the commit.
int delete_keys(const Words&) {
  Client client;
  const auto size = get(client.job, PMIX_JOB_SIZE).u32();
  const auto other =
      client.peer((client.me.rank + size / 2) % size);  // where there are two nodes, on the other one
  for (const char* key : {"gone", "kept", "back"}) check_status(put(key, std::uint64_t{1}), PMIX_SUCCESS);
  check_status(put("inside", std::uint64_t{1}, PMIX_INTERNAL), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_equal(get(other, "gone").u64(), 1);
  check_equal(get(client.me, "inside").u64(), 1);
  check_status(fence(), PMIX_SUCCESS);

  check_status(PMIx_Put(PMIX_DEL_GLOBAL, "gone", nullptr), PMIX_SUCCESS);
  check_status(PMIx_Put(PMIX_DEL_GLOBAL, "back", nullptr), PMIX_SUCCESS);
  check_status(PMIx_Put(PMIX_DEL_INTERNAL, "inside", nullptr), PMIX_SUCCESS);
  check_status(PMIx_Put(PMIX_GLOBAL, "gone", nullptr), PMIX_ERR_BAD_PARAM);
  check_status(get(client.me, "gone").status, PMIX_ERR_NOT_FOUND);
  check_status(get(client.me, "inside").status, PMIX_ERR_NOT_FOUND);
  check_status(put("back", std::uint64_t{2}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (const auto& whose : {client.me, other}) {
    check_status(get(whose, "gone", optional()).status, PMIX_ERR_NOT_FOUND);
    check_equal(get(whose, "kept").u64(), 1);
    check_equal(get(whose, "back").u64(), 2);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The contents of *val after a Get that fails.
int fail_to_get(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  check_status(put("remote", std::uint64_t{1}, PMIX_REMOTE), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  pmix_value_t stale;
  PMIX_VALUE_CONSTRUCT(&stale);
  for (const char* key : {"none", "remote", "pmix.none"}) {
    pmix_value_t* value = &stale;
    check_status(PMIx_Get(&other, key, optional().data(), optional().size(), &value), PMIX_ERR_NOT_FOUND);
    check(value == nullptr, "a failing Get left a value");
  }
  pmix_value_t* mine = &stale;
  const Infos in_place = std::move(Infos().flag(PMIX_OPTIONAL).flag(PMIX_GET_STATIC_VALUES));
  check_status(PMIx_Get(&other, "none", in_place.data(), in_place.size(), &mine), PMIX_ERR_NOT_FOUND);
  check(mine == &stale, "the caller's own value was lost");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A key that some rank puts, of which the caller knows only that.
int wait_for_some_rank(const Words&) {
  Client client;
  if (client.me.rank == 1) {
    check_status(put("early", std::uint64_t{1}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    await("commit");
    check_status(put("late", std::uint64_t{12}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  } else {
    check_status(fence(), PMIX_SUCCESS);
    const auto some_rank = client.peer(PMIX_RANK_UNDEF);
    check_status(get(some_rank, "late", std::move(Infos().flag(PMIX_IMMEDIATE))).status, PMIX_ERR_NOT_FOUND);
    Waiter waiter;
    check_status(PMIx_Get_nb(&some_rank, "late", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
    say("asking");
    check_equal(get(some_rank, "late").u64(), 12);
    check_status(waiter.wait(), PMIX_SUCCESS);
    check_equal(waiter.number, 12);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Keys of a rank of another node that come with its first and with its second commit, both asked for before.
/// Then values that change between full fences.
int far_keys_come_late(const Words&) {
  ::setenv("WEFT_GET_WAIT", "inf", 1);  // however slow the machine
  Client client;
  const auto far = client.peer((client.me.rank + 2) % 4);
  if (client.me.rank < 2) {
    Waiter first, second, again;
    check_status(PMIx_Get_nb(&far, "first", nullptr, 0, Waiter::on_value, &first), PMIX_SUCCESS);
    check_status(PMIx_Get_nb(&far, "second", nullptr, 0, Waiter::on_value, &second), PMIX_SUCCESS);
    check_status(fence({client.me, far}), PMIX_SUCCESS);
    check_status(first.wait(), PMIX_SUCCESS);
    check_status(PMIx_Get_nb(&far, "second", nullptr, 0, Waiter::on_value, &again), PMIX_SUCCESS);
    check(!second.over() && !again.over(), "a key that was not put yet");
    check_status(fence({client.me, far}), PMIX_SUCCESS);
    check_status(second.wait(), PMIX_SUCCESS);
    check_status(again.wait(), PMIX_SUCCESS);
    check_equal(first.number * 100 + second.number * 10 + again.number, 122);
  } else {
    check_status(fence({far, client.me}), PMIX_SUCCESS);
    check_status(put("first", std::uint64_t{1}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({far, client.me}), PMIX_SUCCESS);
    check_status(put("second", std::uint64_t{2}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  for (std::uint64_t round = 0; round < 3; ++round) {
    check_status(put("changing", round * 10 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "changing").u64(), round * 10 + r);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// A value of `key` for one group of many, as Open MPI keeps communicator ids.
pmix_status_t put_for(const char* key, std::uint32_t group, std::uint64_t number) {
  Infos parts = std::move(Infos().unsigned64(key, number).number(PMIX_GROUP_CONTEXT_ID, group));
  pmix_data_array_t array{PMIX_INFO, parts.size(), parts.data()};
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, &value);
}
Infos of_group(std::uint32_t group) {
  Infos infos = std::move(Infos().number(PMIX_GROUP_CONTEXT_ID, group));
  PMIX_INFO_SET_QUALIFIER(&infos.data()[0]);
  return infos;
}

int qualify_keys(const Words&) {
  Client client;
  for (const std::uint32_t group : {1, 2})
    check_status(put_for("local.cid", group, 10 * group + client.me.rank), PMIX_SUCCESS);
  check_status(put("plain", std::uint64_t{1}), PMIX_SUCCESS);
  check_equal(get(client.me, "local.cid", of_group(2)).u64(), 20 + client.me.rank);  // before the commit
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    for (const std::uint32_t group : {1, 2})
      check_equal(get(client.peer(r), "local.cid", of_group(group)).u64(), 10 * group + r);
    check_status(get(client.peer(r), "local.cid", optional()).status, PMIX_ERR_NOT_FOUND);
    auto third = of_group(3);
    third.flag(PMIX_OPTIONAL);
    check_status(get(client.peer(r), "local.cid", third).status, PMIX_ERR_NOT_FOUND);
    auto odd = of_group(1);
    odd.flag(PMIX_OPTIONAL);
    check_status(get(client.peer(r), "plain", odd).status, PMIX_ERR_NOT_FOUND);
  }
  const Infos second = of_group(2);
  const auto other = client.peer(client.me.rank ^ 1);
  Waiter later;
  check_status(PMIx_Get_nb(&other, "local.cid", second.data(), second.size(), Waiter::on_value, &later),
               PMIX_SUCCESS);
  check_status(later.wait(), PMIX_SUCCESS);
  check_equal(later.number, 20 + other.rank);
  pmix_value_t wrong;
  PMIX_VALUE_CONSTRUCT(&wrong);
  wrong.type = PMIX_UINT32;
  check_status(PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, &wrong), PMIX_ERR_BAD_PARAM);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A library from its first call to its last, many times in one process.
int live_many_lives(const Words&) {
  for (std::uint64_t cycle = 1; cycle <= 25; ++cycle) {
    Client client;
    check_status(put("value", cycle * 100 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "value").u64(), cycle * 100 + r);
    check_status(fence(), PMIX_SUCCESS);
    client.finalize();
  }
  return 0;
}

/// A fence with a namespace that its host has yet to register.
int fence_with_other(const Words& words) {
  Client client;
  say("ready");
  const std::vector<pmix_proc_t> both{client.me, proc_of(words[0], 0)};
  if (words.size() > 1) {
    check_status(fence(both, std::move(Infos().integer(PMIX_TIMEOUT, 1))), PMIX_ERR_TIMEOUT);
  } else {
    check_status(fence(both, std::move(Infos().integer(PMIX_TIMEOUT, 1000))), PMIX_SUCCESS);
    check_status(fence(both), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

int ask_far_job(const Words&) {
  Client client;
  const auto whole = proc_of("far", PMIX_RANK_WILDCARD);
  for (const char* how : {PMIX_IMMEDIATE, PMIX_OPTIONAL})
    check_status(get(whole, PMIX_JOB_SIZE, std::move(Infos().flag(how))).status, PMIX_ERR_NOT_FOUND);
  check_equal(get(whole, PMIX_JOB_SIZE).u32(), 3);
  check_equal(get(whole, PMIX_JOB_SIZE, optional()).u32(), 3);  // here now
  check_equal(get(proc_of("far", 2), PMIX_HOSTNAME).text(), "y");
  check_equal(get(proc_of("far", 2), PMIX_LOCAL_RANK).u16(), 1);
  check_equal(get(whole, "pmix.odd").text(), "odd");
  check_equal(get(whole, PMIX_UNIV_SIZE).u32(), 30);
  check_equal(
      get(whole, PMIX_MAX_PROCS, std::move(Infos().flag(PMIX_NODE_INFO).text(PMIX_HOSTNAME, "y"))).u32(), 9);
  check_status(get(proc_of("farther", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

int commit_and_stay(const Words&) {
  Client client;
  check_status(put("here", std::uint64_t{7}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  say("committed");
  await("leave");
  client.finalize();
  return 0;
}

}  // namespace

void add_get_programs(Programs& programs) {
  programs.add("ask_about_itself", ask_about_itself);
  programs.add("delete_keys", delete_keys);
  programs.add("fail_to_get", fail_to_get);
  programs.add("wait_for_some_rank", wait_for_some_rank);
  programs.add("far_keys_come_late", far_keys_come_late);
  programs.add("commit_and_stay", commit_and_stay);
  programs.add("qualify_keys", qualify_keys);
  programs.add("ask_far_job", ask_far_job);
  programs.add("live_many_lives", live_many_lives);
  programs.add("fence_with_other", fence_with_other);
}

// ---- tests

class GetTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};

INSTANTIATE_TEST_SUITE_P(Segment, GetTest,
                         ::testing::ValuesIn(ways({Segment::mapped, Segment::refused, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(GetTest, null_is_the_caller) {
  all_run(GetParam(), 2, "ask_about_itself");
}
TEST_P(GetTest, a_failure_leaves_no_value) {
  all_run(GetParam(), 2, "fail_to_get");
}
TEST_P(GetTest, a_deleted_key_is_not_there) {
  all_run(GetParam(), 2, "delete_keys");
}
TEST_P(GetTest, a_deleted_key_is_not_there_on_two_nodes) {
  run_two_nodes(GetParam(), "delete_keys");
}
TEST_P(GetTest, a_key_of_some_rank_is_waited_for) {
  Host host({}, {{"WEFT_GET_WAIT", "inf"}});
  host.add_job("job", 2);
  auto children = start_all(host, GetParam(), "job", 2, "wait_for_some_rank");
  children[0].expect("asking");
  children[1].tell("commit");
  expect_success(children);
}
TEST_P(GetTest, keys_of_another_node_come_late) {
  run_two_nodes(GetParam(), "far_keys_come_late");
}

TEST_P(GetTest, keys_with_qualifiers) {
  all_run(GetParam(), 2, "qualify_keys");
}
TEST_P(GetTest, keys_with_qualifiers_of_another_node) {
  run_two_nodes(GetParam(), "qualify_keys");
}
TEST_P(GetTest, values_of_twenty_five_lives) {
  all_run(GetParam(), 3, "live_many_lives");
}
TEST_P(GetTest, values_of_twenty_five_lives_on_two_nodes) {
  run_two_nodes(GetParam(), "live_many_lives");
}
TEST_P(GetTest, a_fence_waits_for_a_namespace_that_is_registered_later) {
  Host host;
  host.add_job("first", 1);
  auto one = host.start("first", 0, "fence_with_other", {"second"}, reach(GetParam(), 0));
  one.expect("ready");
  host.add_job("second", 1);
  auto other = host.start("second", 0, "fence_with_other", {"first"}, reach(GetParam(), 0));
  other.expect("ready");
  one.expect_success();
  other.expect_success();
}
TEST_P(GetTest, a_fence_waits_for_a_namespace_no_longer_than_it_may) {
  Host host;
  host.add_job("first", 1);
  auto one = host.start("first", 0, "fence_with_other", {"never", "times out"}, reach(GetParam(), 0));
  one.expect("ready");
  one.expect_success();
}

/// Gets of a host: each is answered without a thread of the host's or the library's, and without an upcall.
class GetOfHost : public Multiproc {};

/// Asks for job-level data of a namespace that only the other node's host knows. words: the namespace.
class GetOfUnknownJob : public Multiproc {};

TEST_F(GetOfUnknownJob, is_a_request_to_the_host_for_the_wildcard_rank) {
  // The host asks its own server as the other node's host would ask that node's, and so hands over what a
  // server gives.
  std::string job_level;
  std::atomic<int> asked{0};
  Upcalls upcalls;
  upcalls.modex = [&](const pmix_proc_t& proc, pmix_modex_cbfunc_t done, void* open) -> pmix_status_t {
    ++asked;
    if (proc.rank != PMIX_RANK_WILDCARD || std::strcmp(proc.nspace, "far") != 0) return PMIX_ERR_NOT_FOUND;
    done(PMIX_SUCCESS, job_level.data(), job_level.size(), open, nullptr, nullptr);
    return PMIX_SUCCESS;
  };
  Host host(std::move(upcalls));
  Infos far;
  far.number(PMIX_JOB_SIZE, 3)
      .text(PMIX_NODE_MAP, "x,y")
      .text(PMIX_PROC_MAP, "0;1,2")
      .text("pmix.odd", "odd");
  far.array(PMIX_NODE_INFO_ARRAY, std::move(Infos().text(PMIX_HOSTNAME, "y").number(PMIX_MAX_PROCS, 9)));
  far.array(PMIX_SESSION_INFO_ARRAY,
            std::move(Infos().number(PMIX_SESSION_ID, 3).number(PMIX_UNIV_SIZE, 30)));
  host.add_job("far", 0, far);
  const auto whole = proc_of("far", PMIX_RANK_WILDCARD);
  Waiter given;
  EXPECT_EQ(PMIx_server_dmodex_request(&whole, Waiter::on_card, &given), PMIX_SUCCESS);
  EXPECT_EQ(given.wait(), PMIX_SUCCESS);
  job_level = given.bytes;
  const auto unknown = proc_of("never heard of", PMIX_RANK_WILDCARD);
  Waiter refused;
  EXPECT_EQ(PMIx_server_dmodex_request(&unknown, Waiter::on_card, &refused), PMIX_SUCCESS);
  EXPECT_EQ(refused.wait(), PMIX_ERR_NOT_FOUND);
  host.remove_job("far");

  host.add_job("job", 1);
  auto child = host.start("job", 0, "ask_far_job");
  child.expect_success();
  EXPECT_EQ(asked.load(), 2);   // the namespace, once; and the one that the host does not know
  host.add_job("far", 0, far);  // what the host registers goes before what it brought
  EXPECT_EQ(get(whole, PMIX_JOB_SIZE).u32(), 3u);
}

TEST_F(GetOfHost, is_answered_from_what_is_here) {
  std::atomic<int> asked{0};
  std::promise<void> entered, leave;
  Upcalls upcalls;
  upcalls.modex = [&](const pmix_proc_t&, pmix_modex_cbfunc_t, void*) {
    ++asked;
    return PMIX_SUCCESS;
  };
  std::atomic<bool> holds{false};
  upcalls.finalized = [&](const pmix_proc_t&, void*, pmix_op_cbfunc_t, void*) -> pmix_status_t {
    if (holds.exchange(false)) {
      entered.set_value();
      leave.get_future().wait();  // the library's thread is in here
    }
    return PMIX_OPERATION_SUCCEEDED;
  };
  Host host(std::move(upcalls));
  Infos infos;
  infos.number(PMIX_JOB_SIZE, 4).number(PMIX_NUM_NODES, 2).number(PMIX_NODEID, 0);
  infos.text(PMIX_NODE_MAP, "first,second").text(PMIX_PROC_MAP, "0,1;2,3");
  host.add_job("job", 2, infos);
  for (pmix_rank_t rank = 0; rank < 2; ++rank) host.add_client(proc_of("job", rank));
  auto child = host.start("job", 0, "commit_and_stay");
  child.expect("committed");

  const auto ask = [&] {
    const Infos patient = std::move(Infos().integer(PMIX_TIMEOUT, 1000));
    EXPECT_EQ(get(proc_of("job", 0), "here").u64(), 7u);
    EXPECT_EQ(get(proc_of("job", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).u32(), 4u);
    EXPECT_EQ(get(proc_of("job", 3), PMIX_HOSTNAME).text(), "second");
    for (const pmix_rank_t rank : {0, 1, 2}) {
      EXPECT_EQ(get(proc_of("job", rank), "none").status, PMIX_ERR_NOT_FOUND);
      EXPECT_EQ(get(proc_of("job", rank), "none", patient).status, PMIX_ERR_NOT_FOUND);
    }
    EXPECT_EQ(get(proc_of("unknown", 0), "modex").status, PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(get(proc_of("unknown", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).status, PMIX_ERR_NOT_FOUND);
  };
  ask();
  holds = true;
  child.tell("leave");
  entered.get_future().wait();
  ask();  // while the library's thread waits for this one
  leave.set_value();
  child.expect_success();
  EXPECT_EQ(asked.load(), 0);
}

}  // namespace weft::test
