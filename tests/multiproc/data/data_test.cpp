// SPDX-License-Identifier: BSD-3-Clause
// Put, Commit and Get on one node: scopes, directives, sizes, waiting, many threads; with and without the
// segment.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- clients

Infos flag(const char* key) {
  Infos infos;
  infos.flag(key);
  return infos;
}

int scopes(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  const std::uint64_t mine = client.me.rank + 1, theirs = other.rank + 1;
  check_status(put("global", mine), PMIX_SUCCESS);
  check_status(put("local", mine, PMIX_LOCAL), PMIX_SUCCESS);
  check_status(put("remote", mine, PMIX_REMOTE), PMIX_SUCCESS);
  check_status(put("internal", mine, PMIX_INTERNAL), PMIX_SUCCESS);
  // A fabric that has two addresses puts one key for each scope, in both orders.
  check_status(put("near then far", mine, PMIX_LOCAL), PMIX_SUCCESS);
  check_status(put("near then far", mine + 100, PMIX_REMOTE), PMIX_SUCCESS);
  check_status(put("far then near", mine + 100, PMIX_REMOTE), PMIX_SUCCESS);
  check_status(put("far then near", mine, PMIX_LOCAL), PMIX_SUCCESS);
  // Uncommitted: mine alone.
  check_equal(get(client.me, "global").u64(), mine);
  check_status(get(other, "global", flag(PMIX_OPTIONAL)).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(other, "global").u64(), theirs);
  check_equal(get(other, "local").u64(), theirs);
  check_equal(get(other, "near then far").u64(), theirs);
  check_equal(get(other, "far then near").u64(), theirs);
  check_status(get(other, "remote").status, PMIX_ERR_NOT_FOUND);
  check_status(get(other, "internal").status, PMIX_ERR_NOT_FOUND);
  for (const char* key : {"global", "local", "remote", "internal"})
    check_equal(get(client.me, key).u64(), mine);
  // Asked for by scope.
  check_equal(get(client.me, "local", std::move(Infos().scope(PMIX_LOCAL))).u64(), mine);
  check_equal(get(client.me, "global", std::move(Infos().scope(PMIX_LOCAL))).u64(), mine);
  check_status(get(client.me, "remote", std::move(Infos().scope(PMIX_LOCAL))).status,
               PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  check_status(get(other, "local", std::move(Infos().scope(PMIX_REMOTE))).status,
               PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  // A later value replaces an earlier one.
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("global", mine + 50), PMIX_SUCCESS);
  check_equal(get(client.me, "global").u64(), mine + 50);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(other, "global").u64(), theirs + 50);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int directives(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  check_status(put("key", std::uint64_t{7}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);

  check_equal(get(other, "key", flag(PMIX_IMMEDIATE)).u64(), 7);
  check_equal(get(other, "key", flag(PMIX_GET_REFRESH_CACHE)).u64(), 7);
  check_equal(get(client.me, "key", flag(PMIX_GET_REFRESH_CACHE)).u64(), 7);
  check_equal(get(client.job, PMIX_JOB_SIZE, flag(PMIX_GET_REFRESH_CACHE)).u32(), client.size);
  for (const char* how : {PMIX_OPTIONAL, PMIX_IMMEDIATE}) {
    check_status(get(other, "none", flag(how)).status, PMIX_ERR_NOT_FOUND);
    check_status(get(client.job, "pmix.no.such.key", flag(how)).status, PMIX_ERR_NOT_FOUND);
  }
  // It has committed, and the key is not there.
  check_status(get(other, "none").status, PMIX_ERR_NOT_FOUND);
  check_status(get(other, "none", std::move(Infos().integer(PMIX_TIMEOUT, 1))).status, PMIX_ERR_TIMEOUT);
  // An unknown key of the caller's own: there is no rank to wait for.
  check_status(get(client.me, "none").status, PMIX_ERR_NOT_FOUND);
  check_status(get(client.me, "none", flag(PMIX_OPTIONAL)).status, PMIX_ERR_NOT_FOUND);
  // A Get of any rank that has the key.
  check_equal(get(client.peer(PMIX_RANK_UNDEF), "key").u64(), 7);
  check_status(get(client.peer(PMIX_RANK_UNDEF), "none", flag(PMIX_OPTIONAL)).status, PMIX_ERR_NOT_FOUND);

  pmix_value_t mine, *out = &mine;
  PMIX_VALUE_CONSTRUCT(&mine);
  const auto fixed = flag(PMIX_GET_STATIC_VALUES);
  check_status(PMIx_Get(&other, "key", fixed.data(), fixed.size(), &out), PMIX_SUCCESS);
  check(out == &mine && mine.type == PMIX_UINT64 && mine.data.uint64 == 7, "a static value went elsewhere");
  out = nullptr;
  check_status(PMIx_Get(&other, "key", fixed.data(), fixed.size(), &out), PMIX_ERR_BAD_PARAM);
  const auto pointer = flag(PMIX_GET_POINTER_VALUES);
  check_status(PMIx_Get(&other, "key", pointer.data(), pointer.size(), &out), PMIX_SUCCESS);
  check(out != nullptr && out->data.uint64 == 7, "no pointer value");  // the library's: not freed here

  // Node, application, session, with and without a qualifier.
  const auto host = get(client.me, PMIX_HOSTNAME).text();
  check_equal(get(client.job, PMIX_LOCAL_SIZE, flag(PMIX_NODE_INFO)).u32(), client.size);
  check_equal(
      get(client.job, PMIX_LOCAL_SIZE, std::move(Infos().flag(PMIX_NODE_INFO).text(PMIX_HOSTNAME, host)))
          .u32(),
      client.size);
  check_equal(
      get(client.job, PMIX_LOCAL_SIZE, std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, 0))).u32(),
      client.size);
  check_status(get(client.job, PMIX_LOCAL_SIZE, std::move(Infos().text(PMIX_HOSTNAME, "nowhere"))).status,
               PMIX_ERR_NOT_FOUND);
  check_status(get(client.job, PMIX_LOCAL_SIZE, std::move(Infos().number(PMIX_NODEID, 99))).status,
               PMIX_ERR_NOT_FOUND);
  check_equal(get(client.job, PMIX_APP_SIZE, flag(PMIX_APP_INFO)).u32(), client.size);
  check_equal(
      get(client.job, PMIX_APP_SIZE, std::move(Infos().flag(PMIX_APP_INFO).number(PMIX_APPNUM, 0))).u32(),
      client.size);
  check_status(get(client.job, PMIX_APP_SIZE, std::move(Infos().number(PMIX_APPNUM, 5))).status,
               PMIX_ERR_NOT_FOUND);
  check_equal(get(client.job, PMIX_UNIV_SIZE).u32(), 33);  // by default the session's
  check_equal(get(client.job, PMIX_UNIV_SIZE, flag(PMIX_SESSION_INFO)).u32(), 33);

  // Directives of a type that they cannot have.
  check_status(get(other, "key", std::move(Infos().text(PMIX_TIMEOUT, "soon"))).status, PMIX_ERR_BAD_PARAM);
  check_status(get(other, "key", std::move(Infos().number(PMIX_DATA_SCOPE, 1))).status, PMIX_ERR_BAD_PARAM);
  check_status(get(other, "key", std::move(Infos().number(PMIX_HOSTNAME, 1))).status, PMIX_ERR_BAD_PARAM);

  // Everything about a process, and about the job.
  for (const auto& whom : {other, client.me, client.job}) {
    const auto all = get(whom, nullptr);
    check_status(all.status, PMIX_SUCCESS);
    check(all.value().type == PMIX_DATA_ARRAY && all.value().data.darray->type == PMIX_INFO,
          "no array of infos");
    const auto* infos = static_cast<const pmix_info_t*>(all.value().data.darray->array);
    bool found = false;
    for (std::size_t i = 0; i < all.value().data.darray->size; ++i)
      found |= std::strcmp(infos[i].key, whom.rank == PMIX_RANK_WILDCARD ? PMIX_JOB_SIZE : "key") == 0;
    check(found, "a key is missing in everything");
  }
  check_status(get(client.peer(77), nullptr).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int bad_arguments(const Words&) {
  Client client;
  pmix_value_t value, *out = nullptr;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT64;
  const std::string long_key(PMIX_MAX_KEYLEN + 1, 'k'), longest_key(PMIX_MAX_KEYLEN, 'k');
  check_status(PMIx_Put(PMIX_GLOBAL, nullptr, &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Put(PMIX_GLOBAL, "", &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Put(PMIX_GLOBAL, long_key.c_str(), &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Put(PMIX_GLOBAL, "key", nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Put(PMIX_SCOPE_UNDEF, "key", &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Put(99, "key", &value), PMIX_ERR_BAD_PARAM);
  pmix_value_t strange, foreign;
  PMIX_VALUE_CONSTRUCT(&strange);
  strange.type = 777;
  check_status(PMIx_Put(PMIX_GLOBAL, "key", &strange), PMIX_ERR_UNKNOWN_DATA_TYPE);
  check_status(PMIx_Store_internal(&client.me, "key", &strange), PMIX_ERR_UNKNOWN_DATA_TYPE);
  // A type that is known, of a source that is not: it cannot travel.
  char source[] = "elsewhere";
  pmix_topology_t topology{source, &client};
  PMIX_VALUE_CONSTRUCT(&foreign);
  foreign.type = PMIX_TOPO;
  foreign.data.topo = &topology;
  check_status(PMIx_Put(PMIX_GLOBAL, "key", &foreign), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Put(PMIX_GLOBAL, longest_key.c_str(), &value), PMIX_SUCCESS);
  check_equal(get(client.me, longest_key.c_str()).u64(), 0);
  value.type = 30000;  // no such type
  check(PMIx_Put(PMIX_GLOBAL, "key", &value) != PMIX_SUCCESS, "an unknown type was taken");
  check(PMIx_Store_internal(&client.me, "key", &value) != PMIX_SUCCESS, "an unknown type was stored");
  value.type = PMIX_UINT64;
  check_status(PMIx_Store_internal(nullptr, "key", &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Store_internal(&client.me, nullptr, &value), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Get(&client.me, "key", nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Get(&client.me, "key", nullptr, 2, &out), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Get(&client.me, long_key.c_str(), nullptr, 0, &out), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Get(nullptr, nullptr, nullptr, 0, &out), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Get_nb(&client.me, "key", nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check(out == nullptr, "an out-parameter was written on failure");
  // Unknown names and ranks.
  check_status(get(proc_of("no such namespace", 0), "key").status, PMIX_ERR_NOT_FOUND);
  check_status(get(proc_of("no such namespace", PMIX_RANK_WILDCARD), PMIX_JOB_SIZE).status,
               PMIX_ERR_NOT_FOUND);
  check_status(get(client.peer(1000), "key").status, PMIX_ERR_NOT_FOUND);
  check_status(get(client.peer(0xfffffff0), "key").status, PMIX_ERR_NOT_FOUND);
  check_status(get(client.peer(1000), PMIX_HOSTNAME).status, PMIX_ERR_NOT_FOUND);
  pmix_proc_t endless;
  std::memset(&endless, 'x', sizeof endless);
  check_status(get(endless, "key").status, PMIX_ERR_NOT_FOUND);
  check(fence({client.me, endless}) != PMIX_SUCCESS, "a fence with an unknown process ended well");
  check(fence({client.me, proc_of("no such namespace", 0)}) != PMIX_SUCCESS,
        "a fence with an unknown process ended well");
  check(fence({client.me, client.peer(1000)}) != PMIX_SUCCESS, "a fence with an unknown process ended well");
  check(fence({client.peer(1 - client.me.rank)}) != PMIX_SUCCESS, "a fence without the caller ended well");
  check_status(PMIx_Fence(nullptr, 3, nullptr, 0), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Fence(nullptr, 0, nullptr, 3), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Fence_nb(nullptr, 0, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(fence({}, std::move(Infos().text(PMIX_TIMEOUT, "soon"))), PMIX_ERR_BAD_PARAM);
  pmix_proc_t* procs = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Resolve_peers(nullptr, nullptr, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Resolve_peers("nowhere", client.me.nspace, &procs, &count), PMIX_ERR_NOT_FOUND);
  check_status(PMIx_Resolve_nodes(client.me.nspace, nullptr), PMIX_ERR_BAD_PARAM);
  char* nodes = nullptr;
  check_status(PMIx_Resolve_nodes("no such namespace", &nodes), PMIX_ERR_NOT_FOUND);
  check_status(PMIx_Abort(1, nullptr, nullptr, 3), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Log(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Job_control(nullptr, 0, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Init(nullptr, nullptr, 3), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Finalize(nullptr, 3), PMIX_ERR_BAD_PARAM);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int resolve(const Words&) {
  Client client;
  const auto host = get(client.me, PMIX_HOSTNAME).text();
  for (const char* node : {host.c_str(), static_cast<const char*>(nullptr)}) {
    pmix_proc_t* procs = nullptr;
    std::size_t count = 0;
    check_status(PMIx_Resolve_peers(node, client.me.nspace, &procs, &count), PMIX_SUCCESS);
    check_equal(count, client.size);
    for (std::size_t i = 0; i < count; ++i) check_equal(procs[i].rank, i);
    PMIX_PROC_FREE(procs, count);
  }
  char* nodes = nullptr;
  check_status(PMIx_Resolve_nodes(client.me.nspace, &nodes), PMIX_SUCCESS);
  check(nodes == host, "the nodes of the job");
  std::free(nodes);
  client.finalize();
  return 0;
}

/// Rank 0 asks before rank 1 has committed.
int wait_for_commit(const Words&) {
  Client client;
  if (client.me.rank == 1) {
    await("commit");
    check_status(put("late", std::uint64_t{11}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    await("commit more");
    check_status(put("later", std::uint64_t{12}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  } else {
    const auto other = client.peer(1);
    Waiter waiter, more, any;
    const Infos patient = std::move(Infos().integer(PMIX_TIMEOUT, 15));
    const auto any_rank = client.peer(PMIX_RANK_UNDEF);
    check_status(PMIx_Get_nb(&other, "late", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
    check_status(PMIx_Get_nb(&other, "later", patient.data(), patient.size(), Waiter::on_value, &more),
                 PMIX_SUCCESS);
    check_status(PMIx_Get_nb(&any_rank, "later", patient.data(), patient.size(), Waiter::on_value, &any),
                 PMIX_SUCCESS);
    Waiter long_waits[std::size(long_timeouts)];
    for (std::size_t i = 0; i < std::size(long_timeouts); ++i) {
      const Infos infos = std::move(Infos().unsigned64(PMIX_TIMEOUT, long_timeouts[i]));
      check_status(PMIx_Get_nb(&other, "later", infos.data(), infos.size(), Waiter::on_value, &long_waits[i]),
                   PMIX_SUCCESS);
    }
    say("asking");
    check_equal(get(other, "late", std::move(Infos().unsigned64(PMIX_TIMEOUT, UINT64_MAX))).u64(), 11);
    check_status(waiter.wait(), PMIX_SUCCESS);
    check_equal(waiter.number, 11);
    check(!more.over(), "a key that no rank has put");
    for (const auto& one : long_waits) check(!one.over(), "a timeout that has passed at once");
    say("got it");
    check_status(more.wait(), PMIX_SUCCESS);
    check_equal(more.number, 12);
    check_status(any.wait(), PMIX_SUCCESS);
    check_equal(any.number, 12);
    for (auto& one : long_waits) check_status(one.wait(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Rank 1 has committed, and commits the key later. words: whether it is waited for.
int wait_for_key(const Words& words) {
  Client client;
  if (client.me.rank == 1) {
    check_status(put("early", std::uint64_t{11}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    await("commit");
    check_status(put("late", std::uint64_t{12}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  } else {
    const auto other = client.peer(1);
    check_status(fence(), PMIX_SUCCESS);
    check_equal(get(other, "early").u64(), 11);
    Waiter waiter;
    check_status(PMIx_Get_nb(&other, "late", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
    if (words.at(0) == "waits") say("asking");
    const auto now = get(other, "late");
    check_status(now.status, words[0] == "waits" ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    check_status(waiter.wait(), now.status);
    if (now.status == PMIX_SUCCESS) check_equal(now.u64() + waiter.number, 24);
    if (words[0] != "waits") say("missing");
    // A rank that has not put it in the end: none of these waits, however long WEFT_GET_WAIT is.
    check_status(get(other, "never", flag(PMIX_IMMEDIATE)).status, PMIX_ERR_NOT_FOUND);
    check_status(get(other, "never", flag(PMIX_OPTIONAL)).status, PMIX_ERR_NOT_FOUND);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Says what a Get of rank 1's key ends with.
int ask_rank_one(const Words&) {
  Client client;
  const auto other = client.peer(1);
  Waiter waiter;
  check_status(PMIx_Get_nb(&other, "key", nullptr, 0, Waiter::on_value, &waiter), PMIX_SUCCESS);
  say("asking");
  say(PMIx_Error_string(get(other, "key").status));
  say(PMIx_Error_string(waiter.wait()));
  say(PMIx_Error_string(get(other, "key").status));
  say(PMIx_Error_string(get(other, "key", flag(PMIX_IMMEDIATE)).status));
  say(PMIx_Error_string(get(other, "key", std::move(Infos().integer(PMIX_TIMEOUT, 30))).status));
  client.finalize();
  return 0;
}

int rank_one(const Words& words) {
  Client client;
  if (words[0] == "commits") {
    check_status(put("key", std::uint64_t{5}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  say("ready");
  await("finalize");
  client.finalize();
  return 0;
}

/// Values that do not fit a small card: refused one by one, and what is there stays.
int overfill(const Words& words) {
  Client client;
  const auto value = std::string(1000, 'v');
  unsigned taken = 0;
  pmix_status_t status = PMIX_SUCCESS;
  for (unsigned i = 0; i < 100 && status == PMIX_SUCCESS; ++i) {
    status = put_bytes(("key" + std::to_string(i)).c_str(), value);
    if (status == PMIX_SUCCESS) status = PMIx_Commit();
    if (status == PMIX_SUCCESS) ++taken;
  }
  check_status(status, PMIX_ERR_OUT_OF_RESOURCE);
  check(taken >= 5 && taken < 100,
        "took " + std::to_string(taken) + " of 1000 bytes in a card of " + words[0]);
  check_status(
      put_bytes("huge", std::string(1 << 20, 'h')) == PMIX_SUCCESS ? PMIx_Commit() : PMIX_ERR_OUT_OF_RESOURCE,
      PMIX_ERR_OUT_OF_RESOURCE);
  check_status(fence(), PMIX_SUCCESS);
  const auto other = client.peer(client.me.rank ^ 1);
  for (unsigned i = 0; i < taken; ++i)
    check(get(other, ("key" + std::to_string(i)).c_str()).bytes() == value, "an earlier value");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int large_values(const Words&) {
  Client client;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20}) {
    const auto key = "size " + std::to_string(size);
    check_status(put_bytes(key.c_str(), std::string(size, static_cast<char>('a' + client.me.rank))),
                 PMIX_SUCCESS);
  }
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20}) {
      const auto key = "size " + std::to_string(size);
      check(get(client.peer(r), key.c_str()).bytes() == std::string(size, static_cast<char>('a' + r)), key);
    }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Eight threads of each rank use everything at once.
int many_threads(const Words&) {
  Client client;
  constexpr int threads = 8, rounds = 60;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      const auto key = "thread " + std::to_string(t);
      for (std::uint64_t i = 1; i <= rounds; ++i) {
        check_status(put(key.c_str(), i), PMIX_SUCCESS);
        check_equal(get(client.me, key.c_str()).u64(), i);
        check_status(PMIx_Commit(), PMIX_SUCCESS);
        check_equal(get(client.me, key.c_str()).u64(), i);
        check_equal(get(client.job, PMIX_JOB_SIZE).u32(), client.size);
        const auto other = get(client.peer(client.me.rank ^ 1), key.c_str(), flag(PMIX_OPTIONAL));
        check(other.status == PMIX_ERR_NOT_FOUND || (other.u64() >= 1 && other.u64() <= rounds),
              "a peer's value");
        Waiter waiter;
        check_status(PMIx_Get_nb(&client.me, key.c_str(), nullptr, 0, Waiter::on_value, &waiter),
                     PMIX_SUCCESS);
        if (i % 10 == 0) check_status(fence(), PMIX_SUCCESS);
        check_status(waiter.wait(), PMIX_SUCCESS);
        check_equal(waiter.number, i);
      }
    });
  for (auto& thread : all) thread.join();
  check_status(fence(), PMIX_SUCCESS);
  for (int t = 0; t < threads; ++t)
    check_equal(get(client.peer(client.me.rank ^ 1), ("thread " + std::to_string(t)).c_str()).u64(), rounds);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A process keeps for itself what it notes about others.
int store_internal(const Words&) {
  Client client;
  const auto other = client.peer(client.me.rank ^ 1);
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_UINT16;
  value.data.uint16 = 3;
  check_status(PMIx_Store_internal(&other, PMIX_LOCALITY, &value), PMIX_SUCCESS);
  check_equal(get(other, PMIX_LOCALITY).u16(), 3);
  check_equal(get(other, PMIX_LOCALITY, flag(PMIX_OPTIONAL)).u16(), 3);
  value.data.uint16 = 4;
  check_status(PMIx_Store_internal(&other, PMIX_LOCALITY, &value), PMIX_SUCCESS);
  check_equal(get(other, PMIX_LOCALITY).u16(), 4);
  const auto stranger = proc_of("not a job of ours", 3);
  check_status(PMIx_Store_internal(&stranger, "note", &value), PMIX_SUCCESS);
  check_equal(get(stranger, "note", flag(PMIX_OPTIONAL)).u16(), 4);
  check_status(fence({}, flag(PMIX_COLLECT_DATA)), PMIX_SUCCESS);
  check_status(get(client.me, PMIX_LOCALITY, flag(PMIX_OPTIONAL)).status,
               PMIX_ERR_NOT_FOUND);  // the other's note of me
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A callback may use the library while its own thread is in a commit.
int use_in_callback(const Words&) {
  Client client;
  struct Context {
    std::atomic<int> left{200};
    static void on_value(pmix_status_t status, pmix_value_t*, void* self) {
      check_status(status, PMIX_SUCCESS);
      check_status(put("from a callback", std::uint64_t{1}), PMIX_SUCCESS);
      check_status(PMIx_Commit(), PMIX_SUCCESS);
      pmix_value_t* value = nullptr;
      const pmix_proc_t unknown = proc_of("no such namespace", 0);
      check_status(PMIx_Get(&unknown, "key", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);  // asks the server
      static_cast<Context*>(self)->left.fetch_sub(1);
    }
  } context;
  check_status(put("key", std::uint64_t{1}), PMIX_SUCCESS);
  for (int i = 0; i < 200; ++i) {
    check_status(PMIx_Get_nb(&client.me, "key", nullptr, 0, Context::on_value, &context), PMIX_SUCCESS);
    check_status(put("from the main thread", std::uint64_t{1}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check(eventually([&] { return context.left.load() == 0; }), "a callback never came");
  client.finalize();
  return 0;
}

}  // namespace

void add_data_programs(Programs& programs) {
  programs.add("scopes", scopes);
  programs.add("directives", directives);
  programs.add("bad_arguments", bad_arguments);
  programs.add("resolve", resolve);
  programs.add("wait_for_commit", wait_for_commit);
  programs.add("wait_for_key", wait_for_key);
  programs.add("ask_rank_one", ask_rank_one);
  programs.add("rank_one", rank_one);
  programs.add("overfill", overfill);
  programs.add("large_values", large_values);
  programs.add("many_threads", many_threads);
  programs.add("store_internal", store_internal);
  programs.add("use_in_callback", use_in_callback);
}

// ---- tests

class DataTest : public Multiproc, public ::testing::WithParamInterface<Segment> {
 protected:
  /// How Gets of a rank end that goes without the key. Waiting: they were there before it went.
  void ask_for_gone(const char* what, bool by_finalize, bool waiting, const char* status) {
    Host host;
    host.add_job("job", 2);
    auto one = host.start("job", 1, "rank_one", {what}, reach(GetParam(), 1));
    one.expect("ready");
    Child zero;
    const auto ask = [&] {
      zero = host.start("job", 0, "ask_rank_one", {}, reach(GetParam(), 0));
      zero.expect("asking");
    };
    if (waiting) ask();
    if (by_finalize) {
      one.tell("finalize");
      one.expect_success();
    } else {
      one.kill();
      EXPECT_EQ(one.wait(), SIGKILL);
    }
    if (!waiting) ask();
    for (int i = 0; i < 5; ++i) zero.expect(status);
    zero.expect_success();
  }
};

INSTANTIATE_TEST_SUITE_P(Segment, DataTest, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(DataTest, scopes) {
  all_run(GetParam(), 2, "scopes");
}
TEST_P(DataTest, directives) {
  Host host({}, {{"WEFT_GET_WAIT", "0.1"}});
  Infos infos;
  infos.number(PMIX_JOB_SIZE, 2);
  infos.array(PMIX_SESSION_INFO_ARRAY, std::move(Infos().number(PMIX_UNIV_SIZE, 33)));
  host.add_job("job", 2, infos);
  for (pmix_rank_t rank = 0; rank < 2; ++rank) host.add_client(proc_of("job", rank));
  auto children = start_all(host, GetParam(), "job", 2, "directives");
  expect_success(children);
}
TEST_P(DataTest, bad_arguments) {
  all_run(GetParam(), 2, "bad_arguments");
}
TEST_P(DataTest, resolve) {
  all_run(GetParam(), 3, "resolve");
}
TEST_P(DataTest, large_values) {
  all_run(GetParam(), 2, "large_values");
}
TEST_P(DataTest, values_above_the_card) {
  all_run(GetParam(), 2, "overfill", {"16384"}, {{"WEFT_CARD_BYTES", "16384"}});
}
TEST_P(DataTest, many_threads) {
  all_run(GetParam(), 2, "many_threads");
}
TEST_P(DataTest, store_internal) {
  all_run(GetParam(), 2, "store_internal");
}
TEST_P(DataTest, use_in_callback) {
  all_run(GetParam(), 1, "use_in_callback");
}

TEST_P(DataTest, a_get_waits_for_the_first_commit) {
  Host host;
  host.add_job("job", 2);
  auto children = start_all(host, GetParam(), "job", 2, "wait_for_commit");
  children[0].expect("asking");
  children[1].tell("commit");
  children[0].expect("got it");
  children[1].tell("commit more");
  expect_success(children);
}

TEST_P(DataTest, a_get_waits_for_a_key_of_a_later_commit) {
  Host host({}, {{"WEFT_GET_WAIT", "inf"}});
  host.add_job("job", 2);
  auto children = start_all(host, GetParam(), "job", 2, "wait_for_key", {"waits"});
  children[0].expect("asking");
  children[1].tell("commit");
  expect_success(children);
}
TEST_P(DataTest, a_process_says_how_long_its_own_gets_wait) {
  Host host({}, {{"WEFT_GET_WAIT", "inf"}});
  host.add_job("job", 2);
  std::vector<Child> children;
  for (pmix_rank_t rank = 0; rank < 2; ++rank) {
    auto options = reach(GetParam(), rank);
    if (rank == 0) options.variables.emplace_back("WEFT_GET_WAIT", "0.05");
    children.push_back(host.start("job", rank, "wait_for_key", {"gives up"}, options));
  }
  children[0].expect("missing");
  children[1].tell("commit");
  expect_success(children);
}

TEST_P(DataTest, get_of_a_rank_that_is_killed) {
  ask_for_gone("nothing", false, true, "PMIX_ERR_UNREACH");
}
TEST_P(DataTest, get_of_a_rank_that_finalizes) {
  ask_for_gone("nothing", true, true, "PMIX_ERR_UNREACH");
}
TEST_P(DataTest, get_of_a_rank_that_was_killed) {
  ask_for_gone("nothing", false, false, "PMIX_ERR_UNREACH");
}
TEST_P(DataTest, get_of_a_rank_that_has_finalized) {
  ask_for_gone("nothing", true, false, "PMIX_ERR_UNREACH");
}
TEST_P(DataTest, get_of_what_a_killed_rank_committed) {
  ask_for_gone("commits", false, false, "PMIX_SUCCESS");
}

}  // namespace weft::test
