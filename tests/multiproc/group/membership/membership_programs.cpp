// SPDX-License-Identifier: BSD-3-Clause
// Members of groups that come and go: on one node and on several (membership_test.cpp).
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

constexpr uid_t another_user = 54321;

bool wait_for_members(const std::string& name, const Procs& members) {
  return eventually([&] { return is_same(members_of(name), members); });
}

/// The last leaves a group of all; the others hear of it, and use the group without it.
int one_leaves(const Words&) {
  Client client;
  const auto last = client.size - 1;
  group_events().listen(PMIX_GROUP_LEFT);
  group_events().listen(PMIX_GROUP_MEMBERSHIP_UPDATE);
  check_status(fence(), PMIX_SUCCESS);
  check_status(construct("shrinks", {client.job}).status, PMIX_SUCCESS);
  const auto left = ranks_of(client, 0, last - 1);
  if (client.me.rank == last) {
    check_status(leave("shrinks"), PMIX_SUCCESS);
    check(members_of("shrinks").empty(), "still a member");
    check_status(leave("shrinks"), PMIX_ERR_NOT_FOUND);
    check_status(destruct("shrinks"), PMIX_ERR_NOT_FOUND);
  } else {
    const auto event = group_events().wait(PMIX_GROUP_LEFT, "shrinks");
    check(event.about && event.about->rank == last, "who has left");
    check(is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE).members, left), "the members by event");
    check(is_same(members_of("shrinks"), left), "the members");
    check_status(fence({all_of("shrinks")}), PMIX_SUCCESS);
    check_status(destruct("shrinks"), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  check_status(construct("shrinks", {client.job}).status, PMIX_SUCCESS);
  check_status(destruct("shrinks"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// All but one leave at once, in any order; the last one is alone in it then. The server that keeps the group
/// has no member left.
int all_leave_but_the_last(const Words&) {
  Client client;
  const auto last = client.size - 1;
  for (int round = 0; round < 10; ++round) {
    check_status(construct("fades", {client.job}).status, PMIX_SUCCESS);
    if (client.me.rank != last) {
      check_status(leave("fades"), PMIX_SUCCESS);
    } else {
      check(wait_for_members("fades", {client.me}), "not alone");
      check_status(destruct("fades"), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// Three nodes of two. The first node keeps the group, and its only member leaves: the group lives on the
/// second node alone. There a process of the third node joins it, and the first member once more. Word: join,
/// or end: none joins.
int keeper_changes(const Words& words) {
  Client client;
  const auto rank = client.me.rank;
  const auto second = ranks_of(client, 2, 3);
  const auto members = [&](std::initializer_list<pmix_rank_t> of) { return ranks_of(client, of); };
  const bool joins_later = words.at(0) == "join";
  for (int round = 0; round < 10; ++round) {
    check_status(fence(), PMIX_SUCCESS);
    if (rank == 0 || rank == 2 || rank == 3)
      check_status(construct("moves", members({0, 2, 3})).status, PMIX_SUCCESS);
    if (rank == 0) check_status(leave("moves"), PMIX_SUCCESS);
    if (rank == 2 || rank == 3) check(wait_for_members("moves", second), "the first is still there");
    check_status(fence(), PMIX_SUCCESS);
    if (joins_later) {
      if (rank == 4) check(is_same(join("moves", nullptr).members, members({2, 3, 4})), "joined by");
      check_status(fence(), PMIX_SUCCESS);
      if (rank == 0) check(is_same(join("moves", nullptr).members, members({2, 3, 4, 0})), "joined again by");
      check_status(fence(), PMIX_SUCCESS);
    }
    const auto last = joins_later ? members({2, 3, 4, 0}) : second;
    if (contains(last, client.me)) {
      check(wait_for_members("moves", last), "the members");
      check_status(fence({all_of("moves")}), PMIX_SUCCESS);
      check_status(destruct("moves"), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
    check_equal(groups_known_here(), 0);
    if (rank == 4) check_status(join("moves", nullptr).status, PMIX_ERR_NOT_FOUND);
  }
  client.finalize();
  return 0;
}

/// The last asks to be let in. Words: what the members say; "another user": it is one, and the others know
/// which.
int asks_to_join(const Words& words) {
  const bool is_of_two_users = words.size() > 1;
  const char* rank_text = std::getenv("PMIX_RANK");
  if (is_of_two_users && rank_text != nullptr && rank_text == std::string("3"))
    check(::setresuid(another_user, another_user, another_user) == 0, "becomes another user");
  Client client;
  const auto how =
      is_of_two_users && words.at(0) == "unheard" ? std::string("refused by default") : words.at(0);
  const bool is_refused = how.starts_with("refused");
  const auto last = client.size - 1;
  const auto first = ranks_of(client, 0, last - 1);
  // By default: rank 0 would let it in, and the others have no handler.
  if (how != "unheard" && (how != "refused by default" || client.me.rank == 0))
    group_events().listen(PMIX_GROUP_JOIN_REQUEST, [&](const Event& event) -> Answer {
      check(event.about && event.about->rank == last && event.group == "club", "who asks");
      return {how == "refused" && client.me.rank == 1 ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS};
    });
  group_events().listen(PMIX_GROUP_MEMBERSHIP_UPDATE);
  group_events().listen(PMIX_PROC_HAS_JOINED);
  check_status(put("card", 100 + client.me.rank), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto options = std::move(Infos().flag(PMIX_GROUP_NOTIFY_EACH).flag(PMIX_GROUP_ASSIGN_CONTEXT_ID));
  std::optional<std::size_t> context;
  if (client.me.rank != last) {
    const auto made = construct("club", first, options);
    check_status(made.status, PMIX_SUCCESS);
    context = made.context;
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last) {
    check_status(join("no club", nullptr).status, PMIX_ERR_NOT_FOUND);
    check_status(join("club", nullptr, PMIX_GROUP_DECLINE).status, PMIX_ERR_BAD_PARAM);
    const auto made = join("club", nullptr);
    check_status(made.status, is_refused ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS);
    context = made.context;
    if (!is_refused) check(context.has_value(), "no context");
  } else if (!is_refused) {
    while (group_events().wait(PMIX_PROC_HAS_JOINED, "club").about->rank != last)
      continue;  // others when it was made
    check(is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE).members, ranks_of(client, 0, last)),
          "by event");
  }
  check_status(fence(), PMIX_SUCCESS);  // a refusal has come before the group ends
  const bool is_member = !is_refused || client.me.rank != last;
  if (is_member) {
    const auto members = is_refused ? first : ranks_of(client, 0, last);
    check(is_same(members_of("club"), members), "the members");
    check_status(fence({all_of("club")}), PMIX_SUCCESS);
    for (pmix_rank_t rank = 0; rank < members.size(); ++rank)
      check_equal(get(proc_of("club", rank), "card").u64(), 100 + members[rank].rank);
    check_status(destruct("club"), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// A member of a group whose members want to be asked leaves. Word: approved or refused.
int leaves_with_approval(const Words& words) {
  Client client;
  const bool is_refused = words.at(0) == "refused";
  const auto last = client.size - 1;
  group_events().listen(PMIX_GROUP_LEAVE_REQUEST, [&](const Event& event) -> Answer {
    check(event.about && event.about->rank == last, "who asks");
    return {is_refused && client.me.rank == 0 ? PMIX_ERR_RESOURCE_BUSY : PMIX_SUCCESS};
  });
  check_status(fence(), PMIX_SUCCESS);
  const auto asks = std::move(Infos().flag(PMIX_GROUP_NOTIFY_DEPARTURE));
  check_status(construct("tight", {client.job}, asks).status, PMIX_SUCCESS);
  if (client.me.rank == last)
    check_status(leave("tight"), is_refused ? PMIX_ERR_RESOURCE_BUSY : PMIX_SUCCESS);
  else
    group_events().wait(PMIX_GROUP_LEAVE_REQUEST, "tight");
  check_status(fence(), PMIX_SUCCESS);
  check_equal(group_events().count(PMIX_GROUP_LEAVE_REQUEST), client.me.rank == last ? 0 : 1);
  const bool is_member = is_refused || client.me.rank != last;
  if (is_member) {
    check(wait_for_members("tight", ranks_of(client, 0, is_refused ? last : last - 1)), "the members");
    check_status(destruct("tight"), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank leaves, or asks to be let in; the handler of rank 1 does not answer until the test says so.
/// Word: leave or join.
int waits_for_a_handler(const Words& words) {
  Client client;
  const bool leaves = words.at(0) == "leave";
  const auto last = client.size - 1;
  const auto code = leaves ? PMIX_GROUP_LEAVE_REQUEST : PMIX_GROUP_JOIN_REQUEST;
  if (client.me.rank == 1)
    group_events().listen(code, [](const Event&) -> Answer {
      await("answer");
      return {PMIX_SUCCESS};
    });
  check_status(fence(), PMIX_SUCCESS);
  const auto members = ranks_of(client, 0, leaves ? last : last - 1);
  const auto asks = std::move(Infos().flag(PMIX_GROUP_NOTIFY_DEPARTURE));
  if (contains(members, client.me)) check_status(construct("tight", members, asks).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank == last)
    check_status(leaves ? leave("tight") : join("tight", nullptr).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (!leaves || client.me.rank != last) check_status(destruct("tight"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Rank 1, a member, invites the last ones into the group of the first two; one of them declines. Word:
/// "each": the group's members hear of each process that joins, and so does the inviter, twice asked for:
/// once of each.
int invites_into_a_group(const Words& words) {
  Client client;
  const bool hears_each = !words.empty();
  std::mutex mutex;
  std::multiset<pmix_rank_t> joined;
  Infos each;
  if (hears_each) {
    each.flag(PMIX_GROUP_NOTIFY_EACH);
    group_events().listen(PMIX_PROC_HAS_JOINED, [&](const Event& event) -> Answer {
      const std::lock_guard lock(mutex);
      joined.insert(event.about->rank);
      return {};
    });
  }
  const auto last = client.size - 1;
  const auto inviter = client.peer(1);
  group_events().listen(PMIX_GROUP_INVITED);
  group_events().listen(PMIX_GROUP_MEMBERSHIP_UPDATE);
  if (client.me.rank == 1) group_events().listen(PMIX_GROUP_INVITE_DECLINED);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank < 2) check_status(construct("grows", ranks_of(client, 0, 1), each).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  auto members = ranks_of(client, 0, last - 1);
  if (client.me.rank == 1) {
    const auto made = invite("grows", {client.job}, each);
    check_status(made.status, PMIX_ERR_PARTIAL_SUCCESS);
    check(is_same(made.members, members), "the members");
    // Behind all that tells of single processes.
    check(is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE).members, members), "by event");
    const std::lock_guard lock(mutex);
    for (pmix_rank_t rank = 2; hears_each && rank < last; ++rank) check_equal(joined.count(rank), 1);
  } else if (client.me.rank == 0) {
    check(is_same(group_events().wait(PMIX_GROUP_MEMBERSHIP_UPDATE).members, members), "by event");
  } else {
    const auto invitation = group_events().wait(PMIX_GROUP_INVITED);
    check(PMIx_Check_procid(&invitation.source, &inviter), "another inviter");
    const bool declines = client.me.rank == last;
    const auto made = join("grows", &inviter, declines ? PMIX_GROUP_DECLINE : PMIX_GROUP_ACCEPT);
    check_status(made.status, PMIX_SUCCESS);
    if (!declines) check(is_same(made.members, members), "the members");
  }
  if (client.me.rank != last) {
    check(is_same(members_of("grows"), members), "the members");
    check_status(fence({all_of("grows")}), PMIX_SUCCESS);
    check_status(destruct("grows"), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// All leave and come back, again and again, at once; in the end all have the same members. Words: seed,
/// rounds.
int leaves_and_joins(const Words& words) {
  Client client;
  std::mt19937 random(static_cast<unsigned>(std::stoul(words.at(0))) + client.me.rank);
  const auto rounds = std::stoul(words.at(1));
  check_status(construct("busy", {client.job}).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank != 0) {
    bool is_member = true;
    for (unsigned long round = 0; round < rounds; ++round) {
      if (random() % 3 == 0) continue;
      check_status(is_member ? leave("busy") : join("busy", nullptr).status, PMIX_SUCCESS);
      is_member = !is_member;
    }
    if (!is_member) check_status(join("busy", nullptr).status, PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  // The changes that a server has told its processes of come before its answer.
  check_equal(groups_known_here(), 1);
  const auto members = members_of("busy");
  check_equal(members.size(), client.size);
  std::string order;
  for (const auto& proc : members) order += std::to_string(proc.rank) + ' ';
  check_status(put("order", order), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < client.size; ++rank)
    check_equal(get(client.peer(rank), "order").text(), order);
  check_status(fence({all_of("busy")}), PMIX_SUCCESS);
  check_status(destruct("busy"), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

}  // namespace

void add_membership_programs(Programs& programs) {
  programs.add("one_leaves", one_leaves);
  programs.add("all_leave_but_the_last", all_leave_but_the_last);
  programs.add("keeper_changes", keeper_changes);
  programs.add("asks_to_join", asks_to_join);
  programs.add("leaves_with_approval", leaves_with_approval);
  programs.add("invites_into_a_group", invites_into_a_group);
  programs.add("leaves_and_joins", leaves_and_joins);
  programs.add("waits_for_a_handler", waits_for_a_handler);
}

}  // namespace weft::test
