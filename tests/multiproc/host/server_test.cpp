// SPDX-License-Identifier: BSD-3-Clause
// The server role as a resource manager uses it: both completion styles of every call, registration in any
// order, launch information, direct modex requests, the upcalls about clients.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

// ---- clients

/// Prints what the job map says about this rank and leaves well. Words: "alone" where no fence reaches the
/// other nodes.
int tell_place(const Words& words) {
  Client client;
  say("size " + std::to_string(client.size) + " local " +
      std::to_string(get(client.job, PMIX_LOCAL_SIZE).u32()) + " peers " +
      get(client.job, PMIX_LOCAL_PEERS).text() + " rank " +
      std::to_string(get(client.me, PMIX_LOCAL_RANK).u16()) + " node " +
      std::to_string(get(client.me, PMIX_NODEID).u32()));
  check_status(fence(), words.empty() ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED);
  client.finalize();
  return 0;
}

/// Commits when told, then waits for the word to leave.
int commit_when_told(const Words&) {
  Client client;
  say("ready");
  await("commit");
  check_status(put("card", std::uint64_t{4711}), PMIX_SUCCESS);
  check_status(put("for.this.node", std::uint64_t{1}, PMIX_LOCAL), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  say("committed");
  await("leave");
  client.finalize();
  return 0;
}

/// Says whether the server took it in. The first process of a rank need not wait for that in PMIx_Init, so a
/// refusal may show as late as in PMIx_Finalize.
int try_init(const Words&) {
  pmix_proc_t me;
  auto status = PMIx_Init(&me, nullptr, 0);
  if (status == PMIX_SUCCESS) status = PMIx_Finalize(nullptr, 0);
  say(status == PMIX_SUCCESS ? "taken in" : "sent away");
  return 0;
}

int abort_job(const Words& words) {
  Client client;
  const auto other = client.peer(1);
  auto procs = other;
  const bool named = words[0] == "one";
  say(PMIx_Error_string(PMIx_Abort(17, "on purpose", named ? &procs : nullptr, named ? 1 : 0)));
  client.finalize();
  return 0;
}

int two_jobs(const Words& words) {
  Client client;
  const auto other = proc_of(words[0], 0);
  check_status(put("mine", words[1]), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  // The other job's rank is on this node: its job data and card are there for all.
  check_equal(get(other, "mine").text(), words[2]);
  check_equal(get(proc_of(words[0], PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).u32(), 1);
  // A fence of both, each naming itself first.
  for (int i = 0; i < 20; ++i) {
    check_status(fence({client.me, other}), PMIX_SUCCESS);
    check_status(fence({client.job, proc_of(words[0], PMIX_RANK_WILDCARD)}), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Waits in a Get or a fence that involves another namespace, which goes away.
int wait_for_other_job(const Words& words) {
  Client client;
  const auto other = proc_of(words[1], 0);
  say("ready");
  say(PMIx_Error_string(words[0] == "get" ? get(other, "never.put").status : fence({client.me, other})));
  client.finalize();
  return 0;
}

int print_variable(const Words& words) {
  const char* value = std::getenv(words[0].c_str());
  say(value == nullptr ? "(unset)" : value);
  Client client;
  client.finalize();
  return 0;
}

/// A host whose upcall about its client does not return; it ends all the same. A process of its own: the
/// upcall's thread stays.
int hanging_host(const Words&) {
  {
    Upcalls upcalls;
    upcalls.connected = [](const pmix_proc_t&, void*, pmix_op_cbfunc_t, void*) -> pmix_status_t {
      say("called");
      for (;;) ::pause();
    };
    Host host(std::move(upcalls));
    host.add_job("job", 1);
    say_variables(host, "job", 1);
    await("end");
  }
  check_equal(PMIx_Initialized(), 0);
  say("ended");
  return 0;
}

}  // namespace

void add_client_programs(Programs& programs) {
  programs.add("tell_place", tell_place);
  programs.add("commit_when_told", commit_when_told);
  programs.add("try_init", try_init);
  programs.add("abort_job", abort_job);
  programs.add("two_jobs", two_jobs);
  programs.add("wait_for_other_job", wait_for_other_job);
  programs.add("print_variable", print_variable);
  programs.add("hanging_host", hanging_host);
}

// ---- tests

class ServerTest : public Multiproc {};

namespace {

/// A job of four in the way of Open MPI's daemon: clients first, then the namespace, all with callbacks.
void add_as_open_mpi_does(const std::string& nspace, std::uint32_t ranks) {
  for (pmix_rank_t rank = 0; rank < ranks; ++rank) {
    Waiter registered;
    const auto proc = proc_of(nspace, rank);
    EXPECT_EQ(
        PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, Waiter::on_status, &registered),
        PMIX_SUCCESS);
    EXPECT_EQ(registered.wait(), PMIX_SUCCESS);
  }
  char *nodes = nullptr, *procs = nullptr;
  EXPECT_EQ(PMIx_generate_regex("here", &nodes), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_generate_ppn("0-3", &procs), PMIX_SUCCESS);
  Infos infos;
  infos.text(PMIX_NODE_MAP, nodes)
      .text(PMIX_PROC_MAP, procs)
      .number(PMIX_NODEID, 0)
      .number(PMIX_JOB_SIZE, ranks);
  infos.number(PMIX_LOCAL_SIZE, ranks)
      .number(PMIX_NUM_NODES, 1)
      .text(PMIX_LOCAL_PEERS, "0,1,2,3")
      .rank(PMIX_LOCALLDR, 0);
  for (pmix_rank_t rank = 0; rank < ranks; ++rank) {
    Infos one;
    one.rank(PMIX_RANK, rank)
        .small(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(rank))
        .number(PMIX_NODEID, 0)
        .rank(PMIX_GLOBAL_RANK, rank);
    infos.array(PMIX_PROC_INFO_ARRAY, std::move(one));
  }
  Waiter registered;
  EXPECT_EQ(PMIx_server_register_nspace(nspace.c_str(), static_cast<int>(ranks), infos.data(), infos.size(),
                                        Waiter::on_status, &registered),
            PMIX_SUCCESS);
  EXPECT_EQ(registered.wait(), PMIX_SUCCESS);
  std::free(nodes);
  std::free(procs);
}

}  // namespace

TEST_F(ServerTest, an_upcall_that_does_not_return) {
  Child::Options options;
  options.catch_errors = true;
  Child host("hanging_host", {}, options);
  Child::Options of_client;
  of_client.variables = hear_variables(host);
  Child client("commit_when_told", {}, of_client);
  host.expect("called");
  host.tell("end");
  host.expect("ended");
  host.expect_success();
  EXPECT_NE(host.errors().find(
                "the server does not end within 5 s: the host's upcall client_connected2 does not return"),
            std::string::npos);
}

TEST_F(ServerTest, clients_before_their_namespace) {
  Host host;
  Infos none;
  none.flag(PMIX_REGISTER_NODATA);
  host.add_job("daemons", 1, none);
  add_as_open_mpi_does("12345", 4);
  auto children = host.start_all("12345", 4, "tell_place");
  for (int i = 0; i < 4; ++i)
    children[static_cast<std::size_t>(i)].expect("size 4 local 4 peers 0,1,2,3 rank " + std::to_string(i) +
                                                 " node 0");
  expect_success(children);
  for (pmix_rank_t rank = 0; rank < 4; ++rank) {
    Waiter gone;
    const auto proc = proc_of("12345", rank);
    PMIx_server_deregister_client(&proc, Waiter::on_status, &gone);
    EXPECT_EQ(gone.wait(), PMIX_SUCCESS);
  }
  for (const char* nspace : {"12345", "daemons"}) {
    Waiter gone;
    PMIx_server_deregister_nspace(nspace, Waiter::on_status, &gone);
    EXPECT_EQ(gone.wait(), PMIX_SUCCESS);
  }
}

TEST_F(ServerTest, maps_alone_name_the_local_ranks) {
  Host host;
  char *nodes = nullptr, *procs = nullptr;
  EXPECT_EQ(PMIx_generate_regex("other,here", &nodes), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_generate_ppn("0,2;1,3", &procs), PMIX_SUCCESS);
  Infos infos;
  infos.text(PMIX_NODE_MAP, nodes).text(PMIX_PROC_MAP, procs).number(PMIX_NODEID, 1);
  std::free(nodes);
  std::free(procs);
  host.add_job("mapped", 2, infos);
  std::vector<Child> children;
  for (const pmix_rank_t rank : {1u, 3u})
    children.push_back(host.start("mapped", rank, "tell_place", {"alone"}));
  children[0].expect("size 4 local 2 peers 1,3 rank 0 node 1");
  children[1].expect("size 4 local 2 peers 1,3 rank 1 node 1");
  // Two nodes and no fence_nb: the fence is refused, not waited for.
  expect_success(children);
}

TEST_F(ServerTest, bad_arguments) {
  Host host;
  const auto expect_bad = [](pmix_status_t status) {
    EXPECT_EQ(status, PMIX_ERR_BAD_PARAM) << PMIx_Error_string(status);
  };
  const std::string long_name(PMIX_MAX_NSLEN + 1, 'x');
  Infos broken_map, far_peer;
  broken_map.text(PMIX_PROC_MAP, "0,1;one").number(PMIX_JOB_SIZE, 2);
  far_peer.number(PMIX_JOB_SIZE, 2).text(PMIX_LOCAL_PEERS, "0,7");
  expect_bad(PMIx_server_register_nspace(nullptr, 1, nullptr, 0, nullptr, nullptr));
  expect_bad(PMIx_server_register_nspace("", 1, nullptr, 0, nullptr, nullptr));
  expect_bad(PMIx_server_register_nspace(long_name.c_str(), 1, nullptr, 0, nullptr, nullptr));
  expect_bad(PMIx_server_register_nspace("job", -1, nullptr, 0, nullptr, nullptr));
  expect_bad(PMIx_server_register_nspace("job", 1, nullptr, 3, nullptr, nullptr));
  expect_bad(PMIx_server_register_nspace("job", 1, far_peer.data(), far_peer.size(), nullptr, nullptr));
  expect_bad(PMIx_server_register_client(nullptr, 0, 0, nullptr, nullptr, nullptr));
  expect_bad(PMIx_server_setup_fork(nullptr, nullptr));
  auto proc = proc_of("job", 0);
  expect_bad(PMIx_server_setup_fork(&proc, nullptr));
  expect_bad(PMIx_server_dmodex_request(&proc, nullptr, nullptr));
  expect_bad(PMIx_server_setup_application("job", nullptr, 2, nullptr, nullptr));
  const auto on_made = [](pmix_status_t, pmix_info_t*, size_t, void*, pmix_op_cbfunc_t, void*) {
    ADD_FAILURE();
  };
  for (const auto& name : {std::string(), std::string(299, 'x'), long_name}) {
    expect_bad(PMIx_server_setup_application(name.c_str(), nullptr, 0, on_made, nullptr));
    expect_bad(PMIx_server_setup_local_support(name.c_str(), nullptr, 0, nullptr, nullptr));
    expect_bad(PMIx_Forward_envars(name.c_str(), "HOME", nullptr, 0));
    Waiter gone;
    PMIx_server_deregister_nspace(name.c_str(), Waiter::on_status, &gone);
    expect_bad(gone.wait());
  }
  Waiter map;
  const auto status =
      PMIx_server_register_nspace("job", 1, broken_map.data(), broken_map.size(), Waiter::on_status, &map);
  if (status == PMIX_SUCCESS)
    expect_bad(map.wait());
  else
    expect_bad(status);
  // A name without its end: read no further than its array.
  std::memset(proc.nspace, 'y', sizeof proc.nspace);
  char** env = nullptr;
  EXPECT_EQ(PMIx_server_setup_fork(&proc, &env), PMIX_SUCCESS);
  for (char** entry = env; *entry != nullptr; ++entry) {
    EXPECT_LT(std::strlen(*entry), sizeof proc.nspace + 20);
    std::free(*entry);
  }
  std::free(env);
  EXPECT_EQ(PMIx_server_register_client(&proc, 0, 0, nullptr, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  PMIx_server_deregister_nspace("never registered", nullptr, nullptr);
  Waiter unknown;
  PMIx_server_deregister_nspace("never registered", Waiter::on_status, &unknown);
  EXPECT_EQ(unknown.wait(), PMIX_ERR_NOT_FOUND);
}

TEST_F(ServerTest, nothing_works_before_init_or_after_finalize) {
  for (int round = 0; round < 2; ++round) {
    auto proc = proc_of("job", 0);
    char** env = nullptr;
    EXPECT_EQ(PMIx_server_register_nspace("job", 1, nullptr, 0, nullptr, nullptr), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_server_register_client(&proc, 0, 0, nullptr, nullptr, nullptr), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_server_setup_fork(&proc, &env), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_server_dmodex_request(&proc, Waiter::on_card, nullptr), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_server_setup_local_support("job", nullptr, 0, nullptr, nullptr), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_Forward_envars("job", "A*", nullptr, 0), PMIX_ERR_INIT);
    EXPECT_EQ(PMIx_server_finalize(), PMIX_ERR_INIT);
    Waiter told;  // a void function has no other way to say so
    PMIx_server_deregister_nspace("job", Waiter::on_status, &told);
    EXPECT_EQ(told.wait(), PMIX_ERR_INIT);
    if (round == 0) const Host host;
  }
}

TEST_F(ServerTest, init_and_finalize_are_counted) {
  Host host;
  EXPECT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(sockets_of(::getpid()), 1u);
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
  EXPECT_EQ(sockets_of(::getpid()), 1u);
  EXPECT_EQ(PMIx_Initialized(), 1);
}

TEST_F(ServerTest, environment_of_a_child) {
  Host host;
  host.add_job("job", 2);
  std::set<std::string> tokens;
  for (pmix_rank_t rank = 0; rank < 2; ++rank) {
    const auto variables = host.fork_variables(proc_of("job", rank));
    for (const auto& [name, value] : variables) {
      EXPECT_EQ(value.find_first_of("[]*"), std::string::npos) << name;
      for (const char* forbidden :
           {"PMIX_INSTALL_PREFIX", "PMIX_EXEC_PREFIX", "PMIX_BINDIR", "PMIX_LIBDIR", "PMIX_DATADIR"})
        EXPECT_NE(name, forbidden);
      if (name == "WEFT_TOKEN") tokens.insert(value);
    }
    EXPECT_EQ(variables, host.fork_variables(proc_of("job", rank))) << "asked twice, told the same";
  }
  EXPECT_EQ(tokens.size(), 2u);
}

/// The one info that PMIx_server_setup_application gives.
struct Launch {
  Infos infos;
  Waiter over;
  static void on_made(pmix_status_t status, pmix_info_t info[], size_t ninfo, void* self,
                      pmix_op_cbfunc_t release, void* open) {
    auto& launch = *static_cast<Launch*>(self);
    for (size_t i = 0; i < ninfo; ++i) launch.infos.copy(info[i]);
    if (release != nullptr) release(PMIX_SUCCESS, open);
    Waiter::on_status(status, &launch.over);
  }
};

TEST_F(ServerTest, launch_information_reaches_the_child) {
  Host host;
  host.add_job("job", 1);
  Launch taken;
  Infos wanted;
  wanted.flag(PMIX_SETUP_APP_ENVARS).variable("A_VARIABLE", "and its value").variable("PMIX_RANK", "9");
  ::setenv("FI_OF_THE_LAUNCHER", "42", 1);
  ::setenv("FORWARDED_1", "43", 1);
  ::setenv("FORWARDED_2", "44", 1);
  EXPECT_EQ(PMIx_Forward_envars("job", "FORWARDED_?;B*D", nullptr, 0), PMIX_ERR_BAD_PARAM);
  Infos excluded;
  excluded.text(WEFT_FORWARD_EXCLUDE, "*_2");
  EXPECT_EQ(PMIx_Forward_envars("job", "FORWARDED_?", excluded.data(), excluded.size()), PMIX_ERR_BAD_PARAM);
  Infos without;
  without.text(WEFT_FORWARD_EXCLUDE, "FORWARDED_2");
  EXPECT_EQ(PMIx_Forward_envars("job", "FORWARDED_?", without.data(), without.size()), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_setup_application("job", wanted.data(), wanted.size(), Launch::on_made, &taken),
            PMIX_SUCCESS);
  EXPECT_EQ(taken.over.wait(), PMIX_SUCCESS);
  for (const char* name : {"FI_OF_THE_LAUNCHER", "FORWARDED_1", "FORWARDED_2"}) ::unsetenv(name);
  EXPECT_EQ(
      PMIx_server_setup_local_support("other", taken.infos.data(), taken.infos.size(), nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_setup_local_support("job", taken.infos.data(), taken.infos.size(), nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  for (const auto& [name, value] : Variables{{"A_VARIABLE", "and its value"},
                                             {"FI_OF_THE_LAUNCHER", "42"},
                                             {"FORWARDED_1", "43"},
                                             {"FORWARDED_2", "(unset)"},
                                             {"PMIX_RANK", "0"}}) {
    auto child = host.start("job", 0, "print_variable", {name});
    child.expect(value);
    child.expect_success();
  }
  Waiter twice;
  EXPECT_EQ(PMIx_server_setup_local_support("job", taken.infos.data(), taken.infos.size(), Waiter::on_status,
                                            &twice),
            PMIX_SUCCESS);
  EXPECT_EQ(twice.wait(), PMIX_SUCCESS);
}

TEST_F(ServerTest, launch_information_of_one_application_reaches_its_processes_alone) {
  Host host;
  Infos wanted, first, second;
  first.number(PMIX_APPNUM, 0).variable("OF_EACH", "0");
  second.number(PMIX_APPNUM, 1).variable("OF_EACH", "1").variable("OF_SECOND", "yes");
  wanted.flag(PMIX_SETUP_APP_ENVARS, false)
      .variable("OF_EACH", "all")
      .array(PMIX_APP_INFO_ARRAY, std::move(first))
      .array(PMIX_APP_INFO_ARRAY, std::move(second));
  Launch launch;
  ASSERT_EQ(PMIx_server_setup_application("job", wanted.data(), wanted.size(), Launch::on_made, &launch),
            PMIX_SUCCESS);
  ASSERT_EQ(launch.over.wait(), PMIX_SUCCESS);
  EXPECT_EQ(
      PMIx_server_setup_local_support("job", launch.infos.data(), launch.infos.size(), nullptr, nullptr),
      PMIX_OPERATION_SUCCEEDED);
  // Before the registration nothing says of which application a rank is.
  const auto unknown = proc_of("job", 0);
  char** env = nullptr;
  EXPECT_EQ(PMIx_server_setup_fork(&unknown, &env), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(env, nullptr);
  Infos job, of_first, of_second;
  of_first.number(PMIX_APPNUM, 0).number(PMIX_APP_SIZE, 2).rank(PMIX_APPLDR, 0);
  of_second.number(PMIX_APPNUM, 1).number(PMIX_APP_SIZE, 1).rank(PMIX_APPLDR, 2);
  job.number(PMIX_JOB_SIZE, 3)
      .number(PMIX_JOB_NUM_APPS, 2)
      .array(PMIX_APP_INFO_ARRAY, std::move(of_first))
      .array(PMIX_APP_INFO_ARRAY, std::move(of_second));
  host.add_job("job", 3, job);
  const auto value = [&](pmix_rank_t rank, const std::string& name) {
    for (const auto& [each, value] : host.fork_variables(proc_of("job", rank)))
      if (each == name) return value;
    return std::string();
  };
  EXPECT_EQ(value(0, "OF_EACH") + value(1, "OF_EACH") + value(2, "OF_EACH"), "001");
  EXPECT_EQ(value(0, "OF_SECOND") + value(1, "OF_SECOND") + value(2, "OF_SECOND"), "yes");
  const auto stranger = proc_of("job", 3);
  EXPECT_EQ(PMIx_server_setup_fork(&stranger, &env), PMIX_ERR_NOT_FOUND);
}

TEST_F(ServerTest, launch_information_that_is_refused_changes_no_childs_environment) {
  Host host;
  host.add_job("job", 1);
  Launch launch;
  Infos wanted;
  wanted.variable("A_VARIABLE", "and its value");
  ASSERT_EQ(PMIx_server_setup_application("job", wanted.data(), wanted.size(), Launch::on_made, &launch),
            PMIX_SUCCESS);
  ASSERT_EQ(launch.over.wait(), PMIX_SUCCESS);
  ASSERT_EQ(launch.infos.size(), 1u);
  const auto before = host.fork_variables(proc_of("job", 0));
  auto& blob = launch.infos.data()[0].value.data.bo;
  const auto take = [&](const char* nspace) {
    const auto status =
        PMIx_server_setup_local_support(nspace, launch.infos.data(), launch.infos.size(), nullptr, nullptr);
    if (status != PMIX_OPERATION_SUCCEEDED) {
      EXPECT_EQ(host.fork_variables(proc_of("job", 0)), before);
    }
    return status;
  };
  const auto whole = blob.size;
  for (blob.size = 0; blob.size < whole; ++blob.size) EXPECT_EQ(take("job"), PMIX_ERR_BAD_PARAM) << blob.size;
  for (std::size_t i = 0; i < whole; ++i) {
    const char kept = blob.bytes[i];
    blob.bytes[i] = static_cast<char>(kept ^ (1 << (i % 8)));
    EXPECT_EQ(take("job"), PMIX_ERR_BAD_PARAM) << i;
    blob.bytes[i] = kept;
  }
  EXPECT_EQ(take("other"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(take("job"), PMIX_OPERATION_SUCCEEDED);
  EXPECT_NE(host.fork_variables(proc_of("job", 0)), before);
}

TEST_F(ServerTest, direct_modex_request) {
  Host host;
  host.add_job("job", 3);
  auto child = host.start("job", 0, "commit_when_told");
  child.expect("ready");
  const auto first = proc_of("job", 0), second = proc_of("job", 1), third = proc_of("job", 2);
  Waiter early, dead, never, unknown, outside;
  EXPECT_EQ(PMIx_server_dmodex_request(&first, Waiter::on_card, &early), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_dmodex_request(&second, Waiter::on_card, &dead), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_dmodex_request(&third, Waiter::on_card, &never), PMIX_SUCCESS);
  const auto stranger = proc_of("no such job", 0), beyond = proc_of("job", 9);
  EXPECT_EQ(PMIx_server_dmodex_request(&stranger, Waiter::on_card, &unknown), PMIX_SUCCESS);
  EXPECT_EQ(unknown.wait(), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_server_dmodex_request(&beyond, Waiter::on_card, &outside), PMIX_SUCCESS);
  EXPECT_EQ(outside.wait(), PMIX_ERR_NOT_FOUND);
  EXPECT_FALSE(early.over());
  child.tell("commit");
  EXPECT_EQ(early.wait(), PMIX_SUCCESS);
  EXPECT_NE(early.bytes.find("card"), std::string::npos);
  EXPECT_EQ(early.bytes.find("for.this.node"), std::string::npos) << "a local value left the node";
  child.expect("committed");
  // One that dies without a commit, and one that the host takes back before it came.
  auto doomed = host.start("job", 1, "commit_when_told");
  doomed.expect("ready");
  EXPECT_FALSE(dead.over());
  doomed.kill();
  EXPECT_EQ(dead.wait(), PMIX_ERR_UNREACH);
  host.remove_client(third);
  EXPECT_EQ(never.wait(), PMIX_ERR_UNREACH);
  Waiter again, late;
  EXPECT_EQ(PMIx_server_dmodex_request(&second, Waiter::on_card, &again), PMIX_SUCCESS);
  EXPECT_EQ(again.wait(), PMIX_ERR_UNREACH);
  child.tell("leave");
  child.expect_success();
  EXPECT_EQ(PMIx_server_dmodex_request(&first, Waiter::on_card, &late), PMIX_SUCCESS);
  EXPECT_EQ(late.wait(), PMIX_SUCCESS) << "the card of a rank that finalized is still its card";
  doomed.wait();
}

TEST_F(ServerTest, requests_end_with_their_namespace) {
  Host host;
  host.add_job("job", 1);
  Waiter parked;
  const auto proc = proc_of("job", 0);
  EXPECT_EQ(PMIx_server_dmodex_request(&proc, Waiter::on_card, &parked), PMIX_SUCCESS);
  host.remove_job("job");
  EXPECT_EQ(parked.wait(), PMIX_ERR_NOT_FOUND);
}

TEST_F(ServerTest, waiting_for_a_job_that_goes_away) {
  Host host;
  host.add_job("here", 2);
  host.add_job("there", 1);
  auto get = host.start("here", 0, "wait_for_other_job", {"get", "there"});
  auto fence = host.start("here", 1, "wait_for_other_job", {"fence", "there"});
  get.expect("ready");
  fence.expect("ready");
  // Whether they wait by now or come later, the answer is the same.
  host.remove_job("there");
  EXPECT_NE(get.hear(), "PMIX_SUCCESS");
  EXPECT_NE(fence.hear(), "PMIX_SUCCESS");
  get.expect_success();
  fence.expect_success();
}

TEST_F(ServerTest, several_jobs_at_once) {
  Host host;
  host.add_job("left", 1);
  host.add_job("right", 1);
  auto left = host.start("left", 0, "two_jobs", {"right", "I am left", "I am right"});
  auto right = host.start("right", 0, "two_jobs", {"left", "I am right", "I am left"});
  left.expect_success();
  right.expect_success();
  host.remove_job("left");
  host.remove_job("right");
  // Names and memory serve again: more jobs, one after the other, than the segment has slots.
  for (int i = 0; i < 600; ++i) {
    host.add_job("again", 2);
    host.remove_job("again");
  }
}

TEST_F(ServerTest, client_upcalls_in_both_styles) {
  for (const bool at_once : {true, false}) {
    std::atomic<int> connected{0}, finalized{0};
    int object = 0;
    Later later;
    const auto answer = [&](std::atomic<int>& count, void* given, pmix_op_cbfunc_t done,
                            void* open) -> pmix_status_t {
      EXPECT_EQ(given, &object);
      ++count;
      if (at_once) return PMIX_OPERATION_SUCCEEDED;
      later.run([done, open] { done(PMIX_SUCCESS, open); });
      return PMIX_SUCCESS;
    };
    Upcalls upcalls;
    upcalls.connected = [&](const pmix_proc_t&, void* given, pmix_op_cbfunc_t done, void* open) {
      return answer(connected, given, done, open);
    };
    upcalls.finalized = [&](const pmix_proc_t&, void* given, pmix_op_cbfunc_t done, void* open) {
      return answer(finalized, given, done, open);
    };
    Host host(std::move(upcalls));
    Infos infos;
    infos.number(PMIX_JOB_SIZE, 2);
    host.add_job("job", 2, infos);
    for (pmix_rank_t rank = 0; rank < 2; ++rank) host.add_client(proc_of("job", rank), &object);
    auto children = host.start_all("job", 2, "tell_place");
    expect_success(children);
    EXPECT_EQ(connected.load(), 2);
    EXPECT_EQ(finalized.load(), 2);
  }
}

/// By the host: that is the end of PMIx_Init, and not of something later.
TEST_F(ServerTest, a_client_is_refused) {
  for (const auto segment : ways())
    for (const bool at_once : {true, false}) {
      SCOPED_TRACE(name_of(segment));
      Upcalls upcalls;
      Later later;
      upcalls.connected = [&](const pmix_proc_t&, void*, pmix_op_cbfunc_t done, void* open) -> pmix_status_t {
        if (at_once) return PMIX_ERR_NO_PERMISSIONS;
        later.run([done, open] { done(PMIX_ERR_NO_PERMISSIONS, open); });
        return PMIX_SUCCESS;
      };
      Host host(std::move(upcalls));
      host.add_job("job", 1);
      auto options = reach(segment, 0);
      options.catch_errors = true;
      auto child = host.start("job", 0, "say_init", {}, options);
      child.expect("PMIX_ERR_NO_PERMISSIONS");
      child.expect_success();
      EXPECT_NE(child.errors().find("refused"), std::string::npos);
    }
}

TEST_F(ServerTest, a_client_dies_while_the_host_thinks_about_it) {
  Later later;
  std::mutex mutex;
  std::vector<std::pair<pmix_op_cbfunc_t, void*>> open;
  Upcalls upcalls;
  upcalls.connected = [&](const pmix_proc_t&, void*, pmix_op_cbfunc_t done, void* pointer) {
    const std::lock_guard lock(mutex);
    open.emplace_back(done, pointer);
    return PMIX_SUCCESS;
  };
  Host host(std::move(upcalls));
  host.add_job("job", 1);
  const auto asked = [&](std::size_t count) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return open.size() == count;
    });
  };
  auto doomed = host.start("job", 0, "try_init");
  ASSERT_TRUE(asked(1));
  doomed.kill();
  doomed.wait();
  // The next one may connect only when the server has seen the end of the first.
  auto next = host.start("job", 0, "try_init");
  const bool came = asked(2);
  open[0].first(PMIX_SUCCESS, open[0].second);
  if (came) open[1].first(PMIX_SUCCESS, open[1].second);
  next.expect("taken in");
  next.expect_success();
}

TEST_F(ServerTest, the_host_answers_after_finalize) {
  pmix_op_cbfunc_t answer = nullptr;
  void* open = nullptr;
  std::atomic<bool> asked{false};
  Upcalls upcalls;
  upcalls.connected = [&](const pmix_proc_t&, void*, pmix_op_cbfunc_t done, void* pointer) {
    answer = done;
    open = pointer;
    asked = true;
    return PMIX_SUCCESS;
  };
  Child child;
  {
    Host host(std::move(upcalls));
    host.add_job("job", 1);
    child = host.start("job", 0, "try_init");
    ASSERT_TRUE(eventually([&] { return asked.load(); }));
  }
  answer(PMIX_SUCCESS, open);  // too late, and without effect
  child.expect("sent away");
  child.expect_success();
}

TEST_F(ServerTest, abort_reaches_the_host) {
  for (const bool at_once : {true, false}) {
    for (const char* whom : {"all", "one"}) {
      Later later;
      std::atomic<std::size_t> named{99};
      Upcalls upcalls;
      upcalls.abort = [&](const pmix_proc_t& proc, int status, std::string message,
                          std::vector<pmix_proc_t> procs, pmix_op_cbfunc_t done,
                          void* open) -> pmix_status_t {
        EXPECT_EQ(proc.rank, 0u);
        EXPECT_EQ(status, 17);
        EXPECT_EQ(message, "on purpose");
        named = procs.size();
        if (at_once) return PMIX_OPERATION_SUCCEEDED;
        later.run([done, open] { done(PMIX_SUCCESS, open); });
        return PMIX_SUCCESS;
      };
      Host host(std::move(upcalls));
      host.add_job("job", 2);
      auto child = host.start("job", 0, "abort_job", {whom});
      child.expect("PMIX_SUCCESS");
      child.expect_success();
      EXPECT_EQ(named.load(), whom == std::string_view("one") ? 1u : 0u);
    }
  }
  Host host;
  host.add_job("job", 2);
  auto child = host.start("job", 0, "abort_job", {"all"});
  child.expect("PMIX_ERR_NOT_SUPPORTED");
  child.expect_success();
}

TEST_F(ServerTest, a_wrong_token_is_refused) {
  Host host;
  host.add_job("job", 2);
  Child::Options options;
  options.catch_errors = true;
  options.variables = host.fork_variables(proc_of("job", 0));
  for (auto& [name, value] : options.variables)
    if (name == "PMIX_RANK") value = "1";  // with rank 0's token
  Child child("try_init", {}, options);
  child.expect("sent away");
  child.expect_success();
  EXPECT_NE(child.errors().find("token"), std::string::npos);
}

TEST_F(ServerTest, one_rank_is_one_process) {
  Host host;
  host.add_job("job", 1);
  auto first = host.start("job", 0, "commit_when_told");
  first.expect("ready");
  Child::Options options;
  options.catch_errors = true;
  auto second = host.start("job", 0, "try_init", {}, options);
  second.expect("sent away");
  second.expect_success();
  EXPECT_NE(second.errors().find("connected already"), std::string::npos);
  first.tell("commit");
  first.expect("committed");
  first.tell("leave");
  first.expect_success();
}

}  // namespace weft::test
