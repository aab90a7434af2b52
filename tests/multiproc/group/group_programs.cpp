// SPDX-License-Identifier: BSD-3-Clause
// Members of groups that the servers make, for tests on one node (group_test.cpp) and on several
// (cluster_group_test.cpp).
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

/// All ranks, the highest first.
Procs backwards(const Client& client) {
  Procs out;
  for (auto rank = client.size; rank-- != 0;) out.push_back(client.peer(rank));
  return out;
}

/// Each odd rank and the last; rank 0 is none of them.
Procs some_of(const Client& client) {
  Procs out;
  for (pmix_rank_t rank = 1; rank < client.size; ++rank)
    if (rank % 2 == 1 || rank == client.size - 1) out.push_back(client.peer(rank));
  std::reverse(out.begin(), out.end());
  return out;
}

std::atomic<int> heard{0};
void count_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                 pmix_event_notification_cbfunc_fn_t done, void* open) {
  ++heard;
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}
void listen_for(pmix_status_t code) {
  check(PMIx_Register_event_handler(&code, 1, nullptr, 0, count_event, nullptr, nullptr) >= 0, "no handler");
}

/// The answer to one key: the number, or how many elements the array has.
std::size_t query(const char* key, const char* group = nullptr) {
  char* keys[] = {const_cast<char*>(key), nullptr};
  Infos qualifiers;
  if (group != nullptr) qualifiers.text(PMIX_GROUP_ID, group);
  pmix_query_t query{keys, qualifiers.data(), qualifiers.size()};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  check_equal(count, 1);
  const auto& value = results[0].value;
  const auto out = value.type == PMIX_SIZE ? value.data.size : value.data.darray->size;
  PMIX_INFO_FREE(results, count);
  return out;
}

/// How many processes of the group are on this node; each is one of `members`.
std::size_t peers_of(const char* group, const Procs& members) {
  pmix_proc_t* procs = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Resolve_peers(nullptr, group, &procs, &count), PMIX_SUCCESS);
  for (std::size_t i = 0; i < count; ++i) check(contains(members, procs[i]), "a peer that is no member");
  std::free(procs);
  return count;
}
std::size_t count_on_this_node(const Procs& members) {
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(), [](const pmix_proc_t& member) {
        return get(member, PMIX_HOSTNAME).text() ==
               get(proc_of(member.nspace, PMIX_RANK_WILDCARD), PMIX_HOSTNAME).text();
      }));
}

/// A group of some, in an order of its own; its name and group ranks in each call that takes a namespace.
int uses_a_group(const Words&) {
  Client client;
  constexpr pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 9;
  listen_for(code);
  check_status(put("card", 100 + client.me.rank), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  const auto members = some_of(client);
  const bool is_member = contains(members, client.me);
  const auto n = members.size();
  if (is_member) {
    const auto made = construct("ours", members, std::move(Infos().flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)));
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, members), "the members, by group rank");
    check(made.context && *made.context != 0, "a context");
    check_status(construct("ours", members).status, PMIX_ERR_EXISTS);
    check_status(fence({all_of("ours")}), PMIX_SUCCESS);
    Procs by_rank;
    for (pmix_rank_t rank = 0; rank < n; ++rank) by_rank.push_back(proc_of("ours", rank));
    check_status(fence(by_rank, collect()), PMIX_SUCCESS);
    for (pmix_rank_t rank = 0; rank < n; ++rank) {
      check_equal(get(proc_of("ours", rank), "card", optional()).u64(), 100 + members[rank].rank);
      check_equal(get(proc_of("ours", rank), PMIX_RANK, optional()).rank(), members[rank].rank);
      Waiter later;
      const auto member = proc_of("ours", rank);
      check_status(PMIx_Get_nb(&member, "card", nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
      check_status(later.wait(), PMIX_SUCCESS);
      check_equal(later.number, 100 + members[rank].rank);
    }
    check_equal(get(all_of("ours"), PMIX_JOB_SIZE).u32(), client.size);
    check_equal(get(all_of("ours"), PMIX_GROUP_MEMBERSHIP).value().data.darray->size, n);
    check_equal(get(all_of("ours"), PMIX_GROUP_CONTEXT_ID).value().data.size, *made.context);
    check_equal(get(client.me, PMIX_GROUP_NAMES).value().data.darray->size, 1);
    check_status(get(proc_of("ours", static_cast<pmix_rank_t>(n)), "card", optional()).status,
                 PMIX_ERR_NOT_FOUND);
    check_status(fence({proc_of("ours", static_cast<pmix_rank_t>(n))}), PMIX_ERR_NOT_FOUND);
    check_equal(query(PMIX_QUERY_NUM_GROUPS), 1);
    check_equal(query(PMIX_QUERY_GROUP_NAMES), 1);
    check_equal(query(PMIX_QUERY_GROUP_MEMBERSHIP, "ours"), n);
    check_equal(peers_of("ours", members), count_on_this_node(members));
    char* nodes = nullptr;
    check_status(PMIx_Resolve_nodes("ours", &nodes), PMIX_SUCCESS);
    check(nodes != nullptr && *nodes != '\0', "no nodes of a group");
    std::free(nodes);
    // A group of a group's members. The attribute says what the library knows: a caller may insist on it.
    Infos is_group;
    is_group.flag(PMIX_GROUP_OPERATION);
    PMIX_INFO_REQUIRED(is_group.data());
    check(is_same(construct("inner", {all_of("ours")}, is_group).members, members), "members of a group");
    check_status(destruct("inner"), PMIX_SUCCESS);
    if (client.me.rank == members[0].rank) {
      Infos range;
      range.flag(PMIX_GROUP_OPERATION).proc(PMIX_EVENT_CUSTOM_RANGE, all_of("ours"));
      PMIX_INFO_REQUIRED(range.data());
      check_status(PMIx_Notify_event(code, &client.me, PMIX_RANGE_CUSTOM, range.data(), range.size(), nullptr,
                                     nullptr),
                   PMIX_OPERATION_SUCCEEDED);
    }
    check(eventually([&] { return heard.load() == 1; }), "an event for the group");
    check_status(destruct("ours"), PMIX_SUCCESS);
    check_status(destruct("ours"), PMIX_ERR_NOT_FOUND);
    check(fence({all_of("ours")}, std::move(Infos().integer(PMIX_TIMEOUT, 1))) != PMIX_SUCCESS,
          "a group that is no more");
  }
  check_status(fence(), PMIX_SUCCESS);
  check_equal(static_cast<std::uint64_t>(heard.load()), is_member ? 1 : 0);
  client.finalize();
  return 0;
}

std::vector<std::string> groups_of(const pmix_proc_t& proc) {
  const auto got = get(proc, PMIX_GROUP_NAMES);
  if (got.status == PMIX_ERR_NOT_FOUND) return {};
  const auto* array = got.value().data.darray;
  check_equal(array->type, PMIX_STRING);
  const auto* names = static_cast<char**>(array->array);
  return {names, names + array->size};
}

/// All ask which groups each of them is in: of two groups, one of which all but the last are in, and the
/// other the first two.
int asks_for_groups_of_all(const Words&) {
  Client client;
  const auto last = client.size - 1;
  if (client.me.rank < last)
    check_status(construct("most", ranks_of(client, 0, last - 1)).status, PMIX_SUCCESS);
  if (client.me.rank < 2) check_status(construct("few", ranks_of(client, 0, 1)).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  using Names = std::vector<std::string>;
  for (pmix_rank_t rank = 0; rank <= last; ++rank) {
    const auto peer = client.peer(rank);
    const auto expected = rank < 2 ? Names{"few", "most"} : rank < last ? Names{"most"} : Names{};
    check(groups_of(peer) == expected, "the groups of a process");
    Waiter later;
    check_status(PMIx_Get_nb(&peer, PMIX_GROUP_NAMES, nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
    check_status(later.wait(), rank < last ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
  }
  check(groups_of(client.peer(last + 7)).empty(), "a rank that is none");
  check(groups_of(proc_of("no-such-job", 0)).empty(), "a namespace that is none");
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank < 2) check_status(destruct("few"), PMIX_SUCCESS);
  if (client.me.rank < last) check_status(destruct("most"), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank <= last; ++rank)
    check(groups_of(client.peer(rank)).empty(), "a group that is no more");
  client.finalize();
  return 0;
}

/// Each member names the group in another way: the first by name has the say of the order.
int names_it_in_many_ways(const Words&) {
  Client client;
  for (int round = 0; round < 5; ++round) {
    Procs procs = round % 2 == 0 ? backwards(client) : Procs{client.job};
    if (client.me.rank % 3 == 1) procs = {client.job};
    if (client.me.rank % 3 == 2)
      std::rotate(procs.begin(), procs.begin() + static_cast<std::ptrdiff_t>(procs.size() / 2), procs.end());
    const auto name = "round " + std::to_string(round % 2);
    const auto made = construct(name, procs);
    check_status(made.status, PMIX_SUCCESS);
    auto wanted = backwards(client);
    if (round % 2 == 1) std::reverse(wanted.begin(), wanted.end());
    check(is_same(made.members, wanted), "the order of rank 0");
    check_status(fence({all_of(name)}), PMIX_SUCCESS);
    check_status(destruct(name), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// A construct that is under way.
struct OpenConstruct {
  Waiter over;
  Made made;
  static void on_made(pmix_status_t status, pmix_info_t* results, size_t count, void* self,
                      pmix_release_cbfunc_t release, void* release_data) {
    auto& later = *static_cast<OpenConstruct*>(self);
    later.made = read_results(status, results, count);
    if (release != nullptr) release(release_data);
    Waiter::on_status(status, &later.over);
  }
};

/// Groups of the same processes under many names, begun in another order by each, and fences of the same
/// processes beside them.
int makes_many_at_once(const Words&) {
  Client client;
  constexpr std::size_t count = 8;
  const auto members = backwards(client);
  std::vector<std::size_t> seen;
  for (int round = 0; round < 5; ++round) {
    std::vector<OpenConstruct> groups(count);
    std::vector<Waiter> fences(count);
    Infos infos;
    infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    for (std::size_t i = 0; i < count; ++i) {
      const auto which = (i + client.me.rank) % count;
      const auto name = "group " + std::to_string(which);
      check_status(PMIx_Group_construct_nb(name.c_str(), members.data(), members.size(), infos.data(),
                                           infos.size(), OpenConstruct::on_made, &groups[which]),
                   PMIX_SUCCESS);
      check_status(PMIx_Fence_nb(members.data(), members.size(), nullptr, 0, Waiter::on_status, &fences[i]),
                   PMIX_SUCCESS);
    }
    for (auto& each : fences) check_status(each.wait(), PMIX_SUCCESS);
    for (auto& each : groups) {
      check_status(each.over.wait(), PMIX_SUCCESS);
      check(is_same(each.made.members, members), "its members");
      check(std::find(seen.begin(), seen.end(), each.made.context.value()) == seen.end(),
            "a context that another has");
      seen.push_back(*each.made.context);
    }
    std::vector<Waiter> ends(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto which = (i + 2 * client.me.rank) % count;
      check_status(PMIx_Group_destruct_nb(("group " + std::to_string(which)).c_str(), nullptr, 0,
                                          Waiter::on_status, &ends[which]),
                   PMIX_SUCCESS);
    }
    for (auto& each : ends) check_status(each.wait(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The values that members give for the others are there under the context's identifier, even after the
/// group's end.
int gives_data(const Words&) {
  Client client;
  std::vector<std::size_t> contexts;
  for (std::size_t round = 0; round < 3; ++round) {
    Infos local, infos;
    const auto cid = std::uint64_t{1000 * round + client.me.rank};
    local.unsigned64("cid", cid).text("what", "of rank " + std::to_string(client.me.rank));
    infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID)
        .array(PMIX_GROUP_INFO, std::move(local))
        .bytes(PMIX_GROUP_ENDPT_DATA, "an endpoint");
    const auto made = construct("data", {client.job}, infos);
    check_status(made.status, PMIX_SUCCESS);
    check_status(destruct("data"), PMIX_SUCCESS);
    contexts.push_back(made.context.value());
    for (std::size_t before = 0; before <= round; ++before) {
      pmix_info_t qualifier;
      PMIX_INFO_LOAD(&qualifier, PMIX_GROUP_CONTEXT_ID, &contexts[before], PMIX_SIZE);
      qualifier.flags |= PMIX_INFO_QUALIFIER;
      for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
        const auto peer = client.peer(rank);
        pmix_value_t* value = nullptr;
        check_status(PMIx_Get(&peer, "cid", &qualifier, 1, &value), PMIX_SUCCESS);
        check_equal(value->data.uint64, 1000 * before + rank);
        PMIX_VALUE_RELEASE(value);
        check_status(PMIx_Get(&peer, PMIX_GROUP_ENDPT_DATA, &qualifier, 1, &value), PMIX_SUCCESS);
        check_equal(value->data.bo.size, 11);
        PMIX_VALUE_RELEASE(value);
      }
    }
  }
  // Without a context the keys are plain ones, and hide nothing that the host has said.
  Infos plain, infos;
  plain.text(PMIX_HOSTNAME, "of its own making").text("plain", "of rank " + std::to_string(client.me.rank));
  infos.array(PMIX_GROUP_INFO, std::move(plain));
  const auto before = get(client.peer(0), PMIX_HOSTNAME).text();
  check_status(construct("plain", {client.job}, infos).status, PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
    check(get(client.peer(rank), PMIX_HOSTNAME).text() != "of its own making",
          "a member's word in place of the host's");
    if (rank != client.me.rank)
      check_equal(get(client.peer(rank), "plain").text(), "of rank " + std::to_string(rank));
  }
  check_equal(get(client.peer(0), PMIX_HOSTNAME).text(), before);
  check_status(destruct("plain"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The last rank does not call: a timeout for all that do, and the next attempt is a good one.
int one_comes_too_late(const Words&) {
  Client client;
  const bool is_late = client.me.rank == client.size - 1;
  Infos soon;
  soon.integer(PMIX_TIMEOUT, 1);
  if (!is_late) check_status(construct("late", {client.job}, soon).status, PMIX_ERR_TIMEOUT);
  check_status(fence(), PMIX_SUCCESS);
  if (is_late) check(construct("late", {client.job}, soon).status != PMIX_SUCCESS, "alone");
  check_status(fence(), PMIX_SUCCESS);
  check_status(construct("late", {client.job}).status, PMIX_SUCCESS);
  if (!is_late) check_status(destruct("late", soon), PMIX_ERR_TIMEOUT);
  check_status(fence(), PMIX_SUCCESS);
  if (is_late) check(destruct("late", soon) != PMIX_SUCCESS, "alone");
  check_status(fence(), PMIX_SUCCESS);
  check_status(destruct("late"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The last rank ends, or both of the last node. Word: what the others are in then.
int loses_the_last(const Words& words) {
  Client client;
  const auto& how = words.at(0);
  Infos infos;
  const bool is_optional = how == "optional" || how == "optional_node";
  const pmix_rank_t left_count = client.size - (how == "optional_node" ? 2 : 1);
  if (is_optional) infos.flag(PMIX_GROUP_OPTIONAL);
  if (how == "notifies") infos.flag(PMIX_GROUP_NOTIFY_TERMINATION);
  listen_for(PMIX_GROUP_MEMBER_FAILED);
  check_status(fence(), PMIX_SUCCESS);
  const bool is_last = client.me.rank >= left_count;
  const bool is_made_before = how == "made" || how == "notifies";
  if (is_made_before) check_status(construct("lossy", {client.job}, infos).status, PMIX_SUCCESS);
  if (is_last) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  if (is_made_before) {
    if (how == "notifies")
      check(eventually([&] { return heard.load() == 1; }), "no event of the member's end");
    check_status(destruct("lossy"), how == "notifies" ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED);
  } else {
    const auto made = construct("lossy", {client.job}, infos);
    check_status(made.status, is_optional ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_PROC_ABORTED);
    if (is_optional) {
      auto left = backwards(client);
      std::reverse(left.begin(), left.end());
      left.resize(left_count);
      check(is_same(made.members, left), "the members that are left");
      check_status(fence({all_of("lossy")}), PMIX_SUCCESS);
      check_status(destruct("lossy"), PMIX_SUCCESS);
    }
  }
  Procs others;
  for (pmix_rank_t rank = 0; rank < left_count; ++rank) others.push_back(client.peer(rank));
  const auto again = construct("without it", others);
  check_status(again.status, PMIX_SUCCESS);
  check_status(destruct("without it"), PMIX_SUCCESS);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// The members of the first node mean another group by that name than the others: an error for all, and what
/// comes next is well.
int nodes_mean_other_members(const Words&) {
  Client client;
  auto others = backwards(client);
  others.erase(others.begin());  // without the last rank
  const bool is_first_node = client.me.rank < 2;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank != client.size - 1)
    check_status(construct("ours", is_first_node ? others : Procs{client.job}).status, PMIX_ERR_BAD_PARAM);
  else
    check_status(construct("ours", {client.job}).status, PMIX_ERR_BAD_PARAM);
  check_status(fence(), PMIX_SUCCESS);
  check_status(construct("ours", {client.job}).status, PMIX_SUCCESS);
  check_status(destruct("ours"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The last rank comes to a construct, a destruct, a connect and a disconnect when the test says so. Word:
/// which of them.
int last_is_late_for(const Words& words) {
  Client client;
  meet_the_test();
  const auto& what = words.at(0);
  const bool is_late = client.me.rank + 1 == client.size;
  const auto come_to = [&](const char* which) {
    if (is_late && what == which) await("come");
  };
  come_to("construct");
  check_status(construct("late", {client.job}).status, PMIX_SUCCESS);
  come_to("destruct");
  check_status(destruct("late"), PMIX_SUCCESS);
  come_to("connect");
  check_status(PMIx_Connect(&client.job, 1, nullptr, 0), PMIX_SUCCESS);
  come_to("disconnect");
  check_status(PMIx_Disconnect(&client.job, 1, nullptr, 0), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Both jobs connect, then one rank of each, and disconnect; values that were committed before are there.
int connects_two_jobs(const Words&) {
  Client client;
  const char* names[] = {"wide", "beside"};
  const auto last = client.size - 1;
  const bool is_first_job = std::string_view(client.me.nspace) == names[0];
  const Procs both{proc_of(names[is_first_job ? 0 : 1], PMIX_RANK_WILDCARD),
                   proc_of(names[is_first_job ? 1 : 0], PMIX_RANK_WILDCARD)};
  const Procs pair{proc_of(names[0], 0), proc_of(names[1], last)};
  const bool is_of_pair = contains(pair, client.me);
  for (std::uint64_t round = 0; round < 5; ++round) {
    check_status(put("round", 10 * round + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(PMIx_Disconnect(both.data(), both.size(), nullptr, 0), PMIX_ERR_INVALID_OPERATION);
    check_status(PMIx_Connect(both.data(), both.size(), nullptr, 0), PMIX_SUCCESS);
    for (const char* nspace : names)
      for (pmix_rank_t rank = 0; rank < client.size; ++rank) {
        const auto seen = get(proc_of(nspace, rank), "round", optional()).u64();
        check(seen == 10 * round + rank, "a card of another round");
      }
    if (is_of_pair) {
      check_status(PMIx_Connect(pair.data(), pair.size(), nullptr, 0), PMIX_SUCCESS);
      check_status(PMIx_Disconnect(pair.data(), pair.size(), nullptr, 0), PMIX_SUCCESS);
    }
    check_status(PMIx_Disconnect(both.data(), both.size(), nullptr, 0), PMIX_SUCCESS);
    const auto made = construct("of two jobs", both);
    check_status(made.status, PMIX_SUCCESS);
    check_equal(made.members.size(), 2 * client.size);
    check_status(fence({all_of("of two jobs")}), PMIX_SUCCESS);
    check_status(destruct("of two jobs"), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Groups of members by chance, one after the other, under names that come again; each member goes on to its
/// next at its own pace. All see the same members, and nothing is left. Words: the seed, which is the same
/// for all; how many.
int makes_groups_by_chance(const Words& words) {
  Client client;
  std::mt19937 random(static_cast<unsigned>(std::stoul(words.at(0))));
  const auto rounds = std::stoul(words.at(1));
  constexpr std::size_t names = 50;
  for (std::size_t round = 0; round < rounds; ++round) {
    auto members = backwards(client);
    std::shuffle(members.begin(), members.end(), random);
    members.resize(1 + random() % members.size());
    // A name is used again when its group has ended everywhere.
    if (round % names == 0) check_status(fence(), PMIX_SUCCESS);
    const auto name = "by chance " + std::to_string(round % names);
    const bool wants_context = random() % 2 == 0;
    if (!contains(members, client.me)) continue;
    Infos infos;
    if (wants_context) infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    const auto made = construct(name, members, infos);
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, members), "the members of all");
    check(made.context.has_value() == wants_context, "a context");
    if (round % 8 == 0) check_status(fence({all_of(name)}), PMIX_SUCCESS);
    check_status(destruct(name), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  check_equal(query(PMIX_QUERY_NUM_GROUPS), 0);
  client.finalize();
  return 0;
}

/// Made, used and ended many times, by threads.
int makes_and_ends_groups(const Words&) {
  Client client;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const auto name = "of thread " + std::to_string(t);
      for (int round = 0; round < 100; ++round) {
        check_status(construct(name, {client.job}).status, PMIX_SUCCESS);
        check_status(destruct(name), PMIX_SUCCESS);
      }
    });
  for (auto& thread : threads) thread.join();
  client.finalize();
  return 0;
}

}  // namespace

void add_group_programs(Programs& programs) {
  programs.add("uses_a_group", uses_a_group);
  programs.add("asks_for_groups_of_all", asks_for_groups_of_all);
  programs.add("names_it_in_many_ways", names_it_in_many_ways);
  programs.add("makes_many_at_once", makes_many_at_once);
  programs.add("gives_data", gives_data);
  programs.add("one_comes_too_late", one_comes_too_late);
  programs.add("nodes_mean_other_members", nodes_mean_other_members);
  programs.add("connects_two_jobs", connects_two_jobs);
  programs.add("last_is_late_for", last_is_late_for);
  programs.add("makes_groups_by_chance", makes_groups_by_chance);
  programs.add("loses_the_last", loses_the_last);
  programs.add("makes_and_ends_groups", makes_and_ends_groups);
}

}  // namespace weft::test
