// SPDX-License-Identifier: BSD-3-Clause
// Groups that the host makes: the last member of a node calls the host's `group`, with what the Standard has
// it given.
#include <cstring>
#include <mutex>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- the host

struct GroupCalls {
  std::mutex mutex;
  std::vector<std::string> lines;
  pmix_status_t status = PMIX_SUCCESS;

  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};
GroupCalls* group_calls = nullptr;  // the module's functions carry no context

/// Operation, name, members in their order, and of the directives what a test looks at.
std::string line_of(pmix_group_operation_t operation, const char* group, const pmix_proc_t* procs,
                    size_t nprocs, const pmix_info_t* infos, size_t ninfo) {
  std::string out = std::string(PMIx_Group_operation_string(operation)) + " " + group;
  for (size_t i = 0; i < nprocs; ++i)
    out += procs[i].rank == PMIX_RANK_WILDCARD ? " *" : " " + std::to_string(procs[i].rank);
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIx_Check_key(infos[i].key, PMIX_GROUP_ASSIGN_CONTEXT_ID)) out += " wants_id";
    if (PMIx_Check_key(infos[i].key, PMIX_LOCAL_COLLECTIVE_STATUS))
      out += std::string(" ") + PMIx_Error_string(infos[i].value.data.status);
  }
  return out;
}

pmix_status_t on_group(pmix_group_operation_t operation, char* group, const pmix_proc_t* procs, size_t nprocs,
                       const pmix_info_t* infos, size_t ninfo, pmix_info_cbfunc_t done, void* open) {
  {
    const std::lock_guard lock(group_calls->mutex);
    group_calls->lines.push_back(line_of(operation, group, procs, nprocs, infos, ninfo));
  }
  if (group_calls->status == PMIX_OPERATION_SUCCEEDED) return group_calls->status;
  Infos results;
  if (operation == PMIX_GROUP_CONSTRUCT) results.unsigned64(PMIX_GROUP_CONTEXT_ID, 77);
  done(group_calls->status, results.data(), results.size(), open, nullptr, nullptr);
  return PMIX_SUCCESS;
}

// ---- the clients

/// Rank 0 names the job by its wildcard, the others rank by rank: the same group.
std::vector<pmix_proc_t> all_of(const Client& client) {
  if (client.me.rank == 0) return {client.peer(PMIX_RANK_WILDCARD)};
  std::vector<pmix_proc_t> out;
  for (pmix_rank_t rank = client.size; rank-- != 0;) out.push_back(client.peer(rank));
  return out;
}

int makes_groups(const Words&) {
  Client client;
  const auto members = all_of(client);
  Infos infos;
  infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  for (const char* name : {"first", "second"}) {
    pmix_info_t* results = nullptr;
    size_t count = 0;
    check_status(PMIx_Group_construct(name, members.data(), members.size(), infos.data(), infos.size(),
                                      &results, &count),
                 PMIX_SUCCESS);
    check_equal(count, 2);
    check(PMIx_Check_key(results[0].key, PMIX_GROUP_CONTEXT_ID), "another result");
    check_equal(results[0].value.data.uint64, 77);
    check(PMIx_Check_key(results[1].key, PMIX_GROUP_MEMBERSHIP), "another result");
    check_equal(results[1].value.data.darray->size, client.size);
    PMIX_INFO_FREE(results, count);
  }
  for (const char* name : {"second", "first"})
    check_status(PMIx_Group_destruct(name, nullptr, 0), PMIX_SUCCESS);
  check_status(PMIx_Group_destruct("first", nullptr, 0), PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// Both groups are under way before either is made: their members are the same, their names are not.
int makes_two_groups_at_once(const Words&) {
  Client client;
  const auto members = all_of(client);
  Waiter first, second;
  const auto made = [](pmix_status_t status, pmix_info_t*, size_t count, void* waiter,
                       pmix_release_cbfunc_t release, void* release_data) {
    if (release != nullptr) release(release_data);
    Waiter::on_status(count == 2 ? status : PMIX_ERROR, waiter);
  };
  const auto begin = [&](const char* name, Waiter& waiter) {
    check_status(PMIx_Group_construct_nb(name, members.data(), members.size(), nullptr, 0, made, &waiter),
                 PMIX_SUCCESS);
  };
  client.me.rank == 0 ? begin("first", first) : begin("second", second);
  client.me.rank == 0 ? begin("second", second) : begin("first", first);
  check_status(first.wait(), PMIX_SUCCESS);
  check_status(second.wait(), PMIX_SUCCESS);
  Waiter ended;
  check_status(PMIx_Group_destruct_nb("second", nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
  check_status(ended.wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Word: the status that the construct ends with.
int fails_to_make_a_group(const Words& words) {
  Client client;
  const auto members = all_of(client);
  check_status(PMIx_Group_construct("group", members.data(), members.size(), nullptr, 0, nullptr, nullptr),
               std::stoi(words[0]));
  check_status(PMIx_Group_destruct("group", nullptr, 0), PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// Rank 1 leaves itself out of the group that rank 0 means: an error for both that call.
int disagrees_on_the_members(const Words&) {
  Client client;
  const pmix_proc_t all[] = {client.peer(0), client.peer(1), client.peer(2)};
  if (client.me.rank != 2)
    check_status(
        PMIx_Group_construct("group", all, client.me.rank == 0 ? 3 : 2, nullptr, 0, nullptr, nullptr),
        PMIX_ERR_BAD_PARAM);
  const std::string long_name(PMIX_MAX_NSLEN + 1, 'x');
  for (const char* name : {static_cast<const char*>(nullptr), "", long_name.c_str()})
    check_status(PMIx_Group_construct(name, all, 3, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Group_construct("group", nullptr, 0, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  const auto other = client.peer(client.me.rank == 0 ? 1 : 0);
  check_status(PMIx_Group_construct("others", &other, 1, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Fence(nullptr, 0, nullptr, 0),
               PMIX_SUCCESS);  // rank 2, which stays out, is not gone before
  client.finalize();
  return 0;
}

int loses_a_member(const Words&) {
  Client client;
  if (client.me.rank == 1) {
    say("here");
    (void)listen();  // until the test ends it
    return 0;
  }
  const auto members = all_of(client);
  check_status(PMIx_Group_construct("group", members.data(), members.size(), nullptr, 0, nullptr, nullptr),
               PMIX_ERR_PROC_ABORTED);
  client.finalize();
  return 0;
}

/// The node's host makes groups and carries fences; the other members are on a node that does not exist.
int fences_a_group_of_the_host(const Words&) {
  Client client;
  const auto members = all_of(client);
  check_status(PMIx_Group_construct("wide", members.data(), members.size(), nullptr, 0, nullptr, nullptr),
               PMIX_SUCCESS);
  const auto group = proc_of("wide", PMIX_RANK_WILDCARD);
  check_status(fence({group}), PMIX_SUCCESS);
  Waiter later;
  check_status(PMIx_Fence_nb(&group, 1, nullptr, 0, Waiter::on_status, &later), PMIX_SUCCESS);
  check_status(later.wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

// ---- the tests

class HostGroupTest : public testing::Test {
 protected:
  HostGroupTest() { group_calls = &calls_; }
  ~HostGroupTest() override { group_calls = nullptr; }

  static Upcalls with_groups() {
    Upcalls upcalls;
    upcalls.others = [](pmix_server_module_t& module) { module.group = on_group; };
    return upcalls;
  }
  GroupCalls calls_;
};

TEST_F(HostGroupTest, the_last_member_calls_the_host) {
  Host host(with_groups());
  host.add_job("groups", 3);
  auto clients = host.start_all("groups", 3, "makes_groups");
  expect_success(clients);
  const auto lines = calls_.all();
  ASSERT_EQ(lines.size(), 4u);
  const std::string construct = PMIx_Group_operation_string(PMIX_GROUP_CONSTRUCT);
  const std::string destruct = PMIx_Group_operation_string(PMIX_GROUP_DESTRUCT);
  const auto is_line = [](const std::string& line, const std::string& start, const std::string& end) {
    return line == start + " *" + end || line == start + " 2 1 0" + end;
  };
  EXPECT_PRED3(is_line, lines[0], construct + " first", " wants_id");
  EXPECT_PRED3(is_line, lines[1], construct + " second", " wants_id");
  EXPECT_PRED3(is_line, lines[2], destruct + " second", "");
  EXPECT_PRED3(is_line, lines[3], destruct + " first", "");
}
TEST_F(HostGroupTest, fences_of_a_group_are_the_hosts_where_it_carries_fences) {
  std::atomic<int> fences{0};
  auto upcalls = with_groups();
  upcalls.fence = [&](const std::vector<pmix_proc_t>&, bool, const std::string&, pmix_modex_cbfunc_t done,
                      void* open) {
    ++fences;
    Host::now()->later.run([=] { done(PMIX_SUCCESS, nullptr, 0, open, nullptr, nullptr); });
    return PMIX_SUCCESS;
  };
  Host host(upcalls);
  Infos infos;
  infos.number(PMIX_JOB_SIZE, 4).number(PMIX_NUM_NODES, 2).number(PMIX_NODEID, 0);
  infos.text(PMIX_NODE_MAP, "first,second").text(PMIX_PROC_MAP, "0,1;2,3");
  host.add_job("job", 2, infos);
  for (pmix_rank_t rank = 0; rank < 2; ++rank) host.add_client(proc_of("job", rank));
  auto clients = host.start_all("job", 2, "fences_a_group_of_the_host");
  expect_success(clients);
  EXPECT_EQ(fences, 2);
}
TEST_F(HostGroupTest, two_at_once_of_the_same_members) {
  Host host(with_groups());
  host.add_job("groups", 2);
  auto clients = host.start_all("groups", 2, "makes_two_groups_at_once");
  expect_success(clients);
  EXPECT_EQ(calls_.all().size(), 3u);
}
TEST_F(HostGroupTest, a_host_that_refuses) {
  calls_.status = PMIX_ERR_NO_PERMISSIONS;
  Host host(with_groups());
  host.add_job("groups", 2);
  auto clients =
      host.start_all("groups", 2, "fails_to_make_a_group", {std::to_string(PMIX_ERR_NO_PERMISSIONS)});
  expect_success(clients);
  EXPECT_EQ(calls_.all().size(), 1u);
}
TEST_F(HostGroupTest, members_that_do_not_agree) {
  Host host(with_groups());
  host.add_job("groups", 3);
  auto clients = host.start_all("groups", 3, "disagrees_on_the_members");
  expect_success(clients);
}
TEST_F(HostGroupTest, a_member_that_dies) {
  Host host(with_groups());
  host.add_job("groups", 2);
  auto clients = host.start_all("groups", 2, "loses_a_member");
  clients[1].expect("here");
  clients[1].kill();
  clients[0].expect_success();
  const std::string end = PMIx_Error_string(PMIX_ERR_PROC_ABORTED);
  EXPECT_TRUE(eventually([&] {
    const auto lines = calls_.all();
    return lines.size() == 1 && lines[0].ends_with(end);
  })) << "the host did not hear that the members of this node do not come";
}

}  // namespace

void add_host_group_programs(Programs& programs) {
  programs.add("makes_groups", makes_groups);
  programs.add("fences_a_group_of_the_host", fences_a_group_of_the_host);
  programs.add("makes_two_groups_at_once", makes_two_groups_at_once);
  programs.add("fails_to_make_a_group", fails_to_make_a_group);
  programs.add("disagrees_on_the_members", disagrees_on_the_members);
  programs.add("loses_a_member", loses_a_member);
}

}  // namespace weft::test
