// SPDX-License-Identifier: BSD-3-Clause
// Messages and reads between nodes that live.
#include <algorithm>
#include <cstring>

#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

std::string text(Bytes bytes) {
  return std::string(as_text(bytes));
}

using MeshTest = Nodes;

TEST_F(MeshTest, a_message_arrives_with_its_sender_and_id) {
  pair();
  auto& sent = keep<Sending>();
  ASSERT_TRUE(a->mesh->send(1, 2, as_bytes("header"), as_bytes("payload"), sent.next()));
  ASSERT_TRUE(until([&] { return b->count == 1 && sent.ended() == 1; }));
  EXPECT_EQ(b->heard[0].from, 0u);
  EXPECT_EQ(b->heard[0].id, 2);
  EXPECT_EQ(b->heard[0].header, "header");
  EXPECT_EQ(b->heard[0].payload, "payload");
  EXPECT_TRUE(sent.each_ended_once_well());
  EXPECT_EQ(a->mesh->counters().messages_sent, 1u);
  EXPECT_EQ(b->mesh->counters().bytes_received, 13u);
}

TEST_F(MeshTest, every_size_arrives_whole_in_one_call) {
  pair();
  const auto most = a->endpoint->capabilities().max_message;
  unsigned seed = 0;
  for (const std::size_t header_bytes : {std::size_t{0}, std::size_t{1}, Sending::max_header}) {
    const auto header = pattern(header_bytes, 99);
    const auto fits = most - Envelope::bytes - header_bytes, piece = fits - base::fixed_bytes<Piece>;
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, fits - 1, fits, fits + 1, piece * 2,
                                   piece * 2 + 1, std::size_t{3'000'001}}) {
      auto& sent = keep<Sending>();
      const auto payload = pattern(size, ++seed);
      b->heard.clear();
      ASSERT_TRUE(a->mesh->send(1, 1, header, payload, sent.next()));
      ASSERT_TRUE(until([&] { return b->heard.size() == 1 && sent.ended() == 1; })) << size;
      EXPECT_TRUE(sent.each_ended_once_well());
      EXPECT_TRUE(b->heard[0].header == text(header) && b->heard[0].payload == text(payload)) << size;
    }
  }
}

TEST_F(MeshTest, what_cannot_be_sent_is_refused) {
  pair({.assemblies = {.most_bytes = 1000}});
  Sending sending;
  const auto long_header = pattern(Sending::max_header + 1, 1), payload = pattern(1001, 1);
  const auto refused = [&](NodeNumber to, std::uint16_t id, Bytes header, Bytes bytes) {
    const auto sent = a->mesh->send(to, id, header, bytes, sending);
    return sent ? Errc::again : sent.error().code;
  };
  EXPECT_EQ(refused(1, 1, long_header, {}), Errc::invalid);
  EXPECT_EQ(refused(1, 1, {}, payload), Errc::invalid);
  EXPECT_EQ(refused(1, Mesh::most_ids, {}, {}), Errc::invalid);
  EXPECT_EQ(refused(2, 1, {}, {}), Errc::not_found);
  EXPECT_EQ(refused(99, 1, {}, {}), Errc::not_found);
  EXPECT_EQ(refused(0, 1, {}, {}), Errc::not_found) << "oneself";
  ASSERT_TRUE(a->mesh->expect(2));
  EXPECT_EQ(refused(2, 1, {}, {}), Errc::not_found);
  EXPECT_EQ(a->mesh->expect(16).error().code, Errc::invalid);
  EXPECT_EQ(a->mesh->add_peer(0, b->mesh->contact()).error().code, Errc::invalid);
  EXPECT_EQ(a->mesh->add_peer(16, b->mesh->contact()).error().code, Errc::invalid);
}

TEST_F(MeshTest, no_handler_listens_for_that_id) {
  pair();
  auto& sent = keep<Sending>();
  ASSERT_TRUE(a->mesh->send(1, 9, {}, {}, sent.next()));
  ASSERT_TRUE(until([&] { return b->refused.size() == 1; }));
  EXPECT_EQ(b->mesh->counters().refused[static_cast<std::size_t>(Refusal::unknown_id)], 1u);
}

TEST_F(MeshTest, reads_of_every_size) {
  auto& reader = start(0);
  auto& owner = start(1);
  auto first = pattern(100, 1), second = pattern(3'000'000, 2);
  std::vector<std::byte> target(second.size() + 10);
  const auto one = std::move(*owner.endpoint->expose(first)),
             two = std::move(*owner.endpoint->expose(second));
  const auto local = std::move(*reader.endpoint->expose(target));
  EXPECT_EQ(owner.mesh->offer(*one), 0);
  EXPECT_EQ(owner.mesh->offer(*two), 1);
  ASSERT_TRUE(reader.mesh->add_peer(1, owner.mesh->contact()));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{65'537}, second.size() - 3}) {
    auto& reads = keep<Reading>();
    ASSERT_TRUE(reader.mesh->read(1, 1, 3, {*local, 7, size}, reads.next()));
    ASSERT_TRUE(until([&] { return reads.ended() == 1; }));
    EXPECT_TRUE(reads.each_ended_once_well());
    EXPECT_TRUE(std::equal(target.begin() + 7, target.begin() + 7 + static_cast<std::ptrdiff_t>(size),
                           second.begin() + 3));
  }
  auto& reads = keep<Reading>();
  ASSERT_TRUE(reader.mesh->read(1, 0, 90, {*local, 0, 11}, reads.next()));
  ASSERT_TRUE(until([&] { return reads.ended() == 1; }));
  EXPECT_FALSE(reads.all[0].outcome);
  EXPECT_EQ(reader.mesh->read(1, 2, 0, {*local, 0, 1}, reads.next()).error().code, Errc::not_found);
  EXPECT_TRUE(reader.lost.empty()) << "a node that reads wrong loses no other";
}

TEST_F(MeshTest, a_slow_node_fills_its_own_queue_only) {
  const Limits limits{.most_work = 100, .most_in_flight = 4};
  a = &start(0, 1, limits);
  b = &start(1, 1, limits);
  auto& c = start(2, 1, limits);
  ASSERT_TRUE(a->mesh->add_peer(1, b->mesh->contact()) && a->mesh->add_peer(2, c.mesh->contact()));
  ASSERT_TRUE(b->mesh->expect(0) && c.mesh->expect(0));
  auto &to_b = keep<Sending>(), &to_c = keep<Sending>();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a->mesh->send(1, 1, {}, as_bytes("b"), to_b.next())) << i;
  Sending one_more;
  EXPECT_EQ(a->mesh->send(1, 1, {}, {}, one_more).error().code, Errc::again);
  ASSERT_TRUE(a->mesh->send(2, 1, {}, as_bytes("c"), to_c.next())) << "the others go on";
  ASSERT_TRUE(until([&] { return to_c.ended() == 1; }));
  ASSERT_TRUE(until([&] { return to_b.ended() == 100 && b->count == 100; }));
  EXPECT_TRUE(to_b.each_ended_once_well());
  auto& later = keep<Sending>();
  EXPECT_TRUE(a->mesh->send(1, 1, {}, {}, later.next()));
  ASSERT_TRUE(until([&] { return later.ended() == 1; }));
}

TEST_F(MeshTest, done_opens_the_next_in_its_own_place) {
  pair({.most_work = 1});
  struct Chain : Sending {
    Mesh* mesh;
    int left = 1000;
  } chain;
  chain.mesh = a->mesh.get();
  chain.done = [](Work& self, Result<void> outcome) noexcept {
    auto& c = static_cast<Chain&>(static_cast<Sending&>(self));
    if (outcome && --c.left > 0) (void)c.mesh->send(1, 1, {}, {}, c);
  };
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, chain));
  ASSERT_TRUE(until([&] { return chain.left == 0 && b->count == 1000; }));
}

TEST_F(MeshTest, a_mesh_that_ends_cancels_its_work) {
  pair({.most_in_flight = 2});
  auto& sent = keep<Sending>();
  const auto payload = pattern(200'000, 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(a->mesh->send(1, 1, {}, payload, sent.next()));
  a->mesh.reset();
  EXPECT_TRUE(sent.each_ended_once_as(Errc::canceled));
  EXPECT_TRUE(a->lost.empty());
  stations.erase(stations.begin());
}

/// A bad day of the fabric: bursts of `again`, and ends and messages that come late.
class BadDay : public Nodes {
 protected:
  Transport& transport() override { return faulty_; }
  /// send(), with the retries that `again` asks for; what went wrong otherwise.
  std::string patiently(Station& from, NodeNumber to, std::uint16_t id, Bytes header, Bytes payload,
                        Kept<Sending>& kept) {
    Sending& sending = kept.next();
    Result<void> sent;
    const bool ended = until([&] {
      sent = from.mesh->send(to, id, header, payload, sending);
      return sent || sent.error().code != Errc::again;
    });
    return !ended ? "`again` for ever" : sent ? "" : sent.error().what;
  }

 private:
  sim::SimTransport sim_{network};
  faulty::FaultyTransport faulty_{sim_, {.seed = 5, .burst_percent = 20, .delay_percent = 30}};
};

/// Endpoints that have no descriptor for a peer at first.
struct Lack : Nodes {
  explicit Lack(unsigned times, Errc why = Errc::os)
      : faulty_(sim_, {.failed_reaches = times, .reach_fails_with = why}) {}
  Transport& transport() override { return lacks_ ? static_cast<Transport&>(faulty_) : sim_; }
  /// Only the first has the lack.
  void pair_with_one_that_reaches() {
    a = &start(0);
    lacks_ = false;
    b = &start(1);
    introduce();
  }
  Errc send() {
    const auto sent = a->mesh->send(1, 1, {}, {}, keep<Sending>().next());
    return sent ? Errc{-1} : sent.error().code;
  }

 private:
  sim::SimTransport sim_{network};
  faulty::FaultyTransport faulty_;
  bool lacks_ = true;
};
struct ShortLack : Lack {
  ShortLack() : Lack(3) {}
};
struct LongLack : Lack {
  LongLack() : Lack(1'000'000) {}
};

struct NoListener : Lack {
  NoListener() : Lack(1, Errc::peer_lost) {}
};

TEST_F(NoListener, is_a_loss_at_once) {
  pair();
  EXPECT_EQ(send(), Errc::peer_lost);
  turn();
  EXPECT_EQ(a->lost, std::vector<std::string>{"1: it cannot be reached"});
  EXPECT_EQ(send(), Errc::peer_lost);
}

TEST_F(NoListener, is_a_loss_after_what_it_had_sent) {
  pair_with_one_that_reaches();
  ASSERT_TRUE(b->mesh->connect(0));  // the answer finds no listener
  ASSERT_TRUE(b->mesh->send(0, 1, {}, as_bytes("the last word"), keep<Sending>().next()));
  EXPECT_TRUE(until([&] { return !a->lost.empty(); }));
  EXPECT_EQ(a->count, 1U);
  EXPECT_TRUE(a->refused.empty());
  EXPECT_EQ(a->lost, std::vector<std::string>{"1: it cannot be reached"});
  EXPECT_EQ(send(), Errc::peer_lost);
}

/// A busy machine: much time passes between two passes, and each brings a message.
TEST_F(NoListener, is_a_loss_after_all_that_it_had_sent_however_long_that_takes) {
  pair_with_one_that_reaches();
  ASSERT_TRUE(b->mesh->connect(0));  // the answer finds no listener
  for (sim::Time later = 1000; later <= 5000; later += 1000) {
    network.delay(1, 0, later);
    ASSERT_TRUE(b->mesh->send(0, 1, {}, as_bytes("a word"), keep<Sending>().next()));
  }
  ASSERT_TRUE(until([&] { return a->count == 1; }));
  for (int passes = 0; passes < 10; ++passes) a->mesh->progress(now += std::chrono::seconds(1));
  EXPECT_EQ(a->count, 5U);
  EXPECT_TRUE(a->refused.empty());
  EXPECT_EQ(a->lost, std::vector<std::string>{"1: it cannot be reached"});
}

TEST_F(ShortLack, of_descriptors_is_waited_for) {
  pair();
  for (int i = 0; i < 3; ++i) {
    turn();
    EXPECT_EQ(send(), Errc::again);
    EXPECT_LE(a->mesh->deadline(), now + std::chrono::milliseconds(50)) << "it is tried again by then";
  }
  EXPECT_EQ(send(), Errc{-1});
  EXPECT_TRUE(until([&] { return b->count == 1; }));
  pass(std::chrono::seconds(10));
  EXPECT_TRUE(a->lost.empty());
}

TEST_F(ShortLack, is_over_without_a_caller_that_tries_again) {
  pair();
  EXPECT_FALSE(a->mesh->connect(1));
  pass(std::chrono::seconds(10));
  EXPECT_TRUE(a->lost.empty());
  EXPECT_EQ(a->mesh->state(1), NodeState::reached);
}

TEST_F(LongLack, of_descriptors_is_a_loss_in_the_end) {
  pair({.lost_after = std::chrono::seconds(4)});
  EXPECT_EQ(send(), Errc::again);
  pass(std::chrono::seconds(3));
  EXPECT_EQ(send(), Errc::again);
  EXPECT_TRUE(a->lost.empty());
  pass(std::chrono::seconds(2));
  EXPECT_EQ(a->lost,
            std::vector<std::string>{"1: this node has no descriptor or memory left to reach it with"});
  EXPECT_EQ(send(), Errc::peer_lost);
  EXPECT_TRUE(b->lost.empty()) << "it was not tried from there";
}

TEST_F(BadDay, messages_of_all_sizes_and_reads_at_once) {
  pair();
  constexpr unsigned count = 3000;
  auto &from_a = keep<Sending>(), &from_b = keep<Sending>();
  a->keeps = false;
  std::vector<std::vector<std::byte>> payloads;
  for (unsigned i = 0; i < count; ++i) payloads.push_back(pattern(i % 100 == 0 ? 150'000 : i % 700, i));
  for (unsigned i = 0; i < count; ++i) {
    const auto number = as_bytes(std::string_view(reinterpret_cast<const char*>(&i), sizeof i));
    ASSERT_EQ(patiently(*a, 1, 1, number, payloads[i], from_a), "") << i;
    ASSERT_EQ(patiently(*b, 0, 2, {}, payloads[i], from_b), "") << i;
  }
  ASSERT_TRUE(until([&] { return b->count == count && a->count == count; }, 3'000'000));
  ASSERT_TRUE(until([&] { return from_a.ended() == count && from_b.ended() == count; }));
  EXPECT_TRUE(from_a.each_ended_once_well() && from_b.each_ended_once_well());
  std::vector<bool> came(count);
  for (const auto& message : b->heard) {
    unsigned i = count;
    ASSERT_EQ(message.header.size(), sizeof i);
    std::memcpy(&i, message.header.data(), sizeof i);
    ASSERT_LT(i, count);
    EXPECT_FALSE(came[i]);
    came[i] = true;
    EXPECT_EQ(message.payload, text(payloads[i]));
  }
  EXPECT_GT(a->mesh->counters().stalls, 0u);
}

}  // namespace
}  // namespace weft::mesh
