// SPDX-License-Identifier: BSD-3-Clause
// Members of which one after the other dies at a point that chance names, until two are left
// (group_soak_test.cpp). All ranks draw the same numbers from the seed; in each round the survivors have the
// same members, and go on.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

void die_at_the_point() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

enum class Point : unsigned long {
  before_it_answers,
  after_it_has_accepted,
  as_leader,  ///< after some acceptances
  before_an_optional_construct,
  when_the_group_is_made,
  while_another_leaves,
};
constexpr unsigned long points = 6;

/// The plan of one round, which all processes draw alike.
struct Round {
  std::string name;
  Procs alive, survivors;
  Point point;
  pmix_proc_t victim, leader, leaver;
  unsigned long acceptances;  ///< the leader dies of the last of them
  bool is_led;                ///< the first survivor declares itself leader

  Round(std::mt19937& random, Procs its_alive, unsigned number)
      : name("round " + std::to_string(number)), alive(std::move(its_alive)), survivors(alive) {
    const auto draw = [&](std::size_t below) { return random() % below; };
    point = static_cast<Point>(draw(points));
    const auto which = survivors.begin() + static_cast<std::ptrdiff_t>(draw(alive.size()));
    victim = *which;
    survivors.erase(which);
    leader = point == Point::as_leader ? victim : survivors[draw(survivors.size())];
    leaver = survivors[draw(survivors.size())];
    acceptances = 1 + draw(survivors.size());
    is_led = draw(2) == 0;
  }
};

/// The round of this process, for its handlers. A handler is called in its round only: all survivors meet at
/// its end.
struct Mortal {
  Client client;
  std::mt19937 random;
  std::optional<Round> round;
  unsigned long accepted = 0;

  explicit Mortal(const Words& words) : random(static_cast<unsigned>(std::stoul(words.at(0)))) {
    group_events().listen(PMIX_GROUP_INVITED);
    group_events().listen(PMIX_GROUP_MEMBER_FAILED);
    group_events().listen(PMIX_GROUP_INVITE_FAILED,
                          [](const Event&) -> Answer { return {PMIX_EVENT_ACTION_COMPLETE}; });
    group_events().listen(PMIX_GROUP_INVITE_ACCEPTED, [this](const Event&) -> Answer {
      if (round->point == Point::as_leader && is_me(round->victim) && ++accepted == round->acceptances)
        die_at_the_point();
      return {};
    });
    group_events().listen(PMIX_GROUP_LEADER_FAILED, [this](const Event&) -> Answer {
      return {PMIX_SUCCESS, round->is_led && is_me(round->survivors.front())};
    });
  }
  bool is_me(const pmix_proc_t& proc) const { return PMIx_Check_procid(&proc, &client.me); }
  /// Each survivor tells the others what it has.
  void compare(const Procs& members) const {
    const auto own = round->name + ": " + ranks_in(members);
    check_status(put("seen", own), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(round->survivors, collect()), PMIX_SUCCESS);
    for (const auto& proc : round->survivors) check_equal(get(proc, "seen").text(), own);
  }
  Procs meet_by_invitation() {
    const auto notify = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
    if (is_me(round->leader)) return invite_all(notify);
    group_events().wait(PMIX_GROUP_INVITED, round->name);
    if (is_me(round->victim)) {
      const auto accepts = round->point == Point::after_it_has_accepted;
      if (accepts)
        check_status(PMIx_Group_join_nb(round->name.c_str(), &round->leader, PMIX_GROUP_ACCEPT, nullptr, 0,
                                        nullptr, nullptr),
                     PMIX_SUCCESS);
      die_at_the_point();
    }
    const auto made = join(round->name, &round->leader);
    const bool is_unled = round->point == Point::as_leader && !round->is_led;
    check_status(made.status, is_unled ? PMIX_GROUP_LEADER_FAILED : PMIX_SUCCESS);
    if (round->point != Point::after_it_has_accepted && !is_unled)
      check(is_same(made.members, round->survivors), "the members");
    return made.members;
  }
  Procs invite_all(const Infos& infos) const {
    const auto made = invite(round->name, round->alive, infos);
    check(round->point != Point::as_leader, "a leader that lives");
    const bool is_whole = made.members.size() == round->alive.size();
    check_status(made.status, is_whole ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS);
    return made.members;
  }
  Procs meet_by_construct() const {
    Infos infos;
    const bool is_optional = round->point == Point::before_an_optional_construct;
    infos.flag(is_optional ? PMIX_GROUP_OPTIONAL : PMIX_GROUP_NOTIFY_TERMINATION);
    if (is_optional && is_me(round->victim)) die_at_the_point();
    const auto made = construct(round->name, round->alive, infos);
    check_status(made.status, is_optional ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
    check(is_same(made.members, is_optional ? round->survivors : round->alive), "the members");
    if (is_me(round->victim)) die_at_the_point();
    return made.members;
  }
  /// The members that are left when one has left.
  Procs lose_leaver(Procs members) const {
    if (is_me(round->leaver)) check_status(leave(round->name), PMIX_SUCCESS);
    std::erase_if(members, [&](const pmix_proc_t& proc) { return PMIx_Check_procid(&proc, &round->leaver); });
    if (!is_me(round->leaver))
      check(eventually([&] { return is_same(members_of(round->name), members); }),
            "the members after the leave");
    return members;
  }
  void play() {
    accepted = 0;
    check_status(fence(round->alive), PMIX_SUCCESS);
    const bool is_invitation = round->point <= Point::as_leader;
    auto members = is_invitation ? meet_by_invitation() : meet_by_construct();
    if (round->point == Point::when_the_group_is_made)
      check_equal(group_events().wait(PMIX_GROUP_MEMBER_FAILED, round->name).about->rank, round->victim.rank);
    if (round->point == Point::while_another_leaves) members = lose_leaver(std::move(members));
    compare(members);
    if (contains(members, client.me)) check_status(destruct(round->name), PMIX_SUCCESS);
    check_status(fence(round->survivors), PMIX_SUCCESS);
    // A server whose last member is dead takes part in the end for it, and may hear of that end after the
    // members of other nodes.
    check(eventually([] { return groups_known_here() == 0; }), "a group is left");
  }
};

int dies_by_chance(const Words& words) {
  Mortal me(words);
  check_equal(groups_known_here(), 0);
  auto alive = ranks_of(me.client, 0, me.client.size - 1);
  for (unsigned number = 0; alive.size() > 2; ++number) {
    me.round.emplace(me.random, alive, number);
    me.play();
    alive = me.round->survivors;
  }
  PMIx_Finalize(nullptr, 0);  // those that are dead cannot meet it
  return 0;
}

/// A group of all processes in each round, while nodes are lost at any moment of rounds that the test hears
/// of: says which members it had. Words: how many rounds, and those.
int outlives_nodes(const Words& words) {
  Client client;
  const auto all = ranks_of(client, 0, client.size - 1);
  const auto goes_on = std::move(Infos().flag(PMIX_GROUP_OPTIONAL).flag(PMIX_GROUP_FT_COLLECTIVE));
  std::string seen = "had";
  for (unsigned long round = 0; round < std::stoul(words.at(0)); ++round) {
    const auto name = "round " + std::to_string(round);
    if (std::find(words.begin() + 1, words.end(), std::to_string(round)) != words.end()) say(name);
    const auto made = construct(name, all, goes_on);
    const bool is_whole = made.members.size() == all.size();
    check_status(made.status, is_whole ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS);
    seen += " " + ranks_in(made.members);
    check_status(fence({all_of(name)}), PMIX_SUCCESS);
    check_status(destruct(name), PMIX_SUCCESS);
  }
  check_equal(groups_known_here(), 0);
  say(seen);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

}  // namespace

void add_group_death_programs(Programs& programs) {
  programs.add("outlives_nodes", outlives_nodes);
  programs.add("dies_by_chance", dies_by_chance);
}

}  // namespace weft::test
