// SPDX-License-Identifier: BSD-3-Clause
// The same collectives by the servers' engine over transport/sim, and by schedules alone: at the same times.
#include "simulation/schedules/run.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>

#include "tests/unit/collectives/engines.hpp"

namespace weft::simulation {
namespace {

using collectives::EngineNode;
using collectives::Kind;
using collectives::Rule;
using sim::Time;

constexpr sim::LogGP usual{.latency = 1'000, .overhead = 200, .gap = 300, .gap_per_byte = 0.04};

Costs costs_of(const sim::LogGP& message, bool serial_nics) {
  return {.message = message, .serial_nics = serial_nics};
}

/// Engines on a network of these costs, driven from event to event.
class Reference {
 public:
  Reference(std::uint32_t n, const Costs& costs, const Rule& rule)
      : network_({.message = costs.message,
                  .get = costs.message,
                  .serial_nics = costs.serial_nics,
                  .passes_alone = false,
                  .max_message = costs.max_message}) {
    for (std::uint32_t i = 0; i < n; ++i)
      nodes_.push_back(std::make_unique<EngineNode>(
          transport_, key_, i, n, collectives::Engine::Options{.rule = std::make_shared<Rule>(rule)}));
    for (const auto& one : nodes_)
      for (const auto& other : nodes_)
        if (one != other) {
          EXPECT_TRUE(one->mesh->add_peer(other->number, other->mesh->contact()));
        }
  }
  ~Reference() {
    for (auto& node : nodes_) node.reset();
  }

  /// When each member has ended, since the first could begin. The first run connects: what it costs is not
  /// the collective's.
  std::vector<Time> run(Kind kind, std::uint64_t bytes, const std::vector<Time>& begins) {
    once(kind, bytes, std::vector<Time>(nodes_.size()));
    network_.pass_to(network_.now() + 1'000'000);
    return once(kind, bytes, begins);
  }
  std::uint64_t messages() const {
    std::uint64_t out = 0;
    for (const auto& node : nodes_) out += node->mesh->counters().messages_sent;
    return out / 2;
  }

 private:
  std::vector<Time> once(Kind kind, std::uint64_t bytes, const std::vector<Time>& begins) {
    const auto zero = network_.now();
    std::vector<Time> ended(nodes_.size(), -1);
    std::vector<std::uint32_t> order(nodes_.size()), members(nodes_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::iota(members.begin(), members.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return begins[a] < begins[b]; });
    std::size_t begun = 0;
    for (;;) {
      const auto event = network_.next();
      if (begun < order.size() && (!event || zero + begins[order[begun]] < *event)) {
        const auto node = order[begun++];
        network_.pass_to(zero + begins[node]);
        EXPECT_EQ(network_.now(), zero + begins[node]);
        EXPECT_TRUE(
            nodes_[node]->engine->begin({7, 7}, kind, members, std::vector<std::byte>(bytes),
                                        [&ended, node, zero, this](const collectives::Outcome& outcome) {
                                          EXPECT_FALSE(outcome.why);
                                          ended[node] = network_.now() - zero;
                                        }));
        turn(node);
        continue;
      }
      if (!network_.advance()) break;
      const auto reached = network_.reached();
      for (const auto node : reached) turn(node);
    }
    return ended;
  }
  void turn(std::uint32_t node) {
    nodes_[node]->mesh->progress(now_);
    nodes_[node]->engine->progress();
  }

  sim::Network network_;
  sim::SimTransport transport_{network_};
  mesh::JobKey key_ = mesh::JobKey::random();
  std::vector<std::unique_ptr<EngineNode>> nodes_;
  mesh::TimePoint now_{std::chrono::hours(1)};
};

struct Case {
  const char* algorithm;
  std::uint32_t n;
  std::uint64_t bytes;
};

std::vector<Time> begins_of(std::uint32_t n, Time skew) {
  std::mt19937_64 random(n);
  std::vector<Time> out(n);
  if (skew > 0)
    for (auto& each : out) each = static_cast<Time>(random() % static_cast<std::uint64_t>(skew + 1));
  return out;
}

void expect_same(const Case& of, const Costs& costs, Time skew) {
  SCOPED_TRACE(std::string(of.algorithm) + " of " + std::to_string(of.n) + " x " + std::to_string(of.bytes) +
               " bytes, skew " + std::to_string(skew));
  const auto choice = *collectives::parse_choice(of.algorithm);
  const bool is_barrier = choice.algorithm == collectives::Algorithm::dissemination;
  const auto kind = is_barrier ? Kind::barrier : Kind::exchange;
  const auto bytes = is_barrier ? 0 : of.bytes;
  const auto begins = begins_of(of.n, skew);
  Reference reference(of.n, costs, Rule(choice));
  const auto expected = reference.run(kind, bytes, begins);
  const auto run = run_collective(
      of.n,
      phases_of({.members = of.n, .kind = kind, .bytes = bytes, .rule = Rule(choice), .most_in_all = 0}),
      costs, {begins});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->messages, reference.messages());
  for (Member member = 0; member < of.n; ++member) {
    ASSERT_TRUE(run->ended[member]) << member;
    EXPECT_EQ(*run->ended[member], expected[member]) << member;
  }
}

TEST(Run, takes_the_time_of_the_engine_over_the_simulated_network) {
  for (const char* algorithm :
       {"dissemination:1", "dissemination:3", "bruck", "ring", "recursive_doubling", "tree:4:1", "tree:2:5"})
    for (const std::uint32_t n : {1u, 2u, 3u, 8u, 21u})
      for (const std::uint64_t bytes : {0u, 64u, 5'000u, 70'000u}) {
        expect_same({algorithm, n, bytes}, costs_of(usual, false), 0);
        expect_same({algorithm, n, bytes}, costs_of(usual, true), 0);
      }
}

TEST(Run, takes_the_time_of_the_engine_where_one_member_hears_of_very_many) {
  expect_same({"tree:60:1", 70, 64}, costs_of(usual, true), 0);
  expect_same({"tree:60:1", 70, 64}, costs_of(usual, true), 20'000);
}

TEST(Run, takes_the_time_of_the_engine_where_members_come_late) {
  for (const char* algorithm :
       {"dissemination:1", "dissemination:3", "bruck", "ring", "recursive_doubling", "tree:4:1", "tree:2:5"})
    for (const std::uint32_t n : {2u, 7u, 16u, 29u})
      for (const std::uint64_t bytes : {64u, 5'000u})
        expect_same({algorithm, n, bytes}, costs_of(usual, true), 20'000);
}

/// Each sends to one other member in each round.
std::vector<Phase> barrier(std::uint32_t n) {
  return phases_of({.members = n, .rule = Rule(collectives::Choice{collectives::Algorithm::dissemination})});
}

TEST(Run, barrier_of_one_member_costs_nothing) {
  const auto run = run_collective(1, barrier(1), costs_of(usual, true));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->last, 0);
  EXPECT_TRUE(run->path.empty());
  EXPECT_EQ(run->slowest_hop(), nullptr);
}

TEST(Run, the_path_leads_without_a_gap_from_a_beginning_to_the_end) {
  for (const Time skew : {Time{0}, Time{50'000}}) {
    const auto begins = begins_of(100, skew);
    const auto run = run_collective(100, phases_of({.members = 100, .kind = Kind::exchange, .bytes = 9'000}),
                                    costs_of(usual, true), {begins});
    ASSERT_TRUE(run);
    ASSERT_FALSE(run->path.empty());
    EXPECT_EQ(run->path.front().begun, run->begun);
    EXPECT_EQ(run->begun, begins[run->path.front().from]);
    EXPECT_EQ(run->path.back().ended, run->last);
    for (std::size_t i = 1; i < run->path.size(); ++i) {
      EXPECT_EQ(run->path[i].from, run->path[i - 1].to);
      EXPECT_EQ(run->path[i].begun, run->path[i - 1].ended);
    }
    for (const auto& hop : run->path)
      EXPECT_LE(hop.ended - hop.begun, run->slowest_hop()->ended - run->slowest_hop()->begun);
  }
}

TEST(Run, a_late_member_is_where_the_path_begins) {
  std::vector<Time> begins(64);
  begins[17] = 1'000'000;
  const auto run = run_collective(64, barrier(64), costs_of(usual, true), {begins});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->begun, 1'000'000);
  EXPECT_EQ(run->path.front().from, 17u);
}

TEST(Run, members_wait_for_one_that_is_lost) {
  const auto run = run_collective(16, barrier(16), costs_of(usual, true), {}, LostMember{5, 2'000});
  ASSERT_TRUE(run);
  // It has sent what it sends in the first two rounds, to 6 and 7.
  EXPECT_TRUE(run->ended[6]);
  for (const Member member : {5u, 9u, 13u}) EXPECT_FALSE(run->ended[member]) << member;
  const auto after = run_collective(16, barrier(16), costs_of(usual, true), {}, LostMember{5, 1'000'000});
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->ended[5] && after->ended[9]);
}

TEST(Run, processors_cost_what_they_do_in_turn) {
  const sim::LogGP no_network{};
  auto costs = costs_of(no_network, true);
  costs.server.message = 1'000;
  // Each of three rounds: a message is sealed, and one is opened.
  const auto own = run_collective(8, barrier(8), costs);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->last, 3 * 2 * 1'000);
  // One core for all: 8 x 3 messages, sealed and opened one after the other.
  costs.server.cores = 1;
  const auto shared = run_collective(8, barrier(8), costs);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->last, 8 * 3 * 2 * 1'000);
}

TEST(Run, a_process_waits_for_its_turn_at_a_core) {
  auto costs = costs_of({}, true);
  costs.server.cores = 2;
  costs.server.turn = 1'000;
  // The server that is to begin, one message in each of three rounds, the rank that hears of the end.
  const auto run = run_collective(8, barrier(8), costs);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->last, 5 * 1'000);
}

TEST(Run, a_processor_opens_pieces_as_they_come) {
  auto costs = costs_of({.latency = 1'000, .gap_per_byte = 1}, true);
  costs.server.byte = 0.5;
  const std::uint64_t bytes = 1 << 20;
  const auto run =
      run_collective(2, phases_of({.members = 2, .kind = Kind::exchange, .bytes = bytes}), costs);
  ASSERT_TRUE(run);
  // The wire is slower than the processor, which seals and opens beside it: both directions are 0.5 + 0.5.
  EXPECT_GT(run->last, static_cast<Time>(bytes));
  EXPECT_LT(run->last, static_cast<Time>(1.6 * bytes));
}

TEST(Run, is_the_same_each_time) {
  const auto begins = begins_of(300, 10'000);
  const auto phases = phases_of({.members = 300, .kind = Kind::exchange, .bytes = 1'000});
  const auto one = run_collective(300, phases, costs_of(usual, true), {begins});
  const auto other = run_collective(300, phases, costs_of(usual, true), {begins});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->ended, other->ended);
  EXPECT_EQ(one->bytes, other->bytes);
}

}  // namespace
}  // namespace weft::simulation
