// SPDX-License-Identifier: BSD-3-Clause
// Members that make and end groups many times, as chance has it (group_soak_test.cpp). All ranks draw the
// same numbers from the seed, so that each of them knows what the others do.
#include <algorithm>
#include <random>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/harness/host.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

/// A name is used again when its group has ended everywhere.
constexpr unsigned long soak_names = 50;

/// Words: seed, cycles, ranks of a node.
struct Soak {
  Client client;
  std::mt19937 random;
  unsigned long cycles;
  bool speaks;  ///< the last rank of a node tells the test where the soak is
  Procs all = ranks_of(client, 0, client.size - 1);

  explicit Soak(const Words& words)
      : random(static_cast<unsigned>(std::stoul(words.at(0)))), cycles(std::stoul(words.at(1))) {
    const auto per_node = std::stoul(words.at(2));
    speaks = client.me.rank % per_node == per_node - 1;
  }
  unsigned long draw(unsigned long below) { return random() % below; }
  /// At least `least` of all, in any order.
  Procs some(std::size_t least) {
    auto out = all;
    for (auto i = out.size(); i > 1; --i) std::swap(out[i - 1], out[draw(i)]);
    out.resize(least + draw(out.size() - least + 1));
    return out;
  }
  /// Nothing is under way, and no group is left: the test may measure.
  void rest() const {
    check_status(fence(), PMIX_SUCCESS);
    check_equal(groups_known_here(), 0);
    if (speaks) {
      say("rests");
      await("go on");
    }
    check_status(fence(), PMIX_SUCCESS);
  }
  void run(const std::function<void(const std::string& name, unsigned long cycle)>& cycle_of) {
    rest();
    unsigned long tenth = 1;
    for (unsigned long cycle = 0; cycle < cycles; ++cycle) {
      if (cycle % soak_names == 0) check_status(fence(), PMIX_SUCCESS);
      cycle_of("soak " + std::to_string(cycle % soak_names), cycle);
      for (; tenth <= 10 && cycle + 1 >= cycles * tenth / 10; ++tenth) rest();
    }
    client.finalize();
  }
};

int makes_and_ends_many(const Words& words) {
  Soak soak(words);
  soak.run([&](const std::string& name, unsigned long cycle) {
    const auto members = soak.some(1);
    const auto what = soak.draw(4);
    if (!contains(members, soak.client.me)) return;
    // Data under a context is there for ever, by the Standard: here it has none, and the next takes its
    // place.
    Infos infos, given;
    if (what == 1) infos.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    if (what == 2) infos.array(PMIX_GROUP_INFO, std::move(given.unsigned64("given", cycle)));
    const auto made = construct(name, members, infos);
    check_status(made.status, PMIX_SUCCESS);
    check(is_same(made.members, members), "the members of all");
    check(made.context.has_value() == (what == 1), "a context");
    if (what == 2)
      check(get(members[cycle % members.size()], "given").u64() >= cycle, "data of another cycle");
    check_status(destruct(name), PMIX_SUCCESS);
  });
  return 0;
}

/// The plan of one cycle, which all processes draw alike.
struct Cycle {
  enum class On : unsigned long { goes_on, replaces, aborts };
  std::string name;
  pmix_proc_t leader;
  Procs invited, declining, leaving;
  Procs replacements;  ///< one, or none
  On on_declined;
  bool asks_before_leaves, comes_back;

  Cycle(Soak& soak, std::string its_name) : name(std::move(its_name)) {
    invited = soak.some(2);
    leader = invited[soak.draw(invited.size())];
    on_declined = static_cast<On>(soak.draw(3));
    for (const auto& proc : soak.all)
      if (!contains(invited, proc) && replacements.empty()) replacements = {proc};
    for (const auto& proc : soak.all) {
      if (soak.draw(6) == 0 && contains(invited, proc) && !is(proc, leader)) declining.push_back(proc);
      if (soak.draw(3) == 0) leaving.push_back(proc);
    }
    asks_before_leaves = soak.draw(3) == 0;
    comes_back = soak.draw(2) == 0;
    if (on_declined == On::replaces && replacements.empty()) on_declined = On::goes_on;
  }
  static bool is(const pmix_proc_t& a, const pmix_proc_t& b) { return PMIx_Check_procid(&a, &b); }
  bool is_replaced() const { return !declining.empty() && on_declined == On::replaces; }
  bool is_invited(const pmix_proc_t& proc) const {
    return contains(invited, proc) || (is_replaced() && contains(replacements, proc));
  }
  bool is_aborted() const { return !declining.empty() && on_declined == On::aborts; }
  /// In the order of those invited; a replacement has the place of the first that declined.
  bool are_members(const Procs& members) const {
    std::size_t wanted = invited.size() - declining.size() + (is_replaced() ? 1 : 0);
    return members.size() == wanted &&
           std::all_of(members.begin(), members.end(), [&](const pmix_proc_t& proc) {
             return is_invited(proc) && !contains(declining, proc);
           });
  }
};

/// All members have the same: each tells the others what it has.
void compare(const std::string& name, const Procs& members) {
  const auto own = name + ": " + ranks_in(members);
  check_status(put("seen", own), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({all_of(name)}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t rank = 0; rank < members.size(); ++rank)
    check_equal(get(proc_of(name, rank), "seen").text(), own);
  check_status(fence({all_of(name)}),
               PMIX_SUCCESS);  // the next cycle's card of a member that is through would be another
}

/// Members that leave do so at once; the first of them comes back where it may. The other members end the
/// group when they have heard of every departure and return.
void leave_and_end(const Cycle& cycle, const Procs& members, const pmix_proc_t& me) {
  Procs left, leaving;
  for (const auto& proc : members) (contains(cycle.leaving, proc) ? leaving : left).push_back(proc);
  // Where the members after that were the members before, too, a member could not tell them apart.
  const auto is_before_last = [&] {
    return std::find_if(members.begin(), members.end(), [&](const pmix_proc_t& proc) {
             return Cycle::is(proc, leaving.front()) || Cycle::is(proc, left.back());
           })->rank == leaving.front().rank;
  };
  const bool comes_back = cycle.comes_back && !left.empty() && !leaving.empty() && is_before_last();
  if (contains(leaving, me)) {
    check_status(leave(cycle.name), PMIX_SUCCESS);
    if (!comes_back || !Cycle::is(leaving.front(), me)) return;
    check_status(join(cycle.name, nullptr).status, PMIX_SUCCESS);
  }
  if (comes_back) left.push_back(leaving.front());
  check(eventually([&] { return is_same(members_of(cycle.name), left); }), "the members after leaves");
  check_status(fence({all_of(cycle.name)}), PMIX_SUCCESS);
  check_status(destruct(cycle.name), PMIX_SUCCESS);
}

int invites_and_leaves_many(const Words& words) {
  Soak soak(words);
  const auto& me = soak.client.me;
  std::optional<Cycle> now;  // the handler of a leader is called in its own cycle only
  group_events().listen(PMIX_GROUP_INVITED);
  group_events().listen(PMIX_GROUP_INVITE_DECLINED, [&](const Event&) -> Answer {
    if (now->on_declined == Cycle::On::aborts) return {PMIX_GROUP_CONSTRUCT_ABORT};
    if (now->on_declined == Cycle::On::replaces) return {PMIX_SUCCESS, false, now->replacements};
    return {PMIX_EVENT_ACTION_COMPLETE};
  });
  for (const auto code : {PMIX_GROUP_JOIN_REQUEST, PMIX_GROUP_LEAVE_REQUEST})
    group_events().listen(code, [](const Event&) -> Answer { return {PMIX_SUCCESS}; });
  soak.run([&](const std::string& name, unsigned long) {
    now.emplace(soak, name);
    if (!now->is_invited(me) || (now->is_aborted() && !contains(now->invited, me))) return;
    Made made;
    if (Cycle::is(me, now->leader)) {
      Infos infos;
      if (now->asks_before_leaves) infos.flag(PMIX_GROUP_NOTIFY_DEPARTURE);
      made = invite(name, now->invited, infos);
      const bool is_partial = now->on_declined == Cycle::On::goes_on && !now->declining.empty();
      const bool is_short = now->is_replaced() && now->declining.size() > 1;
      if (!now->is_aborted())
        check_status(made.status, is_partial || is_short ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS);
    } else {
      group_events().wait(PMIX_GROUP_INVITED, name);
      const bool declines = contains(now->declining, me);
      made = join(name, &now->leader, declines ? PMIX_GROUP_DECLINE : PMIX_GROUP_ACCEPT);
      if (declines) return check_status(made.status, PMIX_SUCCESS);
      if (!now->is_aborted()) check_status(made.status, PMIX_SUCCESS);
    }
    if (now->is_aborted()) return check_status(made.status, PMIX_GROUP_CONSTRUCT_ABORT);
    check(now->are_members(made.members), "the members");
    compare(name, made.members);
    leave_and_end(*now, made.members, me);
  });
  return 0;
}

}  // namespace

void add_group_soak_programs(Programs& programs) {
  programs.add("makes_and_ends_many", makes_and_ends_many);
  programs.add("invites_and_leaves_many", invites_and_leaves_many);
}

}  // namespace weft::test
