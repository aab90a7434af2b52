// SPDX-License-Identifier: BSD-3-Clause
// Some nodes of one job on one simulated network.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "transport/faulty/faulty.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/sim/network.hpp"

namespace weft::mesh {

struct Heard {
  NodeNumber from;
  std::uint16_t id;
  std::string header, payload;
};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  std::uint32_t state = seed * 2654435761u + 1;
  for (auto& b : out) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
  return out;
}

/// Counts how often each of its works ended, and how.
template <class Kind>
struct Kept {
  struct One : Kind {
    unsigned ends = 0;
    Result<void> outcome;
  };
  std::deque<One> all;
  One& next() {
    One& one = all.emplace_back();
    one.done = [](Work& self, Result<void> outcome) noexcept {
      auto& ended = static_cast<One&>(static_cast<Kind&>(self));
      ++ended.ends;
      ended.outcome = outcome;
    };
    return one;
  }
  std::size_t ended() const {
    std::size_t count = 0;
    for (const auto& one : all) count += one.ends;
    return count;
  }
  bool each_ended_once_as(Errc why) const {
    for (const auto& one : all)
      if (one.ends != 1 || one.outcome || one.outcome.error().code != why) return false;
    return true;
  }
  bool each_ended_once_well() const {
    for (const auto& one : all)
      if (one.ends != 1 || !one.outcome) return false;
    return true;
  }
};

struct Station : Watcher {
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Mesh> mesh;
  std::vector<Heard> heard;
  std::vector<std::string> lost, refused;
  bool keeps = true;
  std::size_t count = 0;

  Station(Transport& transport, const JobKey& key, NodeIncarnation self, NodeNumber nodes,
          const Limits& limits) {
    endpoint = std::move(*transport.open({}));
    mesh = std::make_unique<Mesh>(*endpoint, key, self, nodes, *this, limits);
    listen<1>();
    listen<2>();
  }
  void node_lost(NodeNumber node, const char* why) noexcept override {
    lost.push_back(std::to_string(node) + ": " + why);
  }
  void message_refused(NodeNumber sender, Refusal why, std::uint16_t version) noexcept override {
    refused.push_back(std::to_string(sender) + ": " + to_text(why) +
                      (version == protocol_version ? "" : " " + std::to_string(version)));
  }

 private:
  template <std::uint16_t id>
  void listen() {
    mesh->on(
        id,
        [](void* self, NodeNumber from, Bytes header, Bytes payload) noexcept {
          auto& station = *static_cast<Station*>(self);
          ++station.count;
          if (station.keeps)
            station.heard.push_back({from, id, std::string(as_text(header)), std::string(as_text(payload))});
        },
        this);
  }
};

class Nodes : public ::testing::Test {
 protected:
  explicit Nodes(const sim::Parameters& parameters = {.message = {.latency = 1000}, .get = {.latency = 1000}})
      : network(parameters) {}

  Station& start(NodeNumber number, std::uint64_t incarnation = 1, const Limits& limits = {}) {
    return *stations.emplace_back(
        std::make_unique<Station>(transport(), key, NodeIncarnation{number, incarnation}, 16, limits));
  }
  /// Two nodes, 0 and 1, that know each other.
  void pair(const Limits& limits = {}) {
    a = &start(0, 1, limits);
    b = &start(1, 1, limits);
    introduce();
  }
  void introduce() {
    ASSERT_TRUE(a->mesh->add_peer(1, b->mesh->contact()));
    ASSERT_TRUE(b->mesh->add_peer(0, a->mesh->contact()));
  }
  /// Every call is a microsecond; the time that keep-alives go by is not the network's.
  void turn() {
    now += std::chrono::microseconds(1);
    for (const auto& station : stations) station->mesh->progress(now);
  }
  bool until(const std::function<bool()>& done, int turns = 200'000) {
    for (; !done(); --turns) {
      if (turns == 0) return false;
      turn();
    }
    return true;
  }
  void pass(std::chrono::milliseconds time) {
    for (const auto end = now + time; now < end; now += std::chrono::milliseconds(100))
      for (int i = 0; i < 10; ++i)
        for (const auto& station : stations) station->mesh->progress(now);
  }
  virtual Transport& transport() { return sim_; }
  /// Work that outlives the stations, also when a test fails.
  template <class Kind>
  Kept<Kind>& keep() {
    if constexpr (std::is_same_v<Kind, Sending>)
      return sendings_.emplace_back();
    else
      return readings_.emplace_back();
  }
  void TearDown() override { stations.clear(); }

  sim::Network network;
  JobKey key = JobKey::random();
  std::vector<std::unique_ptr<Station>> stations;
  Station *a = nullptr, *b = nullptr;
  TimePoint now{std::chrono::hours(1)};

 private:
  sim::SimTransport sim_{network};
  std::deque<Kept<Sending>> sendings_;
  std::deque<Kept<Reading>> readings_;
};

}  // namespace weft::mesh
