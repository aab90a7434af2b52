// SPDX-License-Identifier: BSD-3-Clause
// The mesh of nodes on every transport: what it promises holds whatever is below it.
#include "transport/mesh/mesh.hpp"

#include <algorithm>
#include <span>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

using namespace std::chrono_literals;

struct Heard {
  std::uint32_t number;
  std::vector<std::byte> payload;
};

/// A node of the job; it keeps what it hears.
struct Node : mesh::Watcher {
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<mesh::Mesh> mesh;
  std::vector<Heard> heard;
  std::size_t lost = 0, refused = 0;

  Node(std::unique_ptr<Endpoint> opened, const mesh::JobKey& key, mesh::NodeNumber self)
      : endpoint(std::move(opened)) {
    mesh = std::make_unique<mesh::Mesh>(*endpoint, key, mesh::NodeIncarnation{self, 1}, 4, *this,
                                        mesh::Limits{.probe_after = 100ms, .lost_after = 3s});
    mesh->on(
        1,
        [](void* node, mesh::NodeNumber, Bytes header, Bytes payload) noexcept {
          std::uint32_t number = 0;
          std::copy_n(header.begin(), std::min(header.size(), sizeof number),
                      std::as_writable_bytes(std::span(&number, 1)).begin());
          static_cast<Node*>(node)->heard.push_back({number, {payload.begin(), payload.end()}});
        },
        this);
  }
  void node_lost(mesh::NodeNumber, const char*) noexcept override { ++lost; }
  void message_refused(mesh::NodeNumber, mesh::Refusal, std::uint16_t) noexcept override { ++refused; }
};

template <class Kind>
struct Open : Kind {
  unsigned ends = 0;
  Result<void> outcome;
  Open() {
    this->done = [](mesh::Work& self, Result<void> how) noexcept {
      auto& open = static_cast<Open&>(static_cast<Kind&>(self));
      ++open.ends;
      open.outcome = how;
    };
  }
};

class MeshTest : public Conformance {
 protected:
  std::unique_ptr<Node> node(mesh::NodeNumber number) {
    auto station = open();
    return station ? std::make_unique<Node>(std::move(station->endpoint), key_, number) : nullptr;
  }
  bool until(std::initializer_list<Node*> nodes, const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!done()) {
      const auto now = std::chrono::steady_clock::now();
      if (now > end) return false;
      for (auto* node : nodes) node->mesh->progress(now);
    }
    return true;
  }
  std::deque<Open<mesh::Sending>> sendings_;  // outlives the nodes, also when a test fails
  std::deque<Open<mesh::Reading>> readings_;
  mesh::JobKey key_ = mesh::JobKey::random();
};
INSTANTIATE_TEST_SUITE_P(On, MeshTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(MeshTest, messages_of_all_sizes_both_ways_and_reads_meanwhile) {
  const auto a = node(0), b = node(1);
  ASSERT_TRUE(a && b);
  auto source = pattern(1'000'000, 1);
  std::vector<std::byte> target(source.size());
  const auto exposed = b->endpoint->expose(source), local = a->endpoint->expose(target);
  ASSERT_TRUE(exposed && local);
  b->mesh->offer(**exposed);
  ASSERT_TRUE(a->mesh->add_peer(1, b->mesh->contact()));
  ASSERT_TRUE(b->mesh->add_peer(0, a->mesh->contact()));

  auto& read = readings_.emplace_back();
  ASSERT_TRUE(a->mesh->read(1, 0, 0, {**local, 0, target.size()}, read));
  constexpr std::uint32_t count = 2000;
  std::vector<std::vector<std::byte>> payloads;
  for (std::uint32_t i = 0; i < count; ++i) payloads.push_back(pattern(i % 200 == 7 ? 700'000 : i % 900, i));
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto header = std::as_bytes(std::span(&i, 1));
    for (Node* from : {a.get(), b.get()}) {
      auto& sending = sendings_.emplace_back();
      Result<void> sent;
      ASSERT_TRUE(until({a.get(), b.get()}, [&] {
        sent = from->mesh->send(from == a.get() ? 1 : 0, 1, header, payloads[i], sending);
        return sent || sent.error().code != Errc::again;
      }));
      ASSERT_TRUE(sent) << sent.error().what;
    }
  }
  ASSERT_TRUE(until({a.get(), b.get()},
                    [&] {
                      return a->heard.size() == count && b->heard.size() == count && read.ends == 1 &&
                             std::all_of(sendings_.begin(), sendings_.end(),
                                         [](const auto& s) { return s.ends == 1; });
                    }))
      << a->heard.size() << " and " << b->heard.size() << " heard, " << read.ends << " reads";
  EXPECT_TRUE(read.outcome && target == source);
  for (const Node* node : {a.get(), b.get()}) {
    std::vector<bool> came(count);
    for (const auto& message : node->heard) {
      ASSERT_LT(message.number, count);
      EXPECT_FALSE(came[message.number]);
      came[message.number] = true;
      EXPECT_TRUE(message.payload == payloads[message.number]) << message.number;
    }
    EXPECT_EQ(node->refused + node->lost, 0u);
  }
}

TEST_P(MeshTest, a_node_that_is_gone_ends_all_of_its_work_once) {
  const auto a = node(0);
  auto b = node(1);
  const auto c = node(2);
  ASSERT_TRUE(a && b && c);
  auto source = pattern(100'000, 1);
  std::vector<std::byte> target(source.size());
  const auto local = a->endpoint->expose(target);
  auto exposed = b->endpoint->expose(source);
  ASSERT_TRUE(local && exposed);
  b->mesh->offer(**exposed);
  ASSERT_TRUE(a->mesh->add_peer(1, b->mesh->contact()) && a->mesh->add_peer(2, c->mesh->contact()));
  ASSERT_TRUE(b->mesh->add_peer(0, a->mesh->contact()) && c->mesh->add_peer(0, a->mesh->contact()));
  auto& first = sendings_.emplace_back();
  ASSERT_TRUE(a->mesh->send(1, 1, {}, {}, first));
  ASSERT_TRUE(until({a.get(), b.get(), c.get()}, [&] { return b->heard.size() == 1 && first.ends == 1; }));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(a->mesh->send(1, 1, {}, source, sendings_.emplace_back()));
    ASSERT_TRUE(a->mesh->read(1, 0, 0, {**local, 0, target.size()}, readings_.emplace_back()));
  }
  // Where the transport notices nothing, b hangs instead of dying: only its silence tells.
  if (a->endpoint->capabilities().detects_loss) {
    b->mesh.reset();
    exposed->reset();
    b.reset();
  }
  ASSERT_TRUE(until({a.get(), c.get()}, [&] { return a->lost == 1; }));
  for (const auto& sending : sendings_) {
    ASSERT_EQ(sending.ends, 1u);
    EXPECT_TRUE(sending.outcome || sending.outcome.error().code == Errc::peer_lost);
  }
  for (const auto& reading : readings_) {
    ASSERT_EQ(reading.ends, 1u);  // well, where a card reads the memory of one that hangs
    EXPECT_TRUE(reading.outcome || reading.outcome.error().code == Errc::peer_lost);
  }
  auto& later = sendings_.emplace_back();
  ASSERT_EQ(a->mesh->send(1, 1, {}, {}, later).error().code, Errc::peer_lost);
  ASSERT_TRUE(a->mesh->send(2, 1, {}, {}, later)) << "the others go on";
  ASSERT_TRUE(until({a.get(), c.get()}, [&] { return c->heard.size() == 1 && later.ends == 1; }));
  EXPECT_EQ(a->lost, 1u);
}

}  // namespace
}  // namespace weft::conformance
