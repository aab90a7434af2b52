// SPDX-License-Identifier: BSD-3-Clause
// Some nodes with a mesh and an engine each, on one simulated network that has bad days.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "collectives/engine.hpp"
#include "transport/faulty/faulty.hpp"
#include "transport/sim/network.hpp"

namespace weft::collectives {

using Block = std::vector<std::byte>;

/// Reasons of callers.
inline constexpr Why late{17}, denied{18}, unknown{19};

/// What every member can compute of every other's contribution.
inline Block block_of(NodeNumber node, std::uint64_t call, std::size_t bytes) {
  Block out(bytes);
  auto state = static_cast<std::uint32_t>(node * 7919 + call * 104729 + 1);
  for (auto& b : out) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

struct Told {
  unsigned times = 0;
  std::optional<Why> why;
  std::optional<NodeNumber> lost;
  std::vector<Block> contributions;
  bool is_without_data = false;
};

struct EngineNode : mesh::Watcher {
  NodeNumber number;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Engine> engine;  // outlives its mesh
  std::unique_ptr<mesh::Mesh> mesh;
  std::deque<Told> told;
  std::vector<NodeNumber> lost;

  EngineNode(Transport& transport, const mesh::JobKey& key, NodeNumber self, NodeNumber nodes,
             const Engine::Options& options)
      : number(self), endpoint(std::move(*transport.open({}))) {
    mesh = std::make_unique<mesh::Mesh>(*endpoint, key, mesh::NodeIncarnation{self, 1}, nodes, *this);
    engine = std::make_unique<Engine>(*mesh, self, options);
  }
  ~EngineNode() override {
    mesh.reset();
    engine.reset();  // its last words go to `told`
  }
  EngineNode(const EngineNode&) = delete;
  EngineNode& operator=(const EngineNode&) = delete;

  void node_lost(NodeNumber node, const char*) noexcept override {
    lost.push_back(node);
    engine->suspend(node);
  }
  void message_refused(NodeNumber, mesh::Refusal, std::uint16_t) noexcept override {}

  Told& begin(const Signature& signature, Kind kind, const std::vector<NodeNumber>& members,
              Block contribution) {
    Told& one = told.emplace_back();
    EXPECT_TRUE(engine->begin(signature, kind, members, std::move(contribution), telling(one)));
    return one;
  }
  Told& refuse(const Signature& signature, const std::vector<NodeNumber>& members, Why why,
               AfterLoss after_loss = AfterLoss::ends) {
    Told& one = told.emplace_back();
    EXPECT_TRUE(engine->refuse(signature, members, why, telling(one), after_loss));
    return one;
  }

 private:
  static Done telling(Told& one) {
    return [&one](const Outcome& outcome) {
      ++one.times;
      one.why = outcome.why;
      if (outcome.lost) one.lost = outcome.lost->node;
      if (!outcome.why) one.contributions = outcome.contributions;
      one.is_without_data = outcome.is_without_data;
    };
  }
};

class Engines : public ::testing::Test {
 protected:
  using Knows = bool (*)(NodeNumber one, NodeNumber other);
  void start(
      NodeNumber nodes, const Engine::Options& options = {}, const faulty::Plan& plan = {},
      Knows knows = [](NodeNumber, NodeNumber) { return true; }) {
    sim_ = std::make_unique<sim::SimTransport>(network);
    faulty_ = std::make_unique<faulty::FaultyTransport>(*sim_, plan);
    for (NodeNumber n = 0; n < nodes; ++n)
      all.push_back(std::make_unique<EngineNode>(*faulty_, key, n, nodes, options));
    for (const auto& one : all)
      for (const auto& other : all)
        if (one != other && knows(one->number, other->number)) {
          ASSERT_TRUE(one->mesh->add_peer(other->number, other->mesh->contact()));
        }
  }
  std::vector<NodeNumber> all_nodes() const {
    std::vector<NodeNumber> out(all.size());
    std::iota(out.begin(), out.end(), 0u);
    return out;
  }
  void turn() {
    now += std::chrono::microseconds(1);
    for (const auto& node : all) {
      if (node == nullptr) continue;
      node->mesh->progress(now);
      node->engine->progress();
    }
  }
  /// In the place of what agrees on losses above the engine: what is undecided has failed, at all nodes.
  void agree_on_losses() {
    std::vector<NodeNumber> lost;
    for (const auto& node : all)
      if (node != nullptr) lost.insert(lost.end(), node->lost.begin(), node->lost.end());
    for (const auto& node : all)
      for (const auto each : lost)
        if (node != nullptr) node->engine->suspend(each);
    for (const auto& node : all)
      for (const auto each : lost)
        for (const auto& end :
             node != nullptr ? node->engine->account({{each}}).undecided : std::vector<End>())
          node->engine->settle(end, nullptr);
  }
  bool until(const std::function<bool()>& done, int turns = 100'000) {
    for (; !done(); --turns) {
      if (turns == 0) return false;
      turn();
      if (agrees_on_losses) agree_on_losses();
    }
    return true;
  }
  bool all_told() const {
    for (const auto& node : all)
      if (node != nullptr)
        for (const auto& told : node->told)
          if (told.times == 0) return false;
    return true;
  }
  void TearDown() override { all.clear(); }

  sim::Network network{{.message = {.latency = 1000}, .get = {.latency = 1000}}};
  mesh::JobKey key = mesh::JobKey::random();
  std::vector<std::unique_ptr<EngineNode>> all;
  mesh::TimePoint now{std::chrono::hours(1)};
  bool agrees_on_losses = true;

 private:
  std::unique_ptr<sim::SimTransport> sim_;
  std::unique_ptr<faulty::FaultyTransport> faulty_;
};

}  // namespace weft::collectives
