// SPDX-License-Identifier: BSD-3-Clause
// Nodes that are lost, and that come back.
#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

using namespace std::chrono_literals;
using LivenessTest = Nodes;

TEST_F(LivenessTest, no_node_reached_nothing_to_watch) {
  pair();
  a->mesh->progress(now);
  EXPECT_EQ(a->mesh->deadline(), TimePoint::max());
  ASSERT_TRUE(a->mesh->connect(1));
  EXPECT_NE(a->mesh->deadline(), TimePoint::max());
}

TEST_F(LivenessTest, the_silent_are_asked_and_answer) {
  pair();
  ASSERT_TRUE(a->mesh->connect(1));
  EXPECT_EQ(a->mesh->state(1), NodeState::reached);
  ASSERT_TRUE(until([&] { return b->mesh->state(0) == NodeState::reached; }))
      << "a node that is asked answers";
  const auto before = network.now();
  pass(60s);
  EXPECT_GT(network.now(), before) << "signs of life went by";
  EXPECT_TRUE(a->lost.empty() && b->lost.empty());
  EXPECT_EQ(a->count + b->count, 0u) << "and no handler noticed";
}

TEST_F(LivenessTest, one_that_says_nothing_is_lost_once) {
  pair();
  auto& sent = keep<Sending>();
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return b->count == 1; }));
  // The peer hangs: the fabric takes what is sent to it, and nothing comes back.
  auto hanging = std::move(stations[1]);
  stations.pop_back();
  pass(3500ms);
  EXPECT_TRUE(a->lost.empty()) << "not before its time";
  pass(2000ms);
  ASSERT_EQ(a->lost.size(), 1u);
  EXPECT_EQ(a->lost[0], "1: nothing was heard of it for too long");
  EXPECT_EQ(a->mesh->state(1), NodeState::lost);
  Sending later;
  EXPECT_EQ(a->mesh->send(1, 1, {}, {}, later).error().code, Errc::peer_lost);
  pass(20s);
  EXPECT_EQ(a->lost.size(), 1u);
  EXPECT_EQ(a->mesh->deadline(), TimePoint::max());
  // The peer wakes up: what it says belongs to an incarnation that is over.
  stations.push_back(std::move(hanging));
  ASSERT_TRUE(b->mesh->send(0, 1, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return a->refused.size() == 1; }));
  EXPECT_EQ(a->count, 0u);
}

/// Nothing gets through, and the card goes on trying.
class NothingArrives : public Nodes {
 protected:
  Transport& transport() override { return faulty_; }

 private:
  sim::SimTransport sim_{network};
  faulty::FaultyTransport faulty_{sim_, {.delay_percent = 100, .delay_rounds = 1'000'000'000}};
};

TEST_F(NothingArrives, and_a_long_message_may_be_too_long_for_a_network_between) {
  pair();
  ASSERT_TRUE(a->mesh->send(1, 1, {}, pattern(2000, 1), keep<Sending>().next()));
  ASSERT_TRUE(b->mesh->send(0, 1, {}, pattern(200, 1), keep<Sending>().next()));
  pass(6s);
  ASSERT_EQ(a->lost.size(), 1u);
  EXPECT_NE(a->lost[0].find("compare the MTUs"), std::string::npos) << a->lost[0];
  EXPECT_EQ(b->lost, std::vector<std::string>{"0: nothing was heard of it for too long"});
}

TEST_F(LivenessTest, a_node_that_was_asleep_itself_blames_no_other) {
  pair();
  ASSERT_TRUE(a->mesh->connect(1));
  ASSERT_TRUE(until([&] { return b->mesh->state(0) == NodeState::reached; }));
  now += 60s;
  pass(3s);
  EXPECT_TRUE(a->lost.empty() && b->lost.empty());
}

TEST_F(LivenessTest, all_work_ends_as_peer_lost_before_the_watcher_hears) {
  pair({.most_in_flight = 4});
  auto exposed_bytes = pattern(100, 1), target = exposed_bytes;
  const auto local = std::move(*a->endpoint->expose(target));
  const auto exposed = std::move(*b->endpoint->expose(exposed_bytes));
  b->mesh->offer(*exposed);
  auto& c = start(2);
  ASSERT_TRUE(a->mesh->add_peer(2, c.mesh->contact()));
  ASSERT_TRUE(c.mesh->expect(0));
  auto contact = b->mesh->contact();
  contact.incarnation = 2;
  auto &to_b = keep<Sending>(), &to_c = keep<Sending>();
  auto& reads = keep<Reading>();
  const auto payload = pattern(300'000, 1);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a->mesh->send(1, 1, {}, payload, to_b.next()));
  ASSERT_TRUE(a->mesh->send(2, 1, {}, payload, to_c.next()));
  network.drop(1, network.now());
  ASSERT_TRUE(until([&] { return a->lost.size() == 1; }));
  EXPECT_EQ(a->lost[0].substr(0, 3), "1: ");
  EXPECT_EQ(to_b.ended(), 20u);
  std::size_t well = 0;
  for (const auto& one : to_b.all) {
    EXPECT_EQ(one.ends, 1u);
    if (one.outcome)
      ++well;
    else
      EXPECT_EQ(one.outcome.error().code, Errc::peer_lost);
  }
  EXPECT_LT(well, 20u);
  EXPECT_EQ(a->mesh->read(1, 0, 0, {*local, 0, 10}, reads.next()).error().code, Errc::peer_lost);
  ASSERT_TRUE(until([&] { return to_c.ended() == 1 && c.count == 1; }));
  EXPECT_TRUE(to_c.each_ended_once_well()) << "others go on";
  EXPECT_EQ(a->mesh->counters().nodes_lost, 1u);
}

TEST_F(LivenessTest, a_node_that_is_started_again_is_another_incarnation) {
  pair();
  auto& sent = keep<Sending>();
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return b->count == 1; }));
  const auto earlier = b->mesh->contact();
  stations.pop_back();  // b dies
  auto& again = start(1, 2);
  ASSERT_TRUE(again.mesh->add_peer(0, a->mesh->contact()));
  ASSERT_TRUE(a->mesh->add_peer(1, again.mesh->contact()));
  ASSERT_TRUE(until([&] { return a->lost.size() == 1; }));
  EXPECT_EQ(a->lost[0], "1: it was started again");
  ASSERT_TRUE(a->mesh->send(1, 1, {}, as_bytes("to the new one"), sent.next()));
  ASSERT_TRUE(again.mesh->send(0, 1, {}, as_bytes("from the new one"), sent.next()));
  ASSERT_TRUE(until([&] { return again.count == 1 && a->count == 1; }));
  EXPECT_EQ(again.heard[0].payload, "to the new one");
  EXPECT_EQ(a->mesh->add_peer(1, earlier).error().code, Errc::denied);
}

TEST_F(LivenessTest, a_life_that_was_lost_does_not_come_back_under_its_name) {
  pair();
  auto& sent = keep<Sending>();
  const auto contact = b->mesh->contact();
  network.drop(1, network.now());
  turn();
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return a->lost.size() == 1; }));
  EXPECT_TRUE(sent.each_ended_once_as(Errc::peer_lost));
  EXPECT_EQ(a->mesh->add_peer(1, contact).error().code, Errc::denied);
  ASSERT_TRUE(a->mesh->expect(1));
  EXPECT_EQ(a->mesh->state(1), NodeState::expected);
  EXPECT_EQ(a->mesh->add_peer(1, contact).error().code, Errc::denied);
  auto& again = start(1, 2);
  ASSERT_TRUE(again.mesh->add_peer(0, a->mesh->contact()));
  ASSERT_TRUE(again.mesh->send(0, 1, {}, as_bytes("hello"), sent.next()));
  ASSERT_TRUE(until([&] { return a->count == 1; }));
  EXPECT_EQ(a->mesh->state(1), NodeState::heard);
  ASSERT_TRUE(a->mesh->add_peer(1, again.mesh->contact()));
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return again.count == 1; }));
}

TEST_F(LivenessTest, one_that_is_expected_may_speak_first) {
  a = &start(0);
  b = &start(1);
  ASSERT_TRUE(a->mesh->expect(1));
  ASSERT_TRUE(b->mesh->add_peer(0, a->mesh->contact()));
  auto& sent = keep<Sending>();
  ASSERT_TRUE(b->mesh->send(0, 1, {}, pack(b->mesh->contact()), sent.next()));
  ASSERT_TRUE(until([&] { return a->count == 1; }));
  const auto contact = unpack_contact(as_bytes(a->heard[0].payload));
  ASSERT_TRUE(contact);
  ASSERT_TRUE(a->mesh->add_peer(1, *contact));
  ASSERT_TRUE(a->mesh->send(1, 1, {}, as_bytes("welcome"), sent.next()));
  ASSERT_TRUE(until([&] { return b->count == 1; }));
  EXPECT_TRUE(a->lost.empty() && b->lost.empty());
}

}  // namespace
}  // namespace weft::mesh
