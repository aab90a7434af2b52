// SPDX-License-Identifier: BSD-3-Clause
// Groups by invitation on one node and on several (invitation_test.cpp): rank 0 invites, the others answer.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

constexpr pmix_rank_t ranks_lost_with_a_node = 2;  ///< a node of the cluster

void die() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

/// A process that the others have seen die cannot meet them: they end without a fence.
void end_without_meeting() {
  PMIx_Finalize(nullptr, 0);
}

/// The group has the members, and its name works.
void use(const std::string& name, const Procs& members) {
  check(is_same(members_of(name), members), "the members by Get");
  check_status(fence({all_of(name)}), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < members.size(); ++rank)
    check_equal(get(proc_of(name, rank), "card").u64(), 100 + members[rank].rank);
}

struct Invited {
  Client client;
  pmix_rank_t last = client.size - 1;
  bool is_leader = client.me.rank == 0;
  pmix_proc_t leader = client.peer(0);

  Invited() {
    group_events().listen(PMIX_GROUP_INVITED);
    group_events().listen(PMIX_GROUP_CONSTRUCT_COMPLETE);
    group_events().listen(PMIX_GROUP_CONSTRUCT_ABORT);
    check_status(put("card", 100 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  /// All have their handlers.
  void begin() const { check_status(fence(), PMIX_SUCCESS); }
  Made accept(const std::string& name, const Infos& infos = {}) const {
    const auto invitation = group_events().wait(PMIX_GROUP_INVITED, name);
    check(PMIx_Check_procid(&invitation.source, &leader), "another leader");
    check(contains(invitation.members, client.me), "the invitation without this process");
    return join(name, &invitation.source, PMIX_GROUP_ACCEPT, infos);
  }
  void decline(const std::string& name) const {
    const auto invitation = group_events().wait(PMIX_GROUP_INVITED, name);
    check_status(join(name, &invitation.source, PMIX_GROUP_DECLINE).status, PMIX_SUCCESS);
  }
  void complete(const std::string& name, const Procs& members) const {
    const auto event = group_events().wait(PMIX_GROUP_CONSTRUCT_COMPLETE, name);
    check(is_same(event.members, members), "the members by event");
  }
};

/// All accept. The second time they are asked by an array with the leader in it, and get a context.
int all_accept(const Words&) {
  Invited me;
  const auto everyone = ranks_of(me.client, 0, me.last);
  me.begin();
  for (int round = 0; round < 3; ++round) {
    const auto name = "round " + std::to_string(round);
    auto order = everyone;
    if (round == 1) std::reverse(order.begin(), order.end());
    Infos infos;
    if (round == 1) infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    const auto invited = round == 0 ? ranks_of(me.client, 1, me.last) : order;
    const auto made = me.is_leader ? invite(name, invited, infos) : me.accept(name);
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, order), "the members");
    check(made.context.has_value() == (round == 1), "a context");
    me.complete(name, order);
    use(name, order);
    check_status(destruct(name), PMIX_SUCCESS);
    check_status(join(name, &me.leader).status, PMIX_ERR_NOT_FOUND);
  }
  me.client.finalize();
  return 0;
}

/// The last declines, without a handler of the leader. Word: optional or not.
int one_declines(const Words& words) {
  Invited me;
  const bool is_optional = words.at(0) == "optional";
  me.begin();
  if (me.client.me.rank == me.last) {
    me.decline("few");
    if (!is_optional) check_equal(group_events().count(PMIX_GROUP_CONSTRUCT_ABORT), 0);
  } else {
    Infos infos;
    if (is_optional) infos.flag(PMIX_GROUP_OPTIONAL);
    const auto made = me.is_leader ? invite("few", {me.client.job}, infos) : me.accept("few");
    if (is_optional) {
      check_status(made.status, me.is_leader ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
      check(is_same(made.members, ranks_of(me.client, 0, me.last - 1)), "the members");
      use("few", made.members);
      check_status(destruct("few"), PMIX_SUCCESS);
    } else {
      check_status(made.status, PMIX_GROUP_INVITE_DECLINED);
      check(made.members.empty() && members_of("few").empty(), "a group");
      if (!me.is_leader) group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT, "few");
    }
  }
  me.client.finalize();
  return 0;
}

/// Rank 1 declines, and the leader's handler decides. Word: goes_on, aborts, replaces.
int leader_decides(const Words& words) {
  Invited me;
  const auto& how = words.at(0);
  const auto last = me.client.peer(me.last);
  if (me.is_leader)
    group_events().listen(PMIX_GROUP_INVITE_DECLINED, [&](const Event& event) -> Answer {
      check(event.about && event.about->rank == 1 && event.group == "decided", "who declines");
      if (how == "aborts") return {PMIX_GROUP_CONSTRUCT_ABORT};
      if (how == "replaces") return {PMIX_SUCCESS, false, {last}};
      return {PMIX_EVENT_ACTION_COMPLETE};
    });
  me.begin();
  auto members = ranks_of(me.client, 0, me.last - 1);
  const auto invited = members;
  if (how == "replaces")
    members[1] = last;
  else
    members.erase(members.begin() + 1);
  if (me.client.me.rank == 1) {
    me.decline("decided");
  } else if (me.client.me.rank != me.last || how == "replaces") {
    const auto made = me.is_leader ? invite("decided", invited) : me.accept("decided");
    if (how == "aborts") {
      check_status(made.status, PMIX_GROUP_CONSTRUCT_ABORT);
      if (!me.is_leader) group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT, "decided");
    } else {
      check_status(made.status, me.is_leader && how == "goes_on" ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
      check(is_same(made.members, members), "the members");
      me.complete("decided", members);
      use("decided", members);
      check_status(destruct("decided"), PMIX_SUCCESS);
    }
  }
  me.client.finalize();
  return 0;
}

/// The last rank dies. Word: before it answers, or when it has accepted.
int invited_dies(const Words& words) {
  Invited me;
  const bool accepts = words.at(0) == "accepted";
  if (me.is_leader) group_events().listen(PMIX_GROUP_INVITE_FAILED);
  if (me.is_leader) group_events().listen(PMIX_GROUP_INVITE_ACCEPTED);
  me.begin();
  const auto members = ranks_of(me.client, 0, me.last - 1);
  if (me.client.me.rank == me.last) {
    const auto invitation = group_events().wait(PMIX_GROUP_INVITED);
    if (accepts) {
      check_status(
          PMIx_Group_join_nb("lossy", &invitation.source, PMIX_GROUP_ACCEPT, nullptr, 0, nullptr, nullptr),
          PMIX_SUCCESS);
      await("die");
    }
    die();
  }
  if (!me.is_leader && me.client.me.rank == 1 && accepts) await("go on");
  const auto made = me.is_leader ? invite("lossy", {me.client.job}) : me.accept("lossy");
  check_status(made.status, me.is_leader ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
  check(is_same(made.members, members), "the members");
  use("lossy", members);
  if (me.is_leader) check_equal(group_events().wait(PMIX_GROUP_INVITE_FAILED).about->rank, me.last);
  check_status(destruct("lossy"), PMIX_SUCCESS);
  end_without_meeting();
  return 0;
}

/// The last one never answers. Word: the leader's deadline, or that of those that have joined.
int too_late(const Words& words) {
  Invited me;
  const bool is_leaders = words.at(0) == "invite";
  if (me.is_leader) group_events().listen(PMIX_GROUP_INVITE_FAILED);
  me.begin();
  Infos soon, none;
  soon.integer(PMIX_TIMEOUT, 1);
  const Infos& patience = me.is_leader == is_leaders ? soon : none;
  if (me.client.me.rank == me.last) {
    group_events().wait(PMIX_GROUP_INVITED);
    if (is_leaders)
      group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT);
    else
      await("come");
    const auto made = join("slow", &me.leader);
    check_status(made.status, is_leaders ? PMIX_ERR_TIMEOUT : PMIX_SUCCESS);
    if (!is_leaders) check(is_same(made.members, {me.leader, me.client.me}), "the members");
  } else if (me.is_leader) {
    const auto made = invite("slow", {me.client.job}, patience);
    check_status(made.status, is_leaders ? PMIX_ERR_TIMEOUT : PMIX_ERR_PARTIAL_SUCCESS);
    if (!is_leaders) check(is_same(made.members, {me.leader, me.client.peer(me.last)}), "the members");
  } else {
    check_status(me.accept("slow", patience).status, PMIX_ERR_TIMEOUT);
    if (!is_leaders) say("late");
  }
  const bool is_member = !is_leaders && (me.is_leader || me.client.me.rank == me.last);
  if (is_member) check_status(destruct("slow"), PMIX_SUCCESS);
  me.client.finalize();
  return 0;
}

/// The leader raises the abort as an event.
int leader_aborts(const Words&) {
  Invited me;
  if (me.is_leader)
    group_events().listen(PMIX_GROUP_INVITE_ACCEPTED, [](const Event& event) -> Answer {
      const auto infos = std::move(Infos().text(PMIX_GROUP_ID, event.group));
      PMIx_Notify_event(PMIX_GROUP_CONSTRUCT_ABORT, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr,
                        nullptr);
      PMIx_Notify_event(PMIX_GROUP_CONSTRUCT_ABORT, nullptr, PMIX_RANGE_SESSION, infos.data(), infos.size(),
                        nullptr, nullptr);
      return {};
    });
  me.begin();
  if (me.client.me.rank == me.last) {
    group_events().wait(PMIX_GROUP_INVITED);
    group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT, "given up");
  } else {
    const auto made = me.is_leader ? invite("given up", {me.client.job}) : me.accept("given up");
    check_status(made.status, PMIX_GROUP_CONSTRUCT_ABORT);
  }
  me.client.finalize();
  return 0;
}

/// The processes whose leader, rank 0, is lost. how: led (by rank `first`, then by the last), unled, aborts.
void listen_without_leader(const Invited& me, const std::string& how, pmix_rank_t first) {
  const auto rank = me.client.me.rank;
  group_events().listen(PMIX_GROUP_LEADER_SELECTED);
  group_events().listen(PMIX_GROUP_INVITE_FAILED,
                        [](const Event&) -> Answer { return {PMIX_EVENT_ACTION_COMPLETE}; });
  group_events().listen(
      PMIX_GROUP_LEADER_FAILED, [how, rank, first, last = me.last](const Event& event) -> Answer {
        check(event.about && event.about->rank == 0 && event.group == "orphaned", "which leader has failed");
        if (how == "aborts") return {rank == last ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_SUCCESS};
        return {PMIX_SUCCESS, how == "led" && (rank == first || rank == last)};
      });
}
/// The last answers when there is a new leader, or none; the members are those from `first` on.
void join_without_leader(const Invited& me, const std::string& how, pmix_rank_t first) {
  const auto elected = me.client.peer(first);
  Made made;
  if (me.client.me.rank == me.last) {
    group_events().wait(PMIX_GROUP_INVITED);
    if (how != "aborts")
      check(group_events().wait(PMIX_GROUP_LEADER_SELECTED).is_led == (how == "led"),
            "whether there is a leader");
    if (how != "led") group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT);
    made = join("orphaned", how == "led" ? &elected : &me.leader);
  } else {
    made = me.accept("orphaned");
    check(me.client.me.rank >= first, "a process that its node outlives");
    if (how == "led") check_equal(group_events().wait(PMIX_GROUP_LEADER_SELECTED).about->rank, first);
  }
  if (how == "led") {
    const auto members = ranks_of(me.client, first, me.last);
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, members), "the members");
    use("orphaned", members);
    check_status(destruct("orphaned"), PMIX_SUCCESS);
  } else {
    check_status(made.status, how == "aborts" ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_GROUP_LEADER_FAILED);
  }
  end_without_meeting();
}

/// The leader dies after rank 1 has accepted. Word: how.
int leader_dies(const Words& words) {
  Invited me;
  listen_without_leader(me, words.at(0), 1);
  if (me.is_leader)
    group_events().listen(PMIX_GROUP_INVITE_ACCEPTED, [](const Event&) -> Answer {
      die();
      return {};
    });
  me.begin();
  if (me.is_leader) {
    invite("orphaned", {me.client.job});
    check(false, "it lives");
  }
  join_without_leader(me, words.at(0), 1);
  return 0;
}

/// Invites all, and waits until so many have accepted; the test ends its node then.
void lead_until_lost(const Invited& me, pmix_rank_t acceptances, const Infos& infos = {}) {
  const auto everyone = ranks_of(me.client, 0, me.last);
  check_status(PMIx_Group_invite_nb("orphaned", everyone.data(), everyone.size(), infos.data(), infos.size(),
                                    nullptr, nullptr),
               PMIX_SUCCESS);
  for (pmix_rank_t i = 0; i < acceptances; ++i) group_events().wait(PMIX_GROUP_INVITE_ACCEPTED);
  say("ready");
  await("never");
}

/// The leader's node is lost when all but the last have accepted. Words: how; number of ranks on lost nodes.
int leaders_node_dies(const Words& words) {
  Invited me;
  const auto first = static_cast<pmix_rank_t>(std::stoul(words.at(1)));
  listen_without_leader(me, words.at(0), first);
  if (me.is_leader) group_events().listen(PMIX_GROUP_INVITE_ACCEPTED);
  me.begin();
  if (me.is_leader) lead_until_lost(me, me.last - 1);
  join_without_leader(me, words.at(0), first);
  return 0;
}

/// The leader's node is lost when it has made the group, with so much data that only the last node has it:
/// the others get it from that one. The last rank answers when the test says so.
int leaders_node_dies_while_it_replies(const Words&) {
  // Over loopback a TCP connection whose reader is stopped takes 5 MiB.
  constexpr std::size_t more_than_a_connection_holds = 12U << 20;
  Invited me;
  const auto rank = me.client.me.rank;
  const bool is_lost = rank < ranks_lost_with_a_node;
  if (me.is_leader) group_events().listen(PMIX_GROUP_INVITE_ACCEPTED);
  me.begin();
  if (me.is_leader) {
    Infos infos;
    infos.array(PMIX_GROUP_INFO,
                std::move(Infos().bytes("large", std::string(more_than_a_connection_holds, 'x'))));
    lead_until_lost(me, me.last - 1, infos);
  }
  if (rank == me.last) {
    group_events().wait(PMIX_GROUP_INVITED);
    await("answer");
  }
  const auto made = rank == me.last ? join("orphaned", &me.leader) : me.accept("orphaned");
  if (is_lost) await("never");
  check_status(made.status, PMIX_SUCCESS);
  check(is_same(made.members, ranks_of(me.client, 0, me.last)), "the members");
  if (rank == me.last) say("made");
  end_without_meeting();
  return 0;
}

/// The last node is lost when its processes are invited: the leader hears of each, and goes on.
int inviteds_node_dies(const Words&) {
  Invited me;
  const bool is_lost = me.client.me.rank > me.last - ranks_lost_with_a_node;
  if (me.is_leader)
    group_events().listen(PMIX_GROUP_INVITE_FAILED,
                          [](const Event&) -> Answer { return {PMIX_EVENT_ACTION_COMPLETE}; });
  me.begin();
  if (is_lost) {
    group_events().wait(PMIX_GROUP_INVITED);
    if (me.client.me.rank == me.last) say("ready");
    await("never");
  }
  const auto members = ranks_of(me.client, 0, me.last - ranks_lost_with_a_node);
  const auto made = me.is_leader ? invite("few", {me.client.job}) : me.accept("few");
  check_status(made.status, me.is_leader ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
  check(is_same(made.members, members), "the members");
  if (me.is_leader) check_equal(group_events().count(PMIX_GROUP_INVITE_FAILED), ranks_lost_with_a_node);
  use("few", members);
  check_status(destruct("few"), PMIX_SUCCESS);
  end_without_meeting();
  return 0;
}

/// Arguments that make no sense, and invitations that are there already.
int asks_for_nonsense(const Words&) {
  Invited me;
  me.begin();
  const pmix_proc_t stranger = proc_of("nowhere", 0);
  const pmix_proc_t beyond = me.client.peer(me.client.size);
  check_status(join("none", &me.leader).status, PMIX_ERR_NOT_FOUND);
  check_status(leave("none"), PMIX_ERR_NOT_FOUND);
  check_status(invite("", {me.client.job}).status, PMIX_ERR_BAD_PARAM);
  check_status(invite("none", {}).status, PMIX_ERR_BAD_PARAM);
  if (me.is_leader) {
    check_status(invite("far", {stranger}).status, PMIX_ERR_NOT_FOUND);
    check_status(invite("far", {beyond}).status, PMIX_ERR_NOT_FOUND);
    check_status(invite("alone", {me.client.me}).status, PMIX_SUCCESS);
    check_status(destruct("alone"), PMIX_SUCCESS);
  }
  me.begin();
  if (me.is_leader) {
    Waiter ended;
    const auto everyone = ranks_of(me.client, 0, me.last);
    check_status(PMIx_Group_invite_nb(
                     "twice", everyone.data(), everyone.size(), nullptr, 0,
                     [](pmix_status_t status, pmix_info_t*, size_t, void* waiter,
                        pmix_release_cbfunc_t release, void* held) {
                       if (release != nullptr) release(held);
                       Waiter::on_status(status, waiter);
                     },
                     &ended),
                 PMIX_SUCCESS);
    check_status(invite("twice", everyone).status, PMIX_ERR_EXISTS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(ended.wait(), PMIX_SUCCESS);
    check_status(construct("twice", everyone).status, PMIX_ERR_EXISTS);
  } else {
    check_status(fence(), PMIX_SUCCESS);
    check_status(me.accept("twice").status, PMIX_SUCCESS);
    check_status(construct("twice", ranks_of(me.client, 0, me.last)).status, PMIX_ERR_EXISTS);
  }
  check_status(destruct("twice"), PMIX_SUCCESS);
  me.client.finalize();
  return 0;
}

/// The last rank does not answer until the test says so.
int last_is_late_to_answer(const Words&) {
  Invited me;
  me.begin();
  if (me.client.me.rank == me.last) await("come");
  const auto made = me.is_leader ? invite("late", {me.client.job}) : me.accept("late");
  check_status(made.status, PMIX_SUCCESS);
  check_status(destruct("late"), PMIX_SUCCESS);
  me.client.finalize();
  return 0;
}

}  // namespace

void add_invitation_programs(Programs& programs) {
  programs.add("all_accept", all_accept);
  programs.add("one_declines", one_declines);
  programs.add("leader_decides", leader_decides);
  programs.add("invited_dies", invited_dies);
  programs.add("too_late", too_late);
  programs.add("leader_aborts", leader_aborts);
  programs.add("leader_dies", leader_dies);
  programs.add("leaders_node_dies", leaders_node_dies);
  programs.add("leaders_node_dies_while_it_replies", leaders_node_dies_while_it_replies);
  programs.add("inviteds_node_dies", inviteds_node_dies);
  programs.add("asks_for_nonsense", asks_for_nonsense);
  programs.add("last_is_late_to_answer", last_is_late_to_answer);
}

}  // namespace weft::test
