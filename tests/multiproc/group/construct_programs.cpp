// SPDX-License-Identifier: BSD-3-Clause
// Constructs of groups in which handlers decide, whose members do not know each other, and collectives of
// groups that adjust: on one node and on several (construct_test.cpp).
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

void end_by_signal() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

/// The last rank ends before it calls, after rank 0 has. Word: leader (rank 0 declares itself, and goes on),
/// all (each is asked, and goes on), aborts (rank 1 does), unheard (there is no handler), refused (no member
/// wants to be asked).
int handlers_decide(const Words& words) {
  Client client;
  const auto& how = words.at(0);
  const auto last = client.size - 1;
  const auto code = how == "leader" ? PMIX_GROUP_INVITE_FAILED : PMIX_GROUP_MEMBER_FAILED;
  if (how != "unheard")
    group_events().listen(code, [&](const Event& event) -> Answer {
      check(event.about && event.about->rank == last && event.group == "lossy", "who is lost");
      return {how == "aborts" && client.me.rank == 1 ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_SUCCESS};
    });
  group_events().listen(PMIX_GROUP_MEMBERSHIP_UPDATE);
  group_events().listen(PMIX_GROUP_CONSTRUCT_ABORT);
  Infos infos;
  if (how == "leader" && client.me.rank == 0) infos.flag(PMIX_GROUP_LEADER);
  if (how != "leader" && how != "refused") infos.flag(PMIX_GROUP_NOTIFY_TERMINATION);
  std::optional<Construct> early;
  if (client.me.rank < last) early.emplace("lossy", Procs{client.job}, infos);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) end_by_signal();
  const auto status = early->wait();
  if (how == "leader" || how == "all") {
    const auto members = ranks_of(client, 0, last - 1);
    check_status(status, PMIX_ERR_PARTIAL_SUCCESS);
    check(is_same(members_of("lossy"), members), "the members");
    check(is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE, "lossy").members, members), "by event");
    const bool is_asked = how == "all" || client.me.rank == 0;
    check_equal(group_events().count(code), is_asked ? 1 : 0);
    check_status(fence({all_of("lossy")}), PMIX_SUCCESS);
    check_status(destruct("lossy"), PMIX_SUCCESS);
  } else {
    check_status(status, how == "aborts" ? PMIX_GROUP_CONSTRUCT_ABORT : PMIX_ERR_PROC_ABORTED);
    if (how == "aborts") group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT, "lossy");
  }
  const auto again = ranks_of(client, 0, last - 1);
  check_status(construct("lossy", again).status, PMIX_SUCCESS);
  check_status(destruct("lossy"), PMIX_SUCCESS);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// The last rank is the leader, and ends when it has called; the one before it calls after that, or before.
/// Words: led (by rank 1), unled, aborts; late or early.
int leader_of_a_construct_ends(const Words& words) {
  Client client;
  const auto& how = words.at(0);
  const bool is_late = words.at(1) == "late";
  const auto last = client.size - 1;
  group_events().listen(PMIX_ERR_PROC_ABORTED);
  group_events().listen(PMIX_GROUP_LEADER_SELECTED);
  group_events().listen(PMIX_GROUP_INVITE_FAILED);
  group_events().listen(PMIX_GROUP_CONSTRUCT_ABORT);
  group_events().listen(PMIX_GROUP_LEADER_FAILED, [&](const Event& event) -> Answer {
    check(event.about && event.about->rank == last, "which leader has failed");
    if (how == "aborts") return {PMIX_GROUP_CONSTRUCT_ABORT};
    return {PMIX_SUCCESS, how == "led" && client.me.rank == 1};
  });
  Infos infos;
  if (client.me.rank == last) infos.flag(PMIX_GROUP_LEADER);
  const auto late_rank = is_late ? last - 1 : 0;
  auto others = ranks_of(client, 0, last - 1);
  others.erase(others.begin() + 1);  // rank 1 waits for rank 0, of its node, whatever other nodes do
  const bool is_other = contains(others, client.me) && client.me.rank != late_rank;
  std::optional<Construct> called;
  if (client.me.rank != late_rank) called.emplace("orphaned", Procs{client.job}, infos);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) end_by_signal();
  if (client.me.rank == late_rank) {
    group_events().wait(PMIX_ERR_PROC_ABORTED);
    if (!is_late) check_status(fence(others), PMIX_SUCCESS);  // they have chosen, or have given up
    called.emplace("orphaned", Procs{client.job}, infos);
  } else if (how != "aborts") {
    check(group_events().wait(PMIX_GROUP_LEADER_SELECTED).is_led == (how == "led"), "whether there is one");
    if (!is_late && is_other) check_status(fence(others), PMIX_SUCCESS);
  }
  const auto expected = is_late ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS;
  const auto status = called->wait();
  if (how == "aborts" && client.me.rank == late_rank)
    check(status == PMIX_GROUP_CONSTRUCT_ABORT || status == PMIX_ERR_PROC_ABORTED,
          "what was aborted is made");
  else
    check_status(status, how == "aborts" ? PMIX_GROUP_CONSTRUCT_ABORT : expected);
  if (how == "aborts" && client.me.rank != late_rank)
    group_events().wait(PMIX_GROUP_CONSTRUCT_ABORT, "orphaned");
  if (how == "aborts" && !is_late && is_other) check_status(fence(others), PMIX_SUCCESS);
  if (how == "led" && is_late)
    check_equal(group_events().count(PMIX_GROUP_INVITE_FAILED), client.me.rank == 1 ? 1 : 0);
  if (how != "aborts")
    check(is_same(members_of("orphaned"), ranks_of(client, 0, is_late ? last - 1 : last)), "who");
  if (how != "aborts" && is_late) check_status(destruct("orphaned"), PMIX_SUCCESS);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// Members hear of a construct what the draft of RFC 0033 says, and the event of its context.
int tells_of_a_construct(const Words&) {
  Client client;
  group_events().listen(PMIX_GROUP_REQUESTED);
  group_events().listen(PMIX_PROC_HAS_JOINED);
  group_events().listen(PMIX_GROUP_CONTEXT_ID_ASSIGNED);
  check_status(fence(), PMIX_SUCCESS);
  Infos infos;
  infos.flag(PMIX_GROUP_NOTIFY_EACH).flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  if (client.me.rank == 0) {
    infos.flag(PMIX_GROUP_NOTIFY_REQ);
  } else {
    const auto request = group_events().wait(PMIX_GROUP_REQUESTED, "asked for");
    check(request.source.rank == 0 && is_same(request.members, ranks_of(client, 0, client.size - 1)),
          "who asks");
  }
  check_status(construct("asked for", {client.job}, infos).status, PMIX_SUCCESS);
  Procs joined;
  for (pmix_rank_t i = 1; i < client.size; ++i)
    joined.push_back(*group_events().wait(PMIX_PROC_HAS_JOINED, "asked for").about);
  check(!contains(joined, client.me), "of its own");
  group_events().wait(PMIX_GROUP_CONTEXT_ID_ASSIGNED, "asked for");
  check_status(destruct("asked for"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Two leaders bring the ranks behind them. Then: a leader too many, another number of leaders, a process
/// that no leader has added.
int bootstraps(const Words&) {
  Client client;
  const auto middle = client.size / 2;
  const bool leads = client.me.rank == 0 || client.me.rank == middle;
  const auto own =
      client.me.rank < middle ? ranks_of(client, 0, middle - 1) : ranks_of(client, middle, client.size - 1);
  check_status(put("card", 100 + client.me.rank), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    Infos infos;
    if (leads) infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 2).procs(PMIX_GROUP_ADD_MEMBERS, own);
    const auto made = construct("met", leads ? Procs{client.me} : Procs(), infos);
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, ranks_of(client, 0, client.size - 1)), "the members");
    for (pmix_rank_t rank = 0; rank < client.size; ++rank)
      check_equal(get(proc_of("met", rank), "card").u64(), 100 + rank);
    check_status(fence({all_of("met")}), PMIX_SUCCESS);
    check_status(destruct("met"), PMIX_SUCCESS);
  }
  Infos soon;
  soon.integer(PMIX_TIMEOUT, 1);
  if (client.me.rank == 0) check_status(construct("alone", {}, soon).status, PMIX_ERR_TIMEOUT);
  if (client.me.rank < 2) {
    Infos infos;
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, client.me.rank + 2);
    check_status(construct("disagreed", {client.me}, infos).status, PMIX_ERR_BAD_PARAM);
  }
  check_status(fence(), PMIX_SUCCESS);
  Infos one_leader;
  one_leader.unsigned64(PMIX_GROUP_BOOTSTRAP, 1);
  if (client.me.rank == 1) check_status(construct("not for all", {}, soon).status, PMIX_ERR_TIMEOUT);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == 0) {
    check_status(construct("not for all", {client.me}, one_leader).status, PMIX_SUCCESS);
    check_status(destruct("not for all"), PMIX_SUCCESS);
    check_status(construct("not for all", {client.peer(1)}, one_leader).status, PMIX_ERR_BAD_PARAM);
  }
  client.finalize();
  return 0;
}

/// The last rank, which a leader adds, ends before it calls. Word: optional or required.
int bootstrap_loses_one(const Words& words) {
  Client client;
  const bool is_optional = words.at(0) == "optional";
  const auto last = client.size - 1;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) end_by_signal();
  Infos infos;
  if (is_optional) infos.flag(PMIX_GROUP_OPTIONAL);
  if (client.me.rank == 0)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 1).procs(PMIX_GROUP_ADD_MEMBERS, ranks_of(client, 1, last));
  const auto made = construct("met", client.me.rank == 0 ? Procs{client.me} : Procs(), infos);
  check_status(made.status, is_optional ? PMIX_SUCCESS : PMIX_ERR_PROC_ABORTED);
  if (is_optional) {
    check(is_same(made.members, ranks_of(client, 0, last - 1)), "the members");
    check_status(destruct("met"), PMIX_SUCCESS);
  }
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// The last rank calls when the test says so: it is the second leader, or one that the second leader has
/// added. Words: leader or member, the group's name.
int bootstrap_waits(const Words& words) {
  Client client;
  const auto& name = words.at(1);
  const auto last = client.size - 1;
  const auto middle = client.size / 2;
  const auto second = words.at(0) == "leader" ? last : middle;
  Infos infos;
  if (client.me.rank == 0)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 2).procs(PMIX_GROUP_ADD_MEMBERS, ranks_of(client, 1, middle - 1));
  if (client.me.rank == second)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, 2).procs(PMIX_GROUP_ADD_MEMBERS, ranks_of(client, middle, last));
  const bool leads = client.me.rank == 0 || client.me.rank == second;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) await("come");
  const auto made = construct(name, leads ? Procs{client.me} : Procs(), infos);
  check_status(made.status, PMIX_SUCCESS);
  check_equal(made.members.size(), client.size);
  check_status(destruct(name), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A group whose fences adjust: one member leaves while the others are in a fence, another one ends.
int fences_adjust(const Words&) {
  Client client;
  const auto last = client.size - 1;
  group_events().listen(PMIX_ERR_PROC_ABORTED);
  const auto adjusts = std::move(Infos().flag(PMIX_GROUP_FT_COLLECTIVE));
  check_status(construct("tough", {client.job}, adjusts).status, PMIX_SUCCESS);
  check_status(fence({all_of("tough")}), PMIX_SUCCESS);
  if (client.me.rank == last - 1) {
    check_status(fence(), PMIX_SUCCESS);
    check_status(leave("tough"), PMIX_SUCCESS);
  } else {
    Waiter ended;
    const auto group = all_of("tough");
    check_status(PMIx_Fence_nb(&group, 1, nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(ended.wait(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) end_by_signal();
  if (client.me.rank != last - 1) {
    check_status(fence({all_of("tough")}), PMIX_SUCCESS);
    check_status(fence({all_of("tough")}, collect()), PMIX_SUCCESS);
    check_status(destruct("tough"), PMIX_SUCCESS);
  }
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// A member leaves a group that does not adjust, while the others are in a fence of it. The job's fences go
/// on.
int one_leaves_a_fence(const Words&) {
  Client client;
  const auto last = client.size - 1;
  const auto group = all_of("stiff");
  for (int round = 0; round < 3; ++round) {
    check_status(construct("stiff", {client.job}).status, PMIX_SUCCESS);
    check_status(fence({group}), PMIX_SUCCESS);
    Waiter ended;
    if (client.me.rank != last) {
      check_status(PMIx_Fence_nb(&group, 1, nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
      hear_from_server();
    }
    check_status(fence(), PMIX_SUCCESS);
    check_status(client.me.rank == last ? leave("stiff") : ended.wait(),
                 client.me.rank == last ? PMIX_SUCCESS : PMIX_ERR_UNREACH);
    check_status(fence(), PMIX_SUCCESS);
    if (client.me.rank != last) {
      check(eventually([&] { return members_of("stiff").size() == last; }), "still a member");
      check_status(destruct("stiff"), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// A member leaves a group that does not adjust, while the others are about to end it.
int one_leaves_an_end(const Words&) {
  Client client;
  const auto last = client.size - 1;
  check_status(construct("stiff", {client.job}).status, PMIX_SUCCESS);
  if (client.me.rank == last) {
    check_status(fence(), PMIX_SUCCESS);
    check_status(leave("stiff"), PMIX_SUCCESS);
  } else {
    Waiter ended;
    check_status(PMIx_Group_destruct_nb("stiff", nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
    hear_from_server();
    check_status(fence(), PMIX_SUCCESS);
    check_status(ended.wait(), PMIX_ERR_UNREACH);
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank != last) check_status(destruct("stiff"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

}  // namespace

void add_construct_programs(Programs& programs) {
  programs.add("handlers_decide", handlers_decide);
  programs.add("leader_of_a_construct_ends", leader_of_a_construct_ends);
  programs.add("tells_of_a_construct", tells_of_a_construct);
  programs.add("bootstraps", bootstraps);
  programs.add("bootstrap_loses_one", bootstrap_loses_one);
  programs.add("bootstrap_waits", bootstrap_waits);
  programs.add("fences_adjust", fences_adjust);
  programs.add("one_leaves_a_fence", one_leaves_a_fence);
  programs.add("one_leaves_an_end", one_leaves_an_end);
}

}  // namespace weft::test
