// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string>

#include "tests/unit/collectives/engines.hpp"

namespace weft::collectives {
namespace {

constexpr Signature world{1, 2};

/// Lengths of every kind: none, small, longer than what goes at once.
std::size_t length_of(NodeNumber node, std::uint64_t call) {
  constexpr std::size_t lengths[] = {0, 1, 100, 4096, 4097, 50'000, 7};
  return lengths[(node * 3 + call) % std::size(lengths)];
}

void expect_all(const Told& told, const std::vector<NodeNumber>& members, std::uint64_t call) {
  ASSERT_EQ(told.times, 1u);
  ASSERT_FALSE(told.why);
  ASSERT_EQ(told.contributions.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    EXPECT_TRUE(told.contributions[i] == block_of(members[i], call, length_of(members[i], call)))
        << "of node " << members[i] << " in call " << call;
}

std::shared_ptr<const Rule> forced(const char* choice) {
  return std::make_shared<Rule>(*parse_choice(choice));
}

class EveryAlgorithm : public Engines, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(On, EveryAlgorithm,
                         ::testing::Values("bruck", "recursive_doubling", "ring", "tree:1:2", "tree:2",
                                           "tree:4:3"),
                         [](const auto& one) {
                           std::string name(one.param);
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_P(EveryAlgorithm, all_contributions_reach_all_members) {
  for (const NodeNumber nodes : {1u, 2u, 3u, 5u, 8u, 13u}) {
    Engine::Options options{.rule = forced(GetParam())};
    if (nodes > 2) options.most_in_a_message = 10'000;  // some messages in parts
    start(nodes, options, {.seed = nodes, .burst_percent = 10, .delay_percent = 30});
    for (std::uint64_t call = 0; call < 4; ++call)
      for (const auto& node : all)
        node->begin(world, Kind::exchange, all_nodes(),
                    block_of(node->number, call, length_of(node->number, call)));
    ASSERT_TRUE(until([&] { return all_told(); })) << nodes << " nodes";
    for (const auto& node : all)
      for (std::uint64_t call = 0; call < 4; ++call) expect_all(node->told[call], all_nodes(), call);
    all.clear();
  }
}

class EngineTest : public Engines {};

TEST_F(EngineTest, among_few_members_longer_contributions_go_at_once) {
  // 5,000 bytes of each: at once among two, in a second turn among three.
  for (const NodeNumber nodes : {2u, 3u}) {
    start(nodes, {.most_in_all = 10'000});
    for (const auto& node : all)
      node->begin(world, Kind::exchange, all_nodes(), block_of(node->number, 0, 5000));
    ASSERT_TRUE(until([&] { return all_told(); })) << nodes;
    for (const auto& node : all) {
      ASSERT_FALSE(node->told[0].why);
      for (NodeNumber other = 0; other < nodes; ++other)
        EXPECT_TRUE(node->told[0].contributions[other] == block_of(other, 0, 5000));
      EXPECT_EQ(node->mesh->counters().messages_sent, nodes == 2 ? 1u : 4u);
    }
    all.clear();
  }
}

TEST_F(EngineTest, no_node_leaves_a_barrier_before_all_have_come) {
  for (const char* choice : {"dissemination", "dissemination:3", "tree:2"}) {
    start(9, {.rule = forced(choice)});
    for (NodeNumber n = 0; n < 8; ++n) all[n]->begin(world, Kind::barrier, all_nodes(), {});
    for (int i = 0; i < 1000; ++i) turn();
    for (NodeNumber n = 0; n < 8; ++n) ASSERT_EQ(all[n]->told[0].times, 0u) << n;
    all[8]->begin(world, Kind::barrier, all_nodes(), {});
    ASSERT_TRUE(until([&] { return all_told(); }));
    for (const auto& node : all) EXPECT_FALSE(node->told[0].why);
    all.clear();
  }
}

/// Five thousand, one after the other and all over each other, on the same set and on different ones, on a
/// bad day.
TEST_F(EngineTest, five_thousand_back_to_back_and_overlapping) {
  constexpr NodeNumber nodes = 6;
  start(nodes, {}, {.seed = 11, .burst_percent = 5, .delay_percent = 20});
  const std::vector<std::vector<NodeNumber>> sets{
      {0, 1, 2, 3, 4, 5}, {0, 1}, {1, 2, 5}, {0, 3, 4, 5}, {2, 3}};
  std::mt19937 random(5);
  // Each node has its own order of calls among the sets; within a set the calls are in order, up to three at
  // a time.
  std::vector<std::vector<std::uint64_t>> calls(nodes, std::vector<std::uint64_t>(sets.size()));
  std::vector<std::vector<std::deque<Told*>>> open(nodes, std::vector<std::deque<Told*>>(sets.size()));
  constexpr std::uint64_t calls_a_set = 1000;
  const auto is_member = [&](NodeNumber n, std::size_t s) {
    return std::find(sets[s].begin(), sets[s].end(), n) != sets[s].end();
  };
  std::uint64_t ended = 0;
  const auto step = [&] {
    bool all_over = true;
    for (NodeNumber n = 0; n < nodes; ++n) {
      for (std::size_t s = 0; s < sets.size(); ++s) {
        if (!is_member(n, s)) continue;
        auto& mine = open[n][s];
        while (!mine.empty() && mine.front()->times != 0) {
          EXPECT_FALSE(mine.front()->why);
          if (!mine.front()->contributions.empty()) {
            const auto call = calls[n][s] - mine.size();
            if (call % 2 == 0) expect_all(*mine.front(), sets[s], call);
          }
          mine.pop_front();
          ++ended;
        }
        all_over = all_over && mine.empty() && calls[n][s] == calls_a_set;
        if (calls[n][s] == calls_a_set || mine.size() >= 3 || random() % 3 == 0) continue;
        const auto call = calls[n][s]++;
        const Signature signature{s, 77};
        mine.push_back(call % 2 == 0 ? &all[n]->begin(signature, Kind::exchange, sets[s],
                                                      block_of(n, call, length_of(n, call)))
                                     : &all[n]->begin(signature, Kind::barrier, sets[s], {}));
      }
    }
    turn();
    return all_over;
  };
  int turns = 0;
  while (!step() && !HasFailure()) ASSERT_LT(++turns, 2'000'000);
  EXPECT_EQ(ended, calls_a_set * (6 + 2 + 3 + 4 + 2));
  std::uint64_t early = 0;
  for (const auto& node : all) {
    early += node->engine->counters().early;
    EXPECT_EQ(node->engine->counters().malformed + node->engine->counters().late, 0u);
    EXPECT_TRUE(node->engine->open().empty());
  }
  EXPECT_GT(early, 1000u) << "contributions to generations that had not begun";
}

TEST_F(EngineTest, a_lost_node_ends_it_at_all_survivors_by_name) {
  for (const Kind kind : {Kind::barrier, Kind::exchange}) {
    start(8);
    for (NodeNumber n = 0; n < 8; ++n)
      if (n != 5) all[n]->begin(world, kind, all_nodes(), {});
    const std::vector<NodeNumber> others{0, 1, 2};
    for (int i = 0; i < 100; ++i) turn();
    all[5].reset();
    // The nodes that wait for it watch it; no node has heard of it for long enough.
    ASSERT_TRUE(until(
        [&] {
          now += std::chrono::milliseconds(1);
          return all_told();
        },
        20'000));
    for (const auto& node : all) {
      if (node == nullptr) continue;
      EXPECT_EQ(node->told[0].times, 1u);
      ASSERT_TRUE(node->told[0].why);
      EXPECT_EQ(node->told[0].why, Why::lost);
      EXPECT_EQ(node->told[0].lost, 5u) << "at node " << node->number;
    }
    // With it nothing goes on any more; without it all does.
    for (const auto& node : all)
      if (node != nullptr) node->begin(world, kind, all_nodes(), {});
    ASSERT_TRUE(until([&] { return all_told(); }));
    for (const auto& node : all) {
      if (node == nullptr) continue;
      EXPECT_EQ(node->told[1].why, Why::lost);
      EXPECT_EQ(node->told[1].lost, 5u);
    }
    std::vector<Told*> without;
    for (const auto n : others) without.push_back(&all[n]->begin({9, 9}, kind, others, {}));
    ASSERT_TRUE(until([&] { return without[0]->times + without[1]->times + without[2]->times == 3; }));
    for (const auto* told : without) EXPECT_FALSE(told->why);
    all.clear();
  }
}

TEST_F(EngineTest, one_member_ends_it_for_all) {
  start(5);
  for (NodeNumber n = 0; n < 4; ++n) all[n]->begin(world, Kind::exchange, all_nodes(), {});
  for (int i = 0; i < 100; ++i) turn();
  ASSERT_EQ(all[2]->engine->open().size(), 1u);
  EXPECT_FALSE(all[0]->engine->open()[0].waits_for.empty());
  all[2]->engine->abort(world, 1, late);
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (NodeNumber n = 0; n < 4; ++n) EXPECT_EQ(all[n]->told[0].why, late) << n;
  // One that comes late finds it ended, and the next is the next for all.
  all[4]->begin(world, Kind::exchange, all_nodes(), {});
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_EQ(all[4]->told[0].why, late);
  for (const auto& node : all) node->begin(world, Kind::exchange, all_nodes(), block_of(node->number, 9, 10));
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) EXPECT_FALSE(node->told[1].why);
}

/// The parts of all others, which came first, would make an end of it.
TEST_F(EngineTest, what_the_others_have_ended_does_not_end_well_at_a_late_member) {
  for (const NodeNumber nodes : {2u, 3u, 4u, 7u})
    for (const auto kind : {Kind::barrier, Kind::exchange}) {
      start(nodes);
      for (NodeNumber n = 0; n + 1 < nodes; ++n) all[n]->begin(world, kind, all_nodes(), {});
      for (int i = 0; i < 100; ++i) turn();
      all[0]->engine->abort(world, 1, late);
      ASSERT_TRUE(until([&] { return all_told(); }));
      for (int i = 0; i < 100; ++i) turn();
      auto& last = all[nodes - 1]->begin(world, kind, all_nodes(), {});
      EXPECT_FALSE(all[nodes - 1]->engine->is_open(world, 1));
      ASSERT_TRUE(until([&] { return all_told(); }));
      ASSERT_TRUE(last.why) << nodes;
      EXPECT_EQ(last.why, late);
      all.clear();
    }
}

TEST_F(EngineTest, members_that_do_not_agree_are_told_so) {
  start(3);
  all[0]->begin(world, Kind::exchange, all_nodes(), {});
  all[1]->begin(world, Kind::barrier, all_nodes(), {});
  all[2]->begin(world, Kind::exchange, all_nodes(), {});
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) {
    ASSERT_TRUE(node->told[0].why);
    EXPECT_EQ(node->told[0].why, Why::invalid);
  }
}

TEST_F(EngineTest, too_much_that_comes_early_fails_when_it_begins) {
  start(2, {.most_early_bytes = 1000});
  all[0]->begin(world, Kind::exchange, all_nodes(), block_of(0, 0, 3000));
  for (int i = 0; i < 100; ++i) turn();
  all[1]->begin(world, Kind::exchange, all_nodes(), {});
  ASSERT_TRUE(until([&] { return all_told(); })) << "its sender waits for it no longer";
  for (const auto& node : all) EXPECT_EQ(node->told[0].why, Why::no_space) << node->number;
  EXPECT_EQ(all[1]->engine->counters().early_bytes, 0u);
}

/// A member that is ahead by a phase; of one that never gets there, all of its messages.
TEST_F(EngineTest, what_comes_for_a_later_phase_is_bounded_and_given_back) {
  start(3, {.most_early_bytes = 2000});
  all[1]->begin(world, Kind::exchange, all_nodes(), {});
  std::deque<mesh::Sending> sendings;
  const auto ahead = [&](std::size_t bytes) {
    const MessageHeader header{.signature = world,
                               .generation = 1,
                               .blocks = {Index{0}, 1},
                               .members = 3,
                               .kind = Kind::exchange,
                               .phase = 1};
    static const Block payload(2000);
    auto& sending = sendings.emplace_back();
    sending.done = [](mesh::Work&, Result<void>) noexcept {};
    const auto bytes_of_header = base::encode_fixed(header);
    ASSERT_TRUE(all[0]->mesh->send(1, 1, bytes_of_header, Bytes(payload).first(bytes), sending));
    for (int i = 0; i < 10; ++i) turn();
  };
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ahead(500);
    EXPECT_EQ(all[1]->engine->counters().early_bytes, i * (500 + EarlyMessages::overhead));
  }
  for (int i = 0; i < 5; ++i) ahead(500);
  EXPECT_EQ(all[1]->engine->counters().early_bytes, 0u) << "too much: thrown away";
  all[1]->engine->abort(world, 1, late);
  ASSERT_TRUE(until([&] { return all_told(); }));
  ahead(500);
  EXPECT_EQ(all[1]->engine->counters().early_bytes, 0u) << "it has ended";
  TearDown();  // before the sendings
}

TEST_F(EngineTest, a_length_that_no_member_has_is_refused) {
  start(2);
  all[1]->begin(world, Kind::exchange, all_nodes(), {});
  const MessageHeader header{
      .signature = world, .generation = 1, .blocks = {Index{0}, 1}, .members = 2, .kind = Kind::exchange};
  base::Writer table;
  table.u64(~std::uint64_t{0});
  mesh::Sending sending;
  sending.done = [](mesh::Work&, Result<void>) noexcept {};
  const auto bytes_of_header = base::encode_fixed(header);
  ASSERT_TRUE(all[0]->mesh->send(1, 1, bytes_of_header, table.view(), sending));
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_EQ(all[1]->told[0].why, Why::corrupt);
  TearDown();
}

TEST_F(EngineTest, a_member_that_cannot_send_to_another_ends_it_for_those_that_it_reaches) {
  start(4, {.rule = forced("dissemination:1")}, {},
        [](NodeNumber one, NodeNumber other) { return one != 2 || other != 3; });
  for (const auto& node : all) node->begin(world, Kind::barrier, all_nodes(), {});
  ASSERT_TRUE(
      until([&] { return all[0]->told[0].times + all[1]->told[0].times + all[2]->told[0].times == 3; }));
  for (const NodeNumber n : {0u, 1u, 2u}) EXPECT_EQ(all[n]->told[0].why, Why::unreachable) << n;
}

/// What was kept early for a collective is given back when it begins, all of it and no more: neither does the
/// room that is left shrink with each collective that had too much, nor does the account fall below zero and
/// refuse everything.
TEST_F(EngineTest, room_for_early_messages_is_the_same_after_some_were_thrown_away) {
  constexpr NodeNumber nodes = 8, late = 0;
  start(nodes, {.most_early_bytes = 1000});
  const auto round = [&](std::uint64_t call, std::size_t bytes) {
    for (NodeNumber n = 1; n < nodes; ++n)
      all[n]->begin(world, Kind::exchange, all_nodes(), block_of(n, call, bytes));
    for (int i = 0; i < 100; ++i) turn();
    all[late]->begin(world, Kind::exchange, all_nodes(), block_of(late, call, bytes));
    ASSERT_TRUE(until([&] { return all_told(); }));
    for (const auto& node : all) {
      const auto& told = node->told.back();
      ASSERT_EQ(!told.why, bytes < 100) << "call " << call << " at node " << node->number;
      if (told.why) {
        EXPECT_EQ(told.why, Why::no_space);
      }
    }
  };
  std::uint64_t call = 0;
  // The first message alone is too much: nothing is kept but that there was too much.
  for (int i = 0; i < 20; ++i) round(call++, 2000);
  round(call++, 10);
  // The third message is too much: two are thrown away.
  for (int i = 0; i < 20; ++i) round(call++, 110);
  round(call++, 10);
  for (const auto& node : all) EXPECT_EQ(node->engine->counters().early_bytes, 0u) << node->number;
}

TEST_F(EngineTest, one_that_two_members_refuse_has_the_end_of_the_first) {
  start(3);
  all[2]->refuse(world, all_nodes(), denied);
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (int i = 0; i < 100; ++i) turn();
  all[0]->refuse(world, all_nodes(), Why::lost);
  all[1]->begin(world, Kind::barrier, all_nodes(), {});
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) {
    EXPECT_EQ(node->told[0].why, denied) << node->number;
    EXPECT_EQ(node->engine->counters().early_bytes, 0u) << node->number;
  }
}

/// Neither has heard of the other. The lowest member has not begun it, has begun it, or refuses it, too.
TEST_F(EngineTest, of_refusals_at_a_time_the_lowest_member_takes_one_for_all) {
  start(4);
  for (unsigned call = 0; call < 3; ++call) {
    if (call == 1) all[0]->begin(world, Kind::exchange, all_nodes(), {});
    if (call == 2) all[0]->refuse(world, all_nodes(), denied);
    all[1]->begin(world, Kind::exchange, all_nodes(), {});
    all[2]->refuse(world, all_nodes(), Why::unreachable);
    all[3]->refuse(world, all_nodes(), Why::lost);
    ASSERT_TRUE(until([&] { return all_told(); })) << call;
    for (int i = 0; i < 100; ++i) turn();
    if (call == 0) all[0]->begin(world, Kind::exchange, all_nodes(), {});
    ASSERT_TRUE(until([&] { return all_told(); })) << call;
    const auto end = all[0]->told[call].why;
    for (const auto& node : all) {
      EXPECT_EQ(node->told[call].times, 1u) << call << ", node " << node->number;
      EXPECT_EQ(node->told[call].why, end) << call << ", node " << node->number;
      EXPECT_EQ(node->engine->counters().early_bytes, 0u) << node->number;
      EXPECT_EQ(node->engine->counters().malformed, 0u) << node->number;
    }
  }
}

/// What it says is not heard any more: the survivors agree.
TEST_F(EngineTest, a_refusal_at_a_lowest_member_that_is_lost_ends_as_the_survivors_agree) {
  start(3);
  agrees_on_losses = true;
  all[1]->begin(world, Kind::barrier, all_nodes(), {});
  all[0].reset();
  auto& refused = all[2]->refuse(world, all_nodes(), denied, AfterLoss::fails);
  ASSERT_TRUE(until([&] { return all_told(); }, 5'000'000));
  EXPECT_EQ(refused.why, Why::lost);
  EXPECT_EQ(refused.lost, 0u);
  EXPECT_EQ(all[1]->told[0].why, Why::lost);
}

TEST_F(EngineTest, early_messages_of_a_collective_with_a_lost_member_are_given_back) {
  start(3, {.most_early_bytes = 600});
  for (const NodeNumber n : {0u, 1u}) all[n]->begin(world, Kind::barrier, all_nodes(), {});
  for (int i = 0; i < 100; ++i) turn();
  all[2].reset();
  const auto is_lost_at = [&](NodeNumber n) { return all[n]->mesh->state(2) == mesh::NodeState::lost; };
  ASSERT_TRUE(until(
      [&] {
        now += std::chrono::milliseconds(1);
        return is_lost_at(0) && is_lost_at(1) && all_told();
      },
      20'000));
  for (int i = 0; i < 10; ++i) {
    all[1]->begin({3, 3}, Kind::barrier, all_nodes(), {});
    for (int t = 0; t < 100; ++t) turn();  // it fails at once, and tells node 0 early
    all[0]->begin({3, 3}, Kind::barrier, all_nodes(), {});
    ASSERT_TRUE(until([&] { return all_told(); }));
    EXPECT_EQ(all[0]->told.back().why, Why::lost);
  }
  all[1]->begin({4, 4}, Kind::exchange, {0, 1}, {});
  for (int i = 0; i < 100; ++i) turn();
  all[0]->begin({4, 4}, Kind::exchange, {0, 1}, {});
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_FALSE(all[0]->told.back().why);
  EXPECT_EQ(all[0]->engine->counters().early_bytes, 0u);
}

/// A collective of three nodes: one has ended it well, one is lost then, and node 0 has not looked at what
/// came.
class Undecided : public EngineTest {
 protected:
  void end_at_one_of_two(Kind kind, std::size_t bytes) {
    // By the algorithms of three, the one that needs of node 0 what it sends at its begin.
    ended_ = kind == Kind::barrier ? 1 : 2;
    lost_ = 3 - ended_;
    agrees_on_losses = false;
    start(3, {.most_at_once = Past::most_bytes});
    for (NodeNumber n = 0; n < 3; ++n)
      all[n]->begin(world, kind, all_nodes(), kind == Kind::barrier ? Block() : block_of(n, 0, bytes));
    for (int i = 0; i < 1000 && all[ended_]->told[0].times == 0; ++i)
      for (const NodeNumber n : {1u, 2u}) {
        all[n]->mesh->progress(now);
        all[n]->engine->progress();
      }
    ASSERT_EQ(all[ended_]->told[0].times, 1u);
    ASSERT_EQ(all[0]->told[0].times, 0u);
    all[lost_].reset();
    for (const auto n : {NodeNumber{0}, ended_}) all[n]->engine->suspend(lost_);
  }
  const Engine::Key key_{world, 1};
  NodeNumber ended_ = 0, lost_ = 0;
};

TEST_F(Undecided, nothing_but_the_decision_ends_it) {
  end_at_one_of_two(Kind::barrier, 0);
  EXPECT_TRUE(all[0]->engine->has_undecided());
  EXPECT_FALSE(all[ended_]->engine->has_undecided());
  all[0]->engine->abort(world, 1, late);
  all[ended_]->engine->abort(world, 1, late);
  for (int i = 0; i < 1000; ++i) turn();
  EXPECT_EQ(all[0]->told[0].times, 0u);
  const auto undecided = all[0]->engine->account({{lost_}}).undecided;
  ASSERT_EQ(undecided.size(), 1u);
  EXPECT_EQ(undecided[0].lost, lost_);
  const auto ended = all[ended_]->engine->account({{lost_}}).ended;
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].is_well, 1);
  EXPECT_TRUE(all[ended_]->engine->account({{7}}).ended.empty());
  all[0]->engine->settle(ended[0], nullptr);
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_FALSE(all[0]->told[0].why);
  EXPECT_FALSE(all[0]->told[0].is_without_data) << "a barrier has none";
}

TEST_F(Undecided, it_ends_with_what_another_node_has) {
  end_at_one_of_two(Kind::exchange, 100);
  EXPECT_TRUE(all[0]->engine->has_data(key_));
  EXPECT_EQ(all[0]->engine->result_of(key_), nullptr);
  const auto* const there = all[ended_]->engine->result_of(key_);
  ASSERT_NE(there, nullptr);
  auto copy = *there;
  all[0]->engine->settle(all[ended_]->engine->account({{lost_}}).ended.front(), &copy);
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_EQ(all[0]->told[0].contributions, all[ended_]->told[0].contributions);
  EXPECT_FALSE(all[0]->told[0].is_without_data);
}

TEST_F(Undecided, it_ends_without_what_no_node_has_kept) {
  end_at_one_of_two(Kind::exchange, Past::most_bytes / 2);
  EXPECT_EQ(all[ended_]->engine->result_of(key_), nullptr);
  all[0]->engine->settle(all[ended_]->engine->account({{lost_}}).ended.front(), nullptr);
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_FALSE(all[0]->told[0].why);
  EXPECT_TRUE(all[0]->told[0].is_without_data);
}

TEST_F(EngineTest, one_that_begins_after_the_loss_waits_for_what_was_agreed_on_unless_nothing_follows) {
  agrees_on_losses = false;
  start(3);
  all[2].reset();
  for (const NodeNumber n : {0u, 1u}) {
    static_cast<void>(all[n]->mesh->exclude(2, "a test"));
    all[n]->engine->suspend(2);
  }
  all[0]->begin(world, Kind::barrier, all_nodes(), {});
  EXPECT_FALSE(all[0]->engine->has_undecided()) << "it fails at once";
  EXPECT_FALSE(all[0]->engine->take_begun_undecided());
  std::optional<Loss> lost;
  const Signature group{9, 9};
  ASSERT_TRUE(all[0]->engine->begin(
      group, Kind::barrier, all_nodes(), {}, [&](const Outcome& outcome) { lost = outcome.lost; },
      AfterLoss::asks));
  EXPECT_TRUE(all[0]->engine->take_begun_undecided());
  EXPECT_FALSE(all[0]->engine->take_begun_undecided());
  all[0]->engine->abort(group, 1, late);
  ASSERT_TRUE(until([&] { return all[0]->told[0].times == 1; }));
  EXPECT_FALSE(lost);
  const auto undecided = all[0]->engine->account({{2}}).undecided;
  ASSERT_EQ(undecided.size(), 1u);
  EXPECT_EQ(undecided[0].after_loss, AfterLoss::asks);
  EXPECT_EQ(undecided[0].first, 0u);
  all[0]->engine->settle({group, 1, Why::lost, 0, 2, AfterLoss::goes_on, 1}, nullptr);
  ASSERT_TRUE(until([&] { return lost.has_value(); }));
  EXPECT_EQ(lost->node, 2u);
  EXPECT_EQ(lost->agreed, AfterLoss::goes_on);
  EXPECT_EQ(lost->first, 1u);
  EXPECT_EQ(all[0]->engine->account({{2}}).ended.back().after_loss, AfterLoss::goes_on)
      << "for those that come later";
}

/// Of two that have all parts one gives the collective up, and the other has ended it well.
TEST_F(EngineTest, what_a_member_gives_up_ends_well_where_another_has_ended_it_so) {
  start(2);
  for (const auto& node : all) node->begin(world, Kind::barrier, all_nodes(), {});
  for (int i = 0; i < 1000 && all[1]->told[0].times == 0; ++i) {
    all[1]->mesh->progress(now);
    all[1]->engine->progress();
  }
  ASSERT_EQ(all[1]->told[0].times, 1u);
  const GivenUp given_up{world, 1, late};
  for (const auto& node : all) node->engine->give_up(given_up);
  EXPECT_TRUE(all[1]->engine->given_up().empty()) << "it has ended here";
  ASSERT_EQ(all[0]->engine->given_up().size(), 1u);
  all[0]->engine->abort(world, 1, Why::invalid);
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(all[0]->told[0].times, 0u);
  EXPECT_TRUE(all[0]->engine->account({{1}}).undecided[0].why == Why::lost) << "a loss comes first";
  const auto here = all[0]->engine->account({{}, {given_up}}),
             there = all[1]->engine->account({{}, {given_up}});
  ASSERT_EQ(here.undecided.size(), 1u);
  EXPECT_EQ(here.undecided[0].why, late);
  EXPECT_EQ(here.undecided[0].lost, MessageHeader::no_node);
  ASSERT_EQ(there.ended.size(), 1u);
  EXPECT_EQ(there.ended[0].is_well, 1);
  all[0]->engine->settle(there.ended[0], nullptr);
  ASSERT_TRUE(until([&] { return all_told(); }));
  EXPECT_FALSE(all[0]->told[0].why);
  EXPECT_TRUE(all[0]->engine->given_up().empty());
}

TEST_F(EngineTest, what_was_given_up_before_it_begins_waits_and_hears_its_end_when_it_begins_later) {
  start(2);
  const Signature other{8, 8};
  all[0]->begin(world, Kind::barrier, all_nodes(), {});
  all[0]->begin(other, Kind::barrier, all_nodes(), {});
  for (int i = 0; i < 100; ++i) turn();
  for (const auto& node : all) {
    node->engine->give_up({world, 1, late});
    node->engine->give_up({other, 1, late});
  }
  all[1]->begin(world, Kind::barrier, all_nodes(), {});
  EXPECT_TRUE(all[1]->engine->take_begun_undecided());
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(all[1]->told[0].times, 0u) << "all parts are here";
  for (const auto& node : all)
    for (const auto& signature : {world, other})
      node->engine->settle({signature, 1, late, 0, MessageHeader::no_node, AfterLoss::ends, 0}, nullptr);
  for (const auto& node : all) EXPECT_TRUE(node->engine->given_up().empty());
  all[1]->begin(other, Kind::barrier, all_nodes(), {});
  EXPECT_FALSE(all[1]->engine->take_begun_undecided());
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all)
    for (const auto& told : node->told) EXPECT_EQ(told.why, late);
}

/// As a node that is no member of it: another view is about others.
TEST_F(EngineTest, what_was_given_up_and_has_not_begun_is_forgotten_with_the_next_view) {
  start(2);
  all[1]->engine->give_up({world, 1, late});
  EXPECT_TRUE(all[1]->engine->given_up().empty()) << "it has not begun";
  static_cast<void>(all[1]->engine->account({{}, {{world, 1, late}}}));
  static_cast<void>(all[1]->engine->account({}));
  for (const auto& node : all) node->begin(world, Kind::barrier, all_nodes(), {});
  EXPECT_FALSE(all[1]->engine->take_begun_undecided());
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) EXPECT_FALSE(node->told[0].why);
}

TEST_F(EngineTest, a_refusal_of_what_was_given_up_waits_for_its_end) {
  start(2);
  all[0]->begin(world, Kind::barrier, all_nodes(), {});
  for (const auto& node : all) node->engine->give_up({world, 1, late});
  std::optional<Why> why;
  ASSERT_TRUE(all[1]->engine->refuse(world, all_nodes(), unknown,
                                     [&](const Outcome& outcome) { why = outcome.why; }));
  EXPECT_TRUE(all[1]->engine->take_begun_undecided());
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_FALSE(why);
  for (const auto& node : all) node->engine->settle({world, 1, late}, nullptr);
  ASSERT_TRUE(until([&] { return why.has_value() && all_told(); }));
  EXPECT_EQ(why, late);
}

TEST_F(EngineTest, of_a_signature_the_end_that_others_may_not_know_is_remembered) {
  start(2);
  for (int call = 0; call < 5; ++call)
    for (const auto& node : all) node->begin(world, Kind::barrier, all_nodes(), {});
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) {
    const auto ended = node->engine->account({{0}}).ended;
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].generation, 5u);
  }
  for (std::uint64_t i = 0; i < Past::most_ends + 5; ++i) {
    for (const auto& node : all) node->begin({i, 77}, Kind::barrier, all_nodes(), {});
    ASSERT_TRUE(until([&] { return all_told(); }));
  }
  EXPECT_EQ(all[0]->engine->account({{0}}).ended.size(), Past::most_ends);
}

TEST_F(EngineTest, what_was_contributed_last_is_kept) {
  start(2, {.most_at_once = Past::most_bytes});
  // Three of these are more than is kept.
  const auto bytes = Past::most_bytes / 5;
  for (std::uint64_t i = 0; i < 5; ++i) {
    for (const auto& node : all)
      node->begin({i, 1}, Kind::exchange, all_nodes(), block_of(node->number, i, bytes));
    ASSERT_TRUE(until([&] { return all_told(); }));
  }
  const auto is_kept = [&](std::uint64_t i) { return all[0]->engine->result_of({{i, 1}, 1}) != nullptr; };
  EXPECT_TRUE(is_kept(4) && is_kept(3));
  EXPECT_FALSE(is_kept(2) || is_kept(0));
  EXPECT_EQ(all[0]->engine->account({{1}}).ended.size(), 5u);
}

TEST_F(EngineTest, of_many_small_ones_what_was_contributed_last_is_kept) {
  start(2);
  for (std::uint64_t i = 0; i <= Past::most_with_data; ++i) {
    for (const auto& node : all)
      node->begin({i, 1}, Kind::exchange, all_nodes(), block_of(node->number, i, 1));
    ASSERT_TRUE(until([&] { return all_told(); }));
  }
  const auto is_kept = [&](std::uint64_t i) { return all[0]->engine->result_of({{i, 1}, 1}) != nullptr; };
  EXPECT_FALSE(is_kept(0));
  EXPECT_TRUE(is_kept(1) && is_kept(Past::most_with_data));
  EXPECT_EQ(all[0]->engine->account({{1}}).ended.size(), Past::most_with_data + 1);
}

TEST_F(EngineTest, what_cannot_begin_is_refused) {
  start(3);
  const auto refused = [&](Kind kind, const std::vector<NodeNumber>& members, Block contribution) {
    const auto begun =
        all[0]->engine->begin(world, kind, members, std::move(contribution), [](const Outcome&) {});
    return !begun && begun.error().code == Errc::invalid;
  };
  EXPECT_TRUE(refused(Kind::barrier, {1, 2}, {}));
  EXPECT_TRUE(refused(Kind::barrier, {0, 2, 1}, {}));
  EXPECT_TRUE(refused(Kind::barrier, {0, 0, 1}, {}));
  EXPECT_TRUE(refused(Kind::barrier, {}, {}));
  EXPECT_TRUE(refused(Kind::barrier, {0, 1}, Block(1)));
}

TEST_F(EngineTest, noise_from_a_node_that_has_the_key_ends_nothing_of_others) {
  start(2);
  std::mt19937 random(3);
  std::deque<mesh::Sending> sendings;
  std::deque<Block> noises;
  for (unsigned i = 0; i < 2000; ++i) {
    const Bytes noise = noises.emplace_back(block_of(i, 1, random() % 64));
    auto& sending = sendings.emplace_back();
    sending.done = [](mesh::Work&, Result<void>) noexcept {};
    ASSERT_TRUE(until([&] { return all[0]->mesh->send(1, 1, noise, noise, sending).has_value(); }));
  }
  for (int i = 0; i < 1000; ++i) turn();
  EXPECT_GT(all[1]->engine->counters().malformed, 1000u);
  for (const auto& node : all) node->begin(world, Kind::exchange, all_nodes(), block_of(node->number, 0, 10));
  ASSERT_TRUE(until([&] { return all_told(); }));
  for (const auto& node : all) EXPECT_FALSE(node->told[0].why);
  TearDown();  // before the sendings
}

TEST(Choice, texts) {
  for (const char* text : {"bruck", "recursive_doubling", "ring", "tree:4:1", "tree:7:3", "dissemination:1",
                           "dissemination:3"}) {
    const auto choice = parse_choice(text);
    ASSERT_TRUE(choice) << text;
    EXPECT_EQ(to_text(*choice), text);
  }
  EXPECT_EQ(to_text(*parse_choice("tree")), "tree:4:1");
  for (const char* text :
       {"", "brucks", "bruck:2", "tree:", "tree:0", "tree:2:3:4", "tree:x", "tree:70000", "dissemination:-1"})
    EXPECT_FALSE(parse_choice(text)) << text;
}

}  // namespace
}  // namespace weft::collectives
