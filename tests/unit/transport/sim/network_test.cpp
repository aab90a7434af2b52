// SPDX-License-Identifier: BSD-3-Clause
// What the contract does not say of the simulated network: time, faults, repeatability, size.
#include "transport/sim/network.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <vector>

#include "transport/sim/endpoint.hpp"

namespace weft::sim {
namespace {

struct Arrival {
  Time at;
  Node to;
  std::uint16_t id;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

/// Some endpoints on one network, and a record of what arrived when.
class World {
 public:
  World(const Parameters& parameters, Node nodes) : network(parameters) {
    for (Node node = 0; node < nodes; ++node) {
      auto& station = stations_.emplace_back(std::make_unique<Station>());
      station->world = this;
      station->node = node;
      station->endpoint = std::make_unique<SimEndpoint>(network);
      station->endpoint->on_message(
          [](void* self, std::uint16_t id, const Message&) noexcept {
            auto& s = *static_cast<Station*>(self);
            s.world->arrivals.push_back({s.world->network.now(), s.node, id});
          },
          station.get());
    }
  }
  SimEndpoint& operator[](Node node) { return *stations_[node]->endpoint; }
  std::unique_ptr<Peer> reach(Node from, Node to) {
    return std::move(*(*this)[from].reach((*this)[to].address()));
  }

  Completion& completion() {
    auto& c = ends_.emplace_back(std::make_unique<Ended>());
    c->world = this;
    c->done = [](Completion& self, Result<void> outcome) noexcept {
      auto& ended = static_cast<Ended&>(self);
      ended.world->ends.push_back(
          {ended.world->network.now(), outcome ? std::optional<Errc>() : outcome.error().code});
    };
    return *c;
  }
  void run() {
    while (network.step()) {
    }
  }

  struct End {
    Time at;
    std::optional<Errc> error;
  };
  Network network;
  std::vector<Arrival> arrivals;
  std::vector<End> ends;

 private:
  struct Station {
    World* world;
    Node node;
    std::unique_ptr<SimEndpoint> endpoint;
  };
  struct Ended : Completion {
    World* world;
  };
  std::vector<std::unique_ptr<Station>> stations_;
  std::vector<std::unique_ptr<Ended>> ends_;
};

Parameters log_gp() {
  Parameters p;
  p.message = {.latency = 1000, .overhead = 100, .gap = 300, .gap_per_byte = 0.5};
  p.get = {.latency = 800, .overhead = 50, .gap = 10, .gap_per_byte = 0.25};
  return p;
}

const std::vector<std::byte> bytes_200(200);

TEST(SimNetwork, a_message_takes_what_log_gp_says) {
  World world(log_gp(), 2);
  const auto peer = world.reach(0, 1);
  ASSERT_TRUE(world[0].send(*peer, 1, {{}, bytes_200}, world.completion()));
  ASSERT_TRUE(world[0].send(*peer, 2, {{}, {}}, world.completion()));
  world.run();
  // o + L + k G + o; the second leaves a gap later.
  EXPECT_EQ(world.arrivals,
            (std::vector<Arrival>{{100 + 1000 + 100 + 100, 1, 1}, {300 + 100 + 1000 + 100, 1, 2}}));
  ASSERT_EQ(world.ends.size(), 2u);
  EXPECT_EQ(world.ends[0].at, 100 + 100);  // it has left when its bytes have
}

TEST(SimNetwork, a_get_is_a_request_and_a_reply) {
  World world(log_gp(), 2);
  std::vector<std::byte> source(400, std::byte{7}), target(400);
  const auto exposed = std::move(*world[1].expose(source)), local = std::move(*world[0].expose(target));
  const auto peer = world.reach(0, 1);
  const auto key = std::move(*world[0].import_key(*peer, exposed->packed_key()));
  ASSERT_TRUE(world[0].get({*key, 0}, {*local, 0, 400}, world.completion()));
  world.run();
  ASSERT_EQ(world.ends.size(), 1u);
  EXPECT_EQ(world.ends[0].at, (50 + 800 + 50) + (50 + 100 + 800 + 50));
  EXPECT_EQ(target, source);
}

TEST(SimNetwork, serial_cards_make_bytes_wait_for_each_other) {
  auto parameters = log_gp();
  parameters.message.gap = 0;
  parameters.serial_nics = true;
  World world(parameters, 3);
  const auto from_0 = world.reach(0, 2), from_1 = world.reach(1, 2);
  ASSERT_TRUE(world[0].send(*from_0, 1, {{}, bytes_200}, world.completion()));
  ASSERT_TRUE(world[1].send(*from_1, 2, {{}, bytes_200}, world.completion()));
  world.run();
  // Both messages are there at 1300 by themselves; the second waits for the 100 that the first keeps the
  // receiver's wire.
  EXPECT_EQ(world.arrivals, (std::vector<Arrival>{{1300, 2, 1}, {1400, 2, 2}}));
}

TEST(SimNetwork, jitter_reorders_between_peers_only) {
  auto parameters = log_gp();
  parameters.jitter = 5000;
  World world(parameters, 5);
  std::vector<std::unique_ptr<Peer>> peers;
  for (Node from = 0; from < 4; ++from) peers.push_back(world.reach(from, 4));
  for (std::uint16_t i = 0; i < 200; ++i)
    ASSERT_TRUE(world[i % 4].send(*peers[i % 4], i, {{}, {}}, world.completion()));
  world.run();
  ASSERT_EQ(world.arrivals.size(), 200u);
  int last[4] = {-1, -1, -1, -1};
  bool reordered = false;
  for (std::size_t i = 0; i < world.arrivals.size(); ++i) {
    const int id = world.arrivals[i].id;
    EXPECT_GT(id, last[id % 4]);
    last[id % 4] = id;
    reordered = reordered || id != static_cast<int>(i);
  }
  EXPECT_TRUE(reordered);
}

TEST(SimNetwork, a_run_repeats_itself_under_its_seed) {
  const auto run = [](std::uint64_t seed) {
    auto parameters = log_gp();
    parameters.jitter = 3000;
    parameters.seed = seed;
    World world(parameters, 6);
    std::vector<std::unique_ptr<Peer>> peers;
    for (Node from = 0; from < 6; ++from) peers.push_back(world.reach(from, (from + 1) % 6));
    for (std::uint16_t i = 0; i < 300; ++i)
      (void)world[i % 6].send(*peers[i % 6], i, {{}, bytes_200}, world.completion());
    world.network.drop(3, 20'000);
    world.run();
    return world.arrivals;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(SimNetwork, a_dropped_node_is_lost_for_all) {
  World world(log_gp(), 3);
  std::vector<std::byte> source(64), target(64);
  const auto exposed = std::move(*world[1].expose(source)), local = std::move(*world[0].expose(target));
  const auto peer = world.reach(0, 1), other = world.reach(0, 2);
  const auto key = std::move(*world[0].import_key(*peer, exposed->packed_key()));
  world.network.drop(1, 0);
  world.network.advance();
  ASSERT_TRUE(world[0].send(*peer, 1, {{}, {}}, world.completion()));
  ASSERT_TRUE(world[0].get({*key, 0}, {*local, 0, 8}, world.completion()));
  ASSERT_TRUE(world[0].send(*other, 2, {{}, {}}, world.completion()));
  world.run();
  ASSERT_EQ(world.ends.size(), 3u);
  int lost = 0;
  for (const auto& end : world.ends) lost += end.error == Errc::peer_lost;
  EXPECT_EQ(lost, 2);
  ASSERT_EQ(world.arrivals.size(), 1u);
  EXPECT_EQ(world.arrivals[0].to, 2u);
}

TEST(SimNetwork, a_delay_holds_between_two_nodes) {
  World world(log_gp(), 3);
  world.network.delay(0, 1, 50'000);
  const auto slow = world.reach(0, 1), fast = world.reach(0, 2);
  ASSERT_TRUE(world[0].send(*slow, 1, {{}, {}}, world.completion()));
  ASSERT_TRUE(world[0].send(*fast, 2, {{}, {}}, world.completion()));
  world.run();
  EXPECT_EQ(world.arrivals, (std::vector<Arrival>{{300 + 1200, 2, 2}, {1200 + 50'000, 1, 1}}));
}

TEST(SimNetwork, a_hundred_thousand_endpoints_fit) {
  constexpr Node nodes = 100'000;
  const auto before = ::mallinfo2();
  {
    Network network(log_gp());
    std::vector<std::unique_ptr<SimEndpoint>> endpoints;
    std::vector<std::unique_ptr<Peer>> peers;
    for (Node i = 0; i < nodes; ++i) endpoints.push_back(std::make_unique<SimEndpoint>(network));
    for (Node i = 0; i < nodes; ++i)
      peers.push_back(std::move(*endpoints[i]->reach(endpoints[(i + 1) % nodes]->address())));
    std::size_t heard = 0;
    std::vector<Completion> completions(nodes);
    for (Node i = 0; i < nodes; ++i) {
      endpoints[i]->on_message(
          [](void* self, std::uint16_t, const Message&) noexcept { ++*static_cast<std::size_t*>(self); },
          &heard);
      completions[i].done = [](Completion&, Result<void>) noexcept {};
      ASSERT_TRUE(endpoints[i]->send(*peers[i], 1, {{}, {}}, completions[i]));
    }
    const auto now = ::mallinfo2();
    EXPECT_LT(now.uordblks + now.hblkhd - before.uordblks - before.hblkhd, std::size_t{2} << 30);
    while (network.step()) {
    }
    EXPECT_EQ(heard, nodes);
  }
}

/// An idle peer costs its object; the figure that the design allows a transport of ours is 512 bytes.
static_assert(sizeof(SimPeer) <= 512);

}  // namespace
}  // namespace weft::sim
