// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/cost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collectives/rule.hpp"

namespace weft::collectives {
namespace {

constexpr Costs round_numbers{.source = Costs::Source::measured,
                              .cores = 0,
                              .latency = 1000,
                              .message = 100,
                              .wire_kib = 1024,
                              .work_kib = 0};

double cost(const char* choice, std::uint32_t n, std::uint64_t bytes = 0, std::uint64_t largest = 0,
            const Costs& costs = round_numbers) {
  return cost_of(*parse_choice(choice), n, bytes, largest, costs);
}

TEST(Cost, of_rounds_is_that_of_their_messages) {
  EXPECT_EQ(cost("dissemination:1", 1), 0);
  EXPECT_EQ(cost("dissemination:1", 2), 1200);
  EXPECT_EQ(cost("dissemination:1", 8), 3 * 1200);
  EXPECT_EQ(cost("dissemination:1", 9), 4 * 1200);
  EXPECT_EQ(cost("dissemination:2", 9), 2 * 1300);
  EXPECT_EQ(cost("dissemination:7", 8), 1 * 1800);
  EXPECT_EQ(cost("tree:2", 3), 2 * 1300);
  EXPECT_EQ(cost("tree:1", 4), 6 * 1200) << "a chain, up and down";
}

TEST(Cost, of_bytes_is_that_of_the_longest_way) {
  // A byte takes a nanosecond on the wire.
  EXPECT_EQ(cost("bruck", 4, 4000, 1000), 2 * 1200 + 3000);
  EXPECT_EQ(cost("bruck", 3, 3000, 1000), 2 * 1200 + 2000);
  EXPECT_EQ(cost("ring", 4, 4000, 1000), 3 * 1200 + 3000);
  EXPECT_EQ(cost("recursive_doubling", 4, 4000, 1000), 2 * 1200 + 3000);
  EXPECT_EQ(cost("recursive_doubling", 3, 3000, 1000), 1200 + 1000 + 1200 + 2000 + 1200 + 1500);
  // The largest of them is in the messages of each round.
  EXPECT_EQ(cost("bruck", 4, 4000, 3400), 2 * 1200 + 3400 + 1000 + 3400);
  EXPECT_EQ(cost("ring", 4, 4000, 3400), 3 * (1200 + 3400));
}

TEST(Cost, of_long_messages_is_that_of_the_slower_of_wire_and_processor) {
  auto costs = round_numbers;
  costs.work_kib = 1024;  // two nanoseconds a byte at a server that sends and receives
  EXPECT_EQ(cost("bruck", 2, 2 * 65536, 65536, costs), 1200 + 3 * 65536);
  EXPECT_EQ(cost("bruck", 2, 20 * 65536, 10 * 65536, costs), 1200 + 3 * 65536 + 9 * 2 * 65536);
}

TEST(Cost, of_shared_processors_is_that_of_all_messages) {
  auto costs = round_numbers;
  costs.message = 10'000;
  costs.cores = 2;
  // 16 x 4 messages with two ends, and 30 of them.
  EXPECT_EQ(cost("dissemination:1", 16, 0, 0, costs), 64 * 20'000 / 2);
  EXPECT_EQ(cost("tree:15", 16, 0, 0, costs), 2 * (1000 + 16 * 10'000));
  EXPECT_LT(cost("tree:4", 16, 0, 0, costs), cost("dissemination:1", 16, 0, 0, costs));
}

TEST(Cost, is_a_number_for_whatever_is_asked) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  const Costs costs{Costs::Source::measured, most, most, most, most, most};
  for (const auto& choices : {Rule::barriers(), Rule::exchanges()})
    for (const auto& choice : choices)
      for (const std::uint32_t n : {1u, 2u, 3u, 17u, 131'072u, 1u << 20})
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 60})
          for (const auto& of : {costs, Costs{Costs::Source::measured, 0, 0, 0, 0, 0}}) {
            const auto out = cost_of(choice, n, bytes, bytes, of);
            EXPECT_TRUE(std::isfinite(out) && out >= 0) << to_text(choice) << " of " << n;
          }
}

TEST(Rule, takes_what_is_a_tenth_cheaper_than_the_usual) {
  const Rule usual;
  EXPECT_EQ(to_text(usual.barrier(2)), "dissemination:1");
  EXPECT_EQ(to_text(usual.exchange(2, 1 << 20, 1 << 19)), "bruck");
  // A long way, and little work: more ports.
  Costs far = round_numbers;
  far.latency = 100'000;
  EXPECT_EQ(to_text(Rule({}, far).barrier(64)), "dissemination:7");
  // All of it is work, on processors that all share: fewer messages.
  Costs shared = round_numbers;
  shared.message = 10'000;
  shared.cores = 2;
  EXPECT_EQ(Rule({}, shared).barrier(16).algorithm, Algorithm::tree);
  EXPECT_EQ(Rule({}, shared).exchange(16, 16 * 64, 64).algorithm, Algorithm::tree);
}

TEST(Rule, takes_what_is_asked_for_where_it_can) {
  const Rule tree(*parse_choice("tree:2")), ring(*parse_choice("ring")),
      ports(*parse_choice("dissemination:3"));
  EXPECT_EQ(to_text(tree.barrier(8)), "tree:2:1");
  EXPECT_EQ(to_text(tree.exchange(8, 10, 10)), "tree:2:1");
  EXPECT_EQ(ring.exchange(8, 10, 10).algorithm, Algorithm::ring);
  EXPECT_EQ(ring.barrier(8).algorithm, Algorithm::dissemination);
  EXPECT_EQ(to_text(ports.barrier(8)), "dissemination:3");
  EXPECT_EQ(ports.exchange(8, 10, 10).algorithm, Algorithm::bruck);
}

TEST(Rule, takes_new_costs_from_the_next_collective_on) {
  Rule rule;
  Costs shared = Costs::on_one_machine(1);
  shared.message = 50'000;
  rule.take(shared);
  EXPECT_EQ(rule.costs().source, Costs::Source::one_machine);
  EXPECT_EQ(rule.barrier(16).algorithm, Algorithm::tree);
}

}  // namespace
}  // namespace weft::collectives
