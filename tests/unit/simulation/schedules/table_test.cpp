// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/table.hpp"

#include <gtest/gtest.h>

namespace weft::simulation {
namespace {

using collectives::Choice;
using collectives::Index;
using collectives::Kind;
using collectives::Rule;

collectives::Choice choice_of(const char* text) {
  return *collectives::parse_choice(text);
}

std::vector<Phase> phases(std::uint32_t n, const char* algorithm, std::uint64_t bytes) {
  const auto choice = choice_of(algorithm);
  const bool is_barrier = choice.algorithm == collectives::Algorithm::dissemination;
  return phases_of({.members = n,
                    .kind = is_barrier ? Kind::barrier : Kind::exchange,
                    .bytes = bytes,
                    .rule = Rule(choice)});
}

/// What the schedule of that member says, as the table has it.
void expect_alike(const StepTable& table, std::uint32_t n, const Choice& choice, const Phase& phase) {
  for (Member member = 0; member < n; ++member) {
    const auto schedule = schedule_for(choice, n, Index(member));
    ASSERT_EQ(table.steps(member), schedule.size());
    for (StepNumber step = 0; step < schedule.size(); ++step) {
      ASSERT_EQ(table.sends(member, step), schedule[step].sends.size());
      ASSERT_EQ(table.receives(member, step), schedule[step].receives.size());
      const auto is = [&](const StepTable::Transfer& one, const collectives::PeerBlocks& other) {
        EXPECT_EQ(one.peer, number(other.peer));
        EXPECT_EQ(one.blocks, other.blocks);
        EXPECT_EQ(one.bytes, phase.message_bytes + phase.block_bytes * other.blocks.count);
      };
      for (std::uint32_t i = 0; i < schedule[step].sends.size(); ++i)
        is(table.send(member, step, i), schedule[step].sends[i]);
      for (std::uint32_t i = 0; i < schedule[step].receives.size(); ++i)
        is(table.receive(member, step, i), schedule[step].receives[i]);
    }
  }
}

TEST(StepTable, has_the_steps_of_each_schedule_also_where_it_keeps_one_member_only) {
  for (const char* algorithm :
       {"dissemination:1", "dissemination:4", "bruck", "ring", "recursive_doubling", "tree:4:1", "tree:2:5"})
    for (std::uint32_t n = 1; n <= 40; ++n) {
      SCOPED_TRACE(std::string(algorithm) + " of " + std::to_string(n));
      const auto of = phases(n, algorithm, 8);
      ASSERT_EQ(of.size(), 1u);
      const auto table = StepTable::of(n, of);
      ASSERT_TRUE(table);
      expect_alike(*table, n, choice_of(algorithm), of[0]);
    }
}

TEST(StepTable, counts_steps_through_phases) {
  // 40 members contribute more than goes at once: lengths first.
  const auto of = phases(40, "tree:3:2", 1 << 20);
  ASSERT_EQ(of.size(), 2u);
  const auto table = StepTable::of(40, of);
  ASSERT_TRUE(table);
  std::uint64_t before = 0;
  for (Member member = 0; member < 40; ++member) {
    const auto each = schedule_for(choice_of("tree:3:2"), 40, Index(member)).size();
    EXPECT_EQ(table->steps(member), 2 * each);
    EXPECT_EQ(table->steps_before(member), before);
    EXPECT_TRUE(table->share_phase(member, 0, 0, 0));
    EXPECT_FALSE(table->share_phase(member, static_cast<StepNumber>(each), 0, 0));
    before += 2 * each;
  }
}

TEST(StepTable, says_what_is_too_large) {
  const auto of = phases(20'000, "ring", 1 << 20);
  const auto table = StepTable::of(20'000, of);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Errc::no_space);
}

TEST(Broadcast, reaches_each_member_once_from_its_parent) {
  for (const std::uint32_t n : {1u, 2u, 8u, 9u, 10u, 74u, 100u}) {
    const auto phase = broadcast(n, 8, 100);
    std::vector<std::uint32_t> reached(n);
    for (std::uint32_t me = 0; me < n; ++me)
      for (const auto& step : phase.schedule(Index(me)))
        for (const auto& sent : step.sends) {
          ++reached[number(sent.peer)];
          EXPECT_EQ((number(sent.peer) - 1) / 8, me);
        }
    EXPECT_EQ(reached[0], 0u);
    for (std::uint32_t me = 1; me < n; ++me) EXPECT_EQ(reached[me], 1u);
  }
}

}  // namespace
}  // namespace weft::simulation
