// SPDX-License-Identifier: BSD-3-Clause
// The tree down which events go from node to node, whichever node is lost and when.
#include "core/server/events/tree_relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace weft::server {
namespace {

using Counts = std::vector<int>;

/// How often each of `count` nodes is in the tree of `root`.
Counts reached(NodeNumber root, NodeNumber count) {
  Counts times(count, 0);
  std::deque<NodeNumber> open{root};
  while (!open.empty()) {
    const auto at = open.front();
    open.pop_front();
    for (const auto next : nodes_below(at, root, count)) {
      ++times[next];
      open.push_back(next);
    }
  }
  ++times[root];
  return times;
}

TEST(Tree, has_every_node_once_below_its_root_whatever_their_number) {
  for (NodeNumber count = 1; count <= 100; ++count)
    for (NodeNumber root = 0; root < count; ++root)
      ASSERT_EQ(reached(root, count), Counts(count, 1)) << count << " nodes, from " << root;
}

TEST(Tree, is_four_wide) {
  EXPECT_EQ(nodes_below(0, 0, 300), (std::vector<NodeNumber>{1, 2, 3, 4}));
  EXPECT_EQ(nodes_below(5, 5, 7), (std::vector<NodeNumber>{6, 0, 1, 2}));
  EXPECT_EQ(nodes_below(6, 5, 7), (std::vector<NodeNumber>{3, 4}));
  EXPECT_TRUE(nodes_below(0, 0, 1).empty());
  EXPECT_TRUE(nodes_below(3, 0, 4).empty());
}

/// Servers that speak to each other in turns: each turn hands over one request or reply.
class Net {
 public:
  explicit Net(NodeNumber count) : is_alive(count, true), got(count) {
    for (NodeNumber node = 0; node < count; ++node)
      relays.push_back(std::make_unique<TreeRelay>(
          node, count, 1, [this](NodeNumber other) { return is_alive[other]; },
          [this, node](NodeNumber to, std::vector<std::byte> message, TreeRelay::Sent sent) {
            open[next_id] = {node, to, std::move(sent)};
            queue.push_back({next_id++, std::move(message), true});
          },
          [this, node](Bytes body) { got[node].push_back(std::to_integer<int>(body[0])); }));
  }
  ~Net() { open.clear(); }

  void raise(NodeNumber from, int what) { raise(from, {static_cast<std::byte>(what)}, nullptr); }
  void raise(NodeNumber from, std::vector<std::byte> body, std::function<void()> taken) {
    relays[from]->spread(std::move(body), std::move(taken));
  }
  /// False: nothing is under way.
  bool turn() {
    if (queue.empty()) return false;
    auto [id, message, is_request] = std::move(queue.front());
    queue.pop_front();
    const auto found = open.find(id);
    if (found == open.end()) return true;  // of a request whose sender or receiver is lost
    if (!is_request) return end(id, true), true;
    const auto done = [this, id = id] { queue.push_back({id, {}, false}); };
    EXPECT_TRUE(relays[found->second.to]->receive(message, done));
    return true;
  }
  void run() {
    while (turn()) {
    }
  }
  /// Messages that the node has not handed over go with it; those that others have sent to it, and that it
  /// has not replied to, come back to them.
  void kill(NodeNumber node) {
    is_alive[node] = false;
    std::vector<std::uint64_t> broken;
    for (const auto& [id, request] : open)
      if (request.from == node || request.to == node) broken.push_back(id);
    for (const auto id : broken) end(id, false);
  }

  std::vector<bool> is_alive;
  std::vector<std::vector<int>> got;

 private:
  struct Request {
    NodeNumber from = 0, to = 0;
    TreeRelay::Sent sent;
  };
  struct Turn {
    std::uint64_t id;
    std::vector<std::byte> message;
    bool is_request;
  };
  void end(std::uint64_t id, bool has_arrived) {
    const auto request = std::move(open.at(id));
    open.erase(id);
    if (is_alive[request.from]) request.sent(has_arrived);
  }
  std::vector<std::unique_ptr<TreeRelay>> relays;
  std::map<std::uint64_t, Request> open;
  std::deque<Turn> queue;
  std::uint64_t next_id = 0;
};

TEST(TreeRelay, every_other_node_gets_each_message_once_and_in_order) {
  for (const NodeNumber count : {1u, 2u, 5u, 6u, 21u, 22u, 100u}) {
    Net net(count);
    for (const int what : {1, 2, 3}) net.raise(count / 2, what);
    net.run();
    for (NodeNumber node = 0; node < count; ++node)
      EXPECT_EQ(net.got[node], node == count / 2 ? std::vector<int>() : (std::vector<int>{1, 2, 3}))
          << node << " of " << count;
  }
}

TEST(TreeRelay, one_that_is_known_to_be_lost_is_passed_over_whatever_their_number) {
  // All small ones; of the large ones those about 1 + 4 + 16 + 64, where the tree changes its depth.
  std::vector<NodeNumber> counts{84, 85, 86};
  for (NodeNumber count = 2; count <= 30; ++count) counts.push_back(count);
  for (const NodeNumber count : counts)
    for (NodeNumber dead = 0; dead < count; ++dead) {
      const NodeNumber root = dead == 0 ? 1 : dead / 2;  // sometimes just above it, sometimes far
      Net net(count);
      net.kill(dead);
      net.raise(root, 7);
      net.run();
      for (NodeNumber node = 0; node < count; ++node)
        ASSERT_EQ(net.got[node].size(), node == root || node == dead ? 0u : 1u)
            << node << " of " << count << " without " << dead << ", from " << root;
    }
}

TEST(TreeRelay, one_that_is_lost_on_the_way_costs_no_other_node_a_message_and_brings_none_twice) {
  for (const NodeNumber count : {3u, 6u, 7u, 22u}) {  // up to three levels below the root
    for (NodeNumber dead = 1; dead < count; ++dead) {
      for (int turns = 0;; ++turns) {
        Net net(count);
        for (const int what : {1, 2}) net.raise(0, what);
        bool is_under_way = true;
        for (int i = 0; i < turns && is_under_way; ++i) is_under_way = net.turn();
        net.kill(dead);
        net.raise(0, 3);
        net.run();
        for (NodeNumber node = 1; node < count; ++node) {
          if (node == dead) continue;
          auto got = net.got[node];
          std::sort(got.begin(), got.end());
          ASSERT_EQ(got, (std::vector<int>{1, 2, 3}))
              << node << " of " << count << ", " << dead << " is lost after " << turns << " turns";
        }
        if (!is_under_way) break;
      }
    }
  }
}

TEST(TreeRelay, refuses_what_no_other_server_sends) {
  int delivered = 0;
  TreeRelay relay(
      2, 4, 1, [](NodeNumber) { return false; }, [](auto, auto, auto) {}, [&](Bytes) { ++delivered; });
  const auto done = [] {};
  EXPECT_FALSE(relay.receive({}, done));
  EXPECT_FALSE(relay.receive(base::encode(TreeMessage{4, 1, 1, {}}), done)) << "no node of the cluster";
  EXPECT_FALSE(relay.receive(base::encode(TreeMessage{2, 1, 1, {}}), done)) << "its own";
  EXPECT_EQ(delivered, 0);
}

TEST(TreeRelay, a_later_incarnation_of_a_sender_counts_anew_and_an_earlier_one_no_more) {
  std::vector<std::uint64_t> delivered;
  TreeRelay relay(
      2, 4, 1, [](NodeNumber) { return false; }, [](auto, auto, auto) {},
      [&](Bytes body) { delivered.push_back(std::to_integer<std::uint64_t>(body[0])); });
  int done = 0;
  const auto come = [&](std::uint64_t incarnation, std::uint64_t number, int what) {
    EXPECT_TRUE(relay.receive(
        base::encode(TreeMessage{3, incarnation, number, {static_cast<std::byte>(what)}}), [&] { ++done; }));
  };
  come(5, 1, 1);
  come(5, 1, 2);
  come(6, 1, 3);
  come(5, 2, 4);
  EXPECT_EQ(delivered, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(done, 4) << "each is replied to";
}

TEST(SeenNumbers, of_any_order_is_each_new_once) {
  SeenNumbers seen;
  for (const std::uint64_t number : {3u, 1u, 2u, 5u, 4u, 9u}) EXPECT_TRUE(seen.add(number)) << number;
  for (const std::uint64_t number : {0u, 1u, 2u, 3u, 4u, 5u, 9u}) EXPECT_FALSE(seen.add(number)) << number;
  EXPECT_TRUE(seen.add(6));
}

TEST(SeenNumbers, forgets_what_is_missing_far_below) {
  SeenNumbers seen;
  for (std::uint64_t number = 2; number <= 5000; ++number) EXPECT_TRUE(seen.add(number));
  EXPECT_FALSE(seen.add(1)) << "more than a thousand came after it";
  for (std::uint64_t number = 5002; number <= 5900; ++number) EXPECT_TRUE(seen.add(number));
  EXPECT_TRUE(seen.add(5001));
  EXPECT_FALSE(seen.add(5500));
}

TEST(TreeRelay, what_raises_messages_goes_at_the_pace_of_the_slowest_node) {
  Net net(6);
  std::size_t taken = 0;
  const auto raise_many = [&](std::size_t count, std::size_t bytes) {
    for (std::size_t i = 0; i < count; ++i)
      net.raise(2, std::vector<std::byte>(bytes, std::byte{7}), [&taken] { ++taken; });
  };
  raise_many(TreeRelay::most_under_way + 10, 1);
  EXPECT_EQ(taken, TreeRelay::most_under_way - 1) << "the others wait";
  net.run();
  EXPECT_EQ(taken, TreeRelay::most_under_way + 10);
  for (NodeNumber node = 0; node < 6; ++node)
    if (node != 2) {
      EXPECT_EQ(net.got[node].size(), TreeRelay::most_under_way + 10) << node;
    }
  taken = 0;
  raise_many(3, TreeRelay::most_bytes_under_way / 2);
  EXPECT_EQ(taken, 1u) << "two are more than may be under way";
  net.kill(0);  // a lost node holds nothing up
  net.run();
  EXPECT_EQ(taken, 3u);
}

TEST(TreeRelay, of_one_node_waits_for_none) {
  Net net(1);
  bool is_taken = false;
  net.raise(0, {std::byte{1}}, [&] { is_taken = true; });
  EXPECT_TRUE(is_taken);
}

}  // namespace
}  // namespace weft::server
