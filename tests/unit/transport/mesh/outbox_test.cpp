// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/outbox.hpp"

#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

class OutboxTest : public Nodes {
 protected:
  std::unique_ptr<Outbox> outbox;  ///< outlives the mesh
  std::vector<std::pair<NodeNumber, Errc>> refused;
  bool keeps = false;

  void open() {
    outbox = std::make_unique<Outbox>(*a->mesh, 1, [this](NodeNumber to, Bytes, const Error& why) {
      refused.emplace_back(to, why.code);
      return keeps;
    });
  }
  void send(NodeNumber to, const std::string& text) {
    outbox->send(to, as_bytes("header"), pattern(text.size() * 1000, static_cast<unsigned>(text.size())));
  }
  bool until_empty() {
    return until([&] {
      outbox->retry();
      return outbox->is_empty();
    });
  }
};

TEST_F(OutboxTest, what_finds_no_room_goes_later_and_all_bytes_arrive) {
  pair({.most_work = 2});
  open();
  for (int i = 0; i < 20; ++i) send(1, std::string(static_cast<std::size_t>(i + 1), 'x'));
  EXPECT_FALSE(outbox->is_empty());
  ASSERT_TRUE(until_empty());
  ASSERT_TRUE(until([&] { return b->count == 20; }));
  std::vector<bool> seen(21);
  for (const auto& heard : b->heard) {
    const auto length = heard.payload.size() / 1000;
    ASSERT_LE(length, 20u);
    EXPECT_FALSE(seen[length]) << "each once";
    seen[length] = true;
    EXPECT_EQ(heard.header, "header");
    EXPECT_EQ(heard.payload, as_text(pattern(length * 1000, static_cast<unsigned>(length))));
  }
  EXPECT_TRUE(refused.empty()) << "a lack of room is not reported";
}

TEST_F(OutboxTest, what_the_mesh_does_not_take_is_kept_or_dropped_as_its_owner_says) {
  a = &start(0);
  b = &start(1);
  ASSERT_TRUE(b->mesh->add_peer(0, a->mesh->contact()));
  open();
  send(1, "dropped");
  EXPECT_TRUE(outbox->is_empty());
  keeps = true;
  send(1, "kept");
  EXPECT_FALSE(outbox->is_empty());
  EXPECT_EQ(refused, (std::vector<std::pair<NodeNumber, Errc>>(2, {1, Errc::not_found})));
  ASSERT_TRUE(a->mesh->add_peer(1, b->mesh->contact()));
  ASSERT_TRUE(until_empty());
  ASSERT_TRUE(until([&] { return b->count == 1; }));
  EXPECT_EQ(b->heard[0].payload.size(), 4000u);
}

TEST_F(OutboxTest, what_waits_for_a_lost_node_is_forgotten) {
  pair({.most_work = 1});
  open();
  for (int i = 0; i < 5; ++i) send(1, "gone");
  outbox->drop(1);
  ASSERT_TRUE(until_empty());
  for (int i = 0; i < 100; ++i) turn();
  EXPECT_EQ(b->count, 1u) << "the one that the mesh had";
}

TEST_F(OutboxTest, the_mesh_may_end_while_it_sends) {
  pair({.most_work = 1});
  open();
  for (int i = 0; i < 5; ++i) send(1, "under way");
  a->mesh.reset();
  EXPECT_FALSE(outbox->is_empty()) << "four wait";
  outbox.reset();
  stations.clear();
}

}  // namespace
}  // namespace weft::mesh
