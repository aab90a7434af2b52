// SPDX-License-Identifier: BSD-3-Clause
// Members of groups of which whole nodes are lost, with their servers, and processes that end while they ask
// to join (group_loss_test.cpp). Three nodes of two ranks each.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

// Over loopback a TCP connection whose reader is stopped takes 5 MiB.
constexpr std::size_t more_than_a_connection_holds = 12U << 20;

void end_by_kill() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

/// Or will be.
bool is_open_here(const std::string& operation) {
  return eventually([&] {
    const auto open = operations_open_here();
    return std::any_of(open.begin(), open.end(),
                       [&](const std::string& each) { return each.starts_with(operation); });
  });
}

/// Or it is over soon.
bool is_over_here(const std::string& operation) {
  return eventually([&] {
    const auto open = operations_open_here();
    return std::none_of(open.begin(), open.end(),
                        [&](const std::string& each) { return each.starts_with(operation); });
  });
}

struct Survivor {
  Client client;
  pmix_rank_t rank = client.me.rank;
  pmix_rank_t last = client.size - 1;

  Survivor() { group_events().listen(PMIX_ERR_PROC_ABORTED); }
  Procs ranks(std::initializer_list<pmix_rank_t> of) const { return ranks_of(client, of); }
  /// This process is lost with its node, when the test has heard it.
  static void be_lost() { await("never"); }
  static void wait_for_loss_of(pmix_rank_t lost) {
    while (group_events().wait(PMIX_ERR_PROC_ABORTED).source.rank != lost) continue;
  }
  void compare(const std::string& group, const Procs& members) const {
    check(eventually([&] { return is_same(members_of(group), members); }), "the members");
  }
  /// Finalizes without a fence: ranks that have lost others cannot meet them.
  static void end() {
    check(eventually([] { return operations_open_here().empty(); }), "an operation is left open");
    PMIx_Finalize(nullptr, 0);
  }
};

/// The first node keeps the group and is lost. Then rank 4 leaves, before the next keeper hears of the loss
/// where the test holds that up, and rank 5 joins.
int keepers_node_dies(const Words&) {
  Survivor me;
  const auto survivors = me.ranks({2, 3, 4, 5});
  group_events().listen(PMIX_GROUP_LEFT);
  group_events().listen(PMIX_GROUP_MEMBER_FAILED);
  const auto tells = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank != 5) check_status(construct("kept", ranks_of(me.client, 0, 4), tells).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 0) say("ready");
  if (me.rank < 2) me.be_lost();
  if (me.rank == 4) {
    for (int i = 0; i < 2; ++i)
      check(group_events().wait(PMIX_GROUP_MEMBER_FAILED, "kept").about->rank < 2, "who");
    Waiter left;
    check_status(PMIx_Group_leave_nb("kept", nullptr, 0, Waiter::on_status, &left), PMIX_SUCCESS);
    hear_from_server();
    say("asked");
    check_status(left.wait(), PMIX_SUCCESS);
  }
  if (me.rank == 2 || me.rank == 3) check_equal(group_events().wait(PMIX_GROUP_LEFT, "kept").about->rank, 4);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank == 5) check_status(join("kept", nullptr).status, PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank != 4) me.compare("kept", me.ranks({0, 1, 2, 3, 5}));
  if (me.rank == 4) check(members_of("kept").empty(), "still a member");
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank != 4) check_status(leave("kept"), PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// The only member of the first node, which keeps the group, dies; then the only one of the second. Word:
/// stays: rank 5 joins; or is_lost: the first node is lost before that, and the second one keeps the group.
int keepers_member_dies(const Words& words) {
  Survivor me;
  const bool is_lost = words.at(0) == "is_lost";
  const auto members = me.ranks({0, 2, 4});
  const auto survivors = is_lost ? me.ranks({3, 4, 5}) : me.ranks({1, 3, 4, 5});
  const auto tells = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  group_events().listen(PMIX_GROUP_MEMBER_FAILED);
  check_status(fence(), PMIX_SUCCESS);
  if (contains(members, me.client.me)) check_status(construct("kept", members, tells).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 0 || me.rank == 2) end_by_kill();
  if (me.rank == 4)
    for (int i = 0; i < 2; ++i) group_events().wait(PMIX_GROUP_MEMBER_FAILED, "kept");
  if (is_lost) {
    if (me.rank == 4) say("ready");
    if (me.rank == 1) me.be_lost();
    me.wait_for_loss_of(1);
  }
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank == 5) check_status(join("kept", nullptr).status, PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank > 3) {
    me.compare("kept", me.ranks({0, 2, 4, 5}));
    check_status(fence(me.ranks({4, 5})), PMIX_SUCCESS);
    check_status(leave("kept"), PMIX_SUCCESS);
  }
  check_status(fence(survivors), PMIX_SUCCESS);
  check(eventually([] { return groups_known_here() == 0; }), "a group without live members is left");
  me.end();
  return 0;
}

/// Rank 4 joins a group that the first node keeps, with so much data that the change does not reach the
/// stopped second node before the first is lost. The second is the next keeper: it learns of the change from
/// the third, and rank 4 has joined.
int keepers_last_change_is_cut_off(const Words&) {
  Survivor me;
  const auto survivors = me.ranks({2, 3, 4, 5});
  const auto first = me.ranks({0, 2, 3, 5});
  group_events().listen(PMIX_GROUP_MEMBERSHIP_UPDATE);
  group_events().listen(PMIX_GROUP_JOIN_REQUEST, [&](const Event&) -> Answer {
    if (me.rank != 5) return {};
    say("asked");
    await("answer");
    return {};
  });
  check_status(fence(), PMIX_SUCCESS);
  if (contains(first, me.client.me)) check_status(construct("kept", first).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 0) {
    group_events().wait(PMIX_GROUP_JOIN_REQUEST);
    check_status(fence(me.ranks({0, 2, 3})), PMIX_SUCCESS);
  }
  if (me.rank < 2) me.be_lost();
  if (me.rank == 2 || me.rank == 3) {
    group_events().wait(PMIX_GROUP_JOIN_REQUEST);
    hear_from_server();
    check_status(fence(me.ranks({0, 2, 3})), PMIX_SUCCESS);  // behind their answers
    if (me.rank == 3) say("answered");
  }
  if (me.rank == 4) {
    Infos infos;
    infos.array(PMIX_GROUP_INFO,
                std::move(Infos().bytes("large", std::string(more_than_a_connection_holds, 'x'))));
    check_status(join("kept", nullptr, PMIX_GROUP_ACCEPT, infos).status, PMIX_SUCCESS);
  } else {
    check(
        is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE, "kept").members, me.ranks({0, 2, 3, 5, 4})),
        "the members by event");
  }
  if (me.rank == 5) say("heard");
  me.compare("kept", me.ranks({0, 2, 3, 5, 4}));
  me.wait_for_loss_of(0);
  check_status(fence(survivors), PMIX_SUCCESS);
  check_status(leave("kept"), PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// The last node is lost before its ranks call an optional construct. Ranks 0, 1 and 3 wait in it, rank 2
/// calls after the loss.
int node_dies_in_an_optional_construct(const Words&) {
  Survivor me;
  const auto survivors = me.ranks({0, 1, 2, 3});
  const auto optional_members = std::move(Infos().flag(PMIX_GROUP_OPTIONAL));
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank > 3) me.be_lost();
  std::unique_ptr<Construct> open;
  if (me.rank != 2) open = std::make_unique<Construct>("some", Procs{me.client.job}, optional_members);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank == 3) say("called");
  me.wait_for_loss_of(5);
  if (me.rank == 2) open = std::make_unique<Construct>("some", Procs{me.client.job}, optional_members);
  check_status(open->wait(), PMIX_ERR_PARTIAL_SUCCESS);
  check_status(destruct("some"), PMIX_SUCCESS);
  const auto later = construct("some", {me.client.job}, optional_members);
  check_status(later.status, PMIX_ERR_PARTIAL_SUCCESS);
  check(is_same(later.members, survivors), "the members");
  check_status(destruct("some"), PMIX_SUCCESS);
  check_status(construct("some", {me.client.job}).status, PMIX_ERR_PROC_ABORTED);
  check_status(fence(survivors), PMIX_SUCCESS);
  check_equal(groups_known_here(), 0);
  check_status(construct("some", survivors, optional_members).status, PMIX_SUCCESS);
  check_status(destruct("some"), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// The last node is lost after its ranks have called an optional construct, and before the second node's do.
int node_dies_after_its_call(const Words&) {
  Survivor me;
  const auto survivors = me.ranks({0, 1, 2, 3});
  const auto optional_members = std::move(Infos().flag(PMIX_GROUP_OPTIONAL).flag(PMIX_GROUP_FT_COLLECTIVE));
  const bool is_late = me.rank == 2 || me.rank == 3;
  check_status(fence(), PMIX_SUCCESS);
  std::unique_ptr<Construct> open;
  if (!is_late) open = std::make_unique<Construct>("some", Procs{me.client.job}, optional_members);
  check_status(fence(), PMIX_SUCCESS);  // behind the parts
  if (me.rank == 5) say("called");
  if (me.rank > 3) me.be_lost();
  me.wait_for_loss_of(5);
  check_status(fence(survivors), PMIX_SUCCESS);  // behind the question
  if (is_late) open = std::make_unique<Construct>("some", Procs{me.client.job}, optional_members);
  check_status(open->wait(), PMIX_ERR_PARTIAL_SUCCESS);
  check(is_same(members_of("some"), survivors), "the members");
  check_status(fence({all_of("some")}), PMIX_SUCCESS);
  check_status(destruct("some"), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// The last node is lost before its ranks call a construct whose members want to be asked. Word: what a
/// handler of rank 0 says: goes_on, aborts; or unheard: there is none.
int node_dies_in_a_construct(const Words& words) {
  Survivor me;
  const auto& how = words.at(0);
  const auto survivors = me.ranks({0, 1, 2, 3});
  const auto asks = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  if (how != "unheard")
    group_events().listen(PMIX_GROUP_INVITE_FAILED, [&](const GroupEvents::Event&) -> GroupEvents::Answer {
      const bool is_against = how == "aborts" && me.rank == 0;
      return {is_against ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_EVENT_ACTION_COMPLETE};
    });
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank > 3) me.be_lost();
  std::unique_ptr<Construct> open;
  if (me.rank != 2) open = std::make_unique<Construct>("asked", Procs{me.client.job}, asks);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank == 3) say("called");
  me.wait_for_loss_of(5);
  if (me.rank == 2) open = std::make_unique<Construct>("asked", Procs{me.client.job}, asks);
  check_status(open->wait(), how == "goes_on"  ? PMIX_ERR_PARTIAL_SUCCESS
                             : how == "aborts" ? PMIX_GROUP_CONSTRUCT_ABORT
                                               : PMIX_ERR_PROC_ABORTED);
  if (how == "goes_on") {
    check(is_same(members_of("asked"), survivors), "the members");
    check_status(destruct("asked"), PMIX_SUCCESS);
  }
  check_status(fence(survivors), PMIX_SUCCESS);
  check_equal(groups_known_here(), 0);
  check_status(construct("asked", survivors).status, PMIX_SUCCESS);
  check_status(destruct("asked"), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// Four nodes. The last is lost before its ranks call a construct whose members want to be asked, and another
/// while a handler of rank 3 decides. Word: decider: the first, which asks for all nodes; other: the third.
int second_node_dies_while_handlers_decide(const Words& words) {
  Survivor me;
  const bool is_decider = words.at(0) == "decider";
  const auto survivors = is_decider ? me.ranks({2, 3, 4, 5}) : me.ranks({0, 1, 2, 3});
  const auto asks = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  std::atomic<int> asked{0};
  group_events().listen(PMIX_GROUP_INVITE_FAILED, [&](const Event&) -> Answer {
    if (me.rank != 3 || asked++ != 0) return {PMIX_EVENT_ACTION_COMPLETE};
    say("asked");
    await("answer");
    return {PMIX_EVENT_ACTION_COMPLETE};
  });
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank > 5) me.be_lost();
  Construct open("asked", Procs{me.client.job}, asks);
  check_status(fence(me.ranks({0, 1, 2, 3, 4, 5})), PMIX_SUCCESS);
  if (me.rank == 5) say("called");
  if (!contains(survivors, me.client.me)) me.be_lost();
  check_status(open.wait(), PMIX_ERR_PARTIAL_SUCCESS);
  check(is_same(members_of("asked"), survivors), "the members");
  check_status(fence({all_of("asked")}), PMIX_SUCCESS);
  check_status(destruct("asked"), PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  check_equal(groups_known_here(), 0);
  me.end();
  return 0;
}

/// Ranks 0 and 2 lead so many groups, some of which come together at the last node. That node is lost
/// when rank 0 and the process that it has added wait.
int node_of_a_bootstrap_dies(const Words&) {
  constexpr int groups = 16;
  Survivor me;
  const auto survivors = me.ranks({0, 1, 2, 3});
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 4) me.be_lost();
  if (me.rank == 5) {
    check(is_open_here("bootstrap of group "), "no group comes together here");
    say("ready");
    me.be_lost();
  }
  if (me.rank == 3) await("call");
  if (me.rank > 1) check_status(fence(me.ranks({2, 3})), PMIX_SUCCESS);
  const bool leads = me.rank == 0 || me.rank == 2;
  Infos infos;
  if (leads)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 2).procs(PMIX_GROUP_ADD_MEMBERS, {me.client.peer(me.rank + 1)});
  std::vector<std::unique_ptr<Construct>> open;
  for (int i = 0; i < groups; ++i)
    open.push_back(std::make_unique<Construct>("met " + std::to_string(i),
                                               leads ? Procs{me.client.me} : Procs(), infos));
  for (int i = 0; i < groups; ++i) {
    const auto name = "met " + std::to_string(i);
    check_status(open[static_cast<std::size_t>(i)]->wait(), PMIX_SUCCESS);
    check(is_same(members_of(name), survivors), "the members");
  }
  for (int i = 0; i < groups; ++i) check_status(destruct("met " + std::to_string(i)), PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// Ranks 0 and 2 lead a group that comes together at the last node. That node is lost when its replies are
/// with ranks 0 and 1, and not with the stopped second node: a join of rank 4 with much data is before them.
/// Ranks 2 and 3 follow the others.
int node_of_a_bootstrap_dies_while_it_replies(const Words&) {
  const std::string name = "met 3";
  Survivor me;
  const auto survivors = me.ranks({0, 1, 2, 3});
  const auto full = me.ranks({5, 2});  // the last node keeps it
  group_events().listen(PMIX_GROUP_JOIN_REQUEST, [&](const Event&) -> Answer {
    if (me.rank == 5) await("answer");
    return {};
  });
  check_status(fence(), PMIX_SUCCESS);
  if (contains(full, me.client.me)) check_status(construct("full", full).status, PMIX_SUCCESS);
  const bool leads = me.rank == 0 || me.rank == 2;
  Infos infos;
  if (leads)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 2).procs(PMIX_GROUP_ADD_MEMBERS, {me.client.peer(me.rank + 1)});
  const auto own = leads ? Procs{me.client.me} : Procs();
  std::unique_ptr<Construct> open;
  if (me.rank == 0 || me.rank == 2 || me.rank == 3) open = std::make_unique<Construct>(name, own, infos);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 4) {
    Infos data;
    data.array(PMIX_GROUP_INFO,
               std::move(Infos().bytes("large", std::string(more_than_a_connection_holds, 'x'))));
    const Join asks("full", data);
    check_status(fence(me.ranks({2, 4})), PMIX_SUCCESS);
    check(is_open_here("bootstrap of group " + name), "the group comes together elsewhere");
    say("answered");
    me.be_lost();
  }
  if (me.rank == 2) {
    group_events().wait(PMIX_GROUP_JOIN_REQUEST);
    hear_from_server();
    check_status(fence(me.ranks({2, 4})), PMIX_SUCCESS);  // behind its answer
  }
  if (me.rank == 5) {
    group_events().wait(PMIX_GROUP_JOIN_REQUEST);
    check(is_over_here("join of group full"), "the change is on its way to the other nodes");
    say("heard");
    me.be_lost();
  }
  if (me.rank == 1) {
    await("call");
    open = std::make_unique<Construct>(name, own, infos);
  }
  if (me.rank == 0) {
    check(is_open_here("construct of group " + name), "no reply has come");
    say("under way");
  }
  check_status(open->wait(), PMIX_SUCCESS);
  check(is_same(members_of(name), survivors), "the members");
  check_status(destruct(name), PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  me.end();
  return 0;
}

/// Rank 5 asks to join ranks 0 to 2, rank 3 after it. Rank 1 has not answered when rank 5 ends, or its node
/// is lost: rank 3 joins, rank 5 does not.
int one_that_asks_to_join_dies(const Words&) {
  Survivor me;
  group_events().listen(PMIX_GROUP_JOIN_REQUEST, [&](const Event& event) -> Answer {
    if (me.rank != 1 || event.about->rank != 5) return {};
    say("asked");
    await("answer");
    return {};
  });
  check_status(fence(), PMIX_SUCCESS);
  const auto members = ranks_of(me.client, 0, 3);
  if (me.rank < 3) check_status(construct("club", me.ranks({0, 1, 2})).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 5) {
    const Join asks("club");
    await("die");
    end_by_kill();
  }
  if (me.rank == 3) {
    await("join");
    Join asks("club");
    say("waits");
    check_status(asks.wait(), PMIX_SUCCESS);
  } else {
    me.wait_for_loss_of(5);
    if (me.rank == 0) say("knows");
  }
  if (me.rank < 4) {
    check_status(fence(members), PMIX_SUCCESS);
    me.compare("club", members);
    check_status(fence({all_of("club")}), PMIX_SUCCESS);
    check_status(destruct("club"), PMIX_SUCCESS);
  }
  me.end();
  return 0;
}

/// Rank 3, a member, is asked whether rank 5 may join: it ends, or its node is lost. Words: process or node.
int one_that_is_asked_dies(const Words& words) {
  const bool is_node = words.at(0) == "node";
  Survivor me;
  group_events().listen(PMIX_GROUP_JOIN_REQUEST, [&](const Event&) -> Answer {
    if (me.rank != 3) return {};
    if (!is_node) end_by_kill();
    say("asked");
    me.be_lost();
    return {};
  });
  const auto tells = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank < 4) check_status(construct("club", ranks_of(me.client, 0, 3), tells).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (me.rank == 3 || (me.rank == 2 && is_node)) me.be_lost();
  const auto survivors = is_node ? me.ranks({0, 1, 4, 5}) : me.ranks({0, 1, 2, 4, 5});
  if (me.rank == 5) check_status(join("club", nullptr).status, PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  if (me.rank == 4) check_status(join("club", nullptr).status, PMIX_SUCCESS);
  check_status(fence(survivors), PMIX_SUCCESS);
  me.compare("club", me.ranks({0, 1, 2, 3, 5, 4}));
  check_status(fence(survivors), PMIX_SUCCESS);
  check_status(is_node ? leave("club") : destruct("club"), PMIX_SUCCESS);
  me.end();
  return 0;
}

}  // namespace

void add_group_loss_programs(Programs& programs) {
  programs.add("keepers_node_dies", keepers_node_dies);
  programs.add("keepers_member_dies", keepers_member_dies);
  programs.add("keepers_last_change_is_cut_off", keepers_last_change_is_cut_off);
  programs.add("node_dies_in_an_optional_construct", node_dies_in_an_optional_construct);
  programs.add("node_dies_after_its_call", node_dies_after_its_call);
  programs.add("node_dies_in_a_construct", node_dies_in_a_construct);
  programs.add("second_node_dies_while_handlers_decide", second_node_dies_while_handlers_decide);
  programs.add("node_of_a_bootstrap_dies", node_of_a_bootstrap_dies);
  programs.add("node_of_a_bootstrap_dies_while_it_replies", node_of_a_bootstrap_dies_while_it_replies);
  programs.add("one_that_asks_to_join_dies", one_that_asks_to_join_dies);
  programs.add("one_that_is_asked_dies", one_that_is_asked_dies);
}

}  // namespace weft::test
