// SPDX-License-Identifier: BSD-3-Clause
// A cluster in one process and in virtual time: servers, their clients, the network between them. step() lets
// one thing happen: a node whose turn is due has a round, and where there is none the time passes. Which of
// several nodes is next is drawn from the seed, so the same seed and the same calls give the same run.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "simulation/client.hpp"
#include "simulation/node.hpp"
#include "simulation/places.hpp"
#include "simulation/printed.hpp"
#include "simulation/spawned_jobs.hpp"
#include "transport/sim/network.hpp"

namespace weft::simulation {

class World {
 public:
  struct Shape {
    std::uint32_t nodes = 2, ranks_a_node = 2;
    sim::Parameters network{};
    mesh::Limits limits{};
    std::size_t width_of_ends = server::ProcessEnds::tree_width;  ///< of the tree down which they are told
    std::uint64_t seed = 1;
    bool is_one_machine = true;                 ///< what servers know of each other: it takes no time of any
    std::optional<collectives::Costs> costs{};  ///< that the servers choose algorithms by
    std::vector<std::vector<NodeNumber>> spawned{};  ///< jobs that may be started later, as Places

    Places places() const { return {nodes, ranks_a_node, spawned}; }
  };
  /// Of the first job.
  static constexpr const char* nspace = "job";

  /// All nodes know each other, the first job is registered on each, and its ranks have been let in. A rank,
  /// here, is the number of a process in places().
  explicit World(const Shape& shape);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Places& places() const noexcept { return places_; }
  std::uint32_t ranks() const noexcept { return places_.count(); }
  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  /// Since the job began.
  std::chrono::nanoseconds now() const noexcept { return now_ - begin_; }
  /// Null: it was lost.
  Node* node(NodeNumber number) noexcept { return nodes_[number].get(); }
  /// Of a process that has been started.
  Client& client(std::uint32_t rank) noexcept { return *clients_[rank]; }
  bool has_started(std::uint32_t rank) const noexcept { return clients_[rank] != nullptr; }
  /// It has ended, or has not been started.
  bool is_gone(std::uint32_t rank) const noexcept { return !clients_[rank] || clients_[rank]->is_gone(); }
  NodeNumber node_of(std::uint32_t rank) const { return places_.node_of(rank); }
  /// What a client was made to do is seen by its server in one of the next rounds.
  void wake(NodeNumber node) {
    if (nodes_[node] && !is_paused(node)) awake_.insert(node);
  }

  /// False: nothing happens up to that time, which has come.
  bool step(std::chrono::nanoseconds until);
  /// The process ends without a word.
  void end_process(std::uint32_t rank);
  /// The server and the processes of the node end, and nothing goes to it or comes from it any more.
  void lose(NodeNumber node);
  /// The server ends in good order, and its processes with it.
  void leave(NodeNumber node);
  /// The server and the processes of the node do nothing for that time; what is sent to it waits.
  void pause(NodeNumber node, std::chrono::nanoseconds time);

  /// The host of all nodes starts one of the jobs of the shape.
  void start(JobNumber job);
  SpawnedJobs::State state_of(JobNumber job) const { return spawned_.state_of(job); }
  /// A process has printed it, and the host takes it to all nodes.
  void print(std::uint32_t rank, std::vector<std::byte> bytes);
  /// How often a state of such a job may have changed.
  std::size_t changes_of_jobs() const noexcept { return changes_of_jobs_; }
  /// Since the job began: its processes have all ended, and it is being taken away. Nothing: it is not.
  std::optional<std::chrono::nanoseconds> end_of(JobNumber job) const;

 private:
  bool is_paused(NodeNumber node) const { return paused_until_.count(node) != 0; }
  void round(NodeNumber node);
  void forget(NodeNumber node);
  void end_clients(NodeNumber node);
  bool pass_time(std::chrono::nanoseconds until);
  void begin_process(std::uint32_t rank);
  server::Loop::TimePoint next_letter();
  template <class Letter, class Act>
  bool each_letter(Mail<Letter>& mail, Act&& act);
  bool carry_out_orders();
  bool bring_printed();
  void carry_out(const SpawnedJobs::Order& order);
  bool end_what_is_over();
  bool end_if_over(JobNumber job);
  std::vector<NodeNumber> live_nodes() const;

  Loop::TimePoint now_{};
  Loop::TimePoint begin_{};
  sim::Network network_;
  const Places places_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;   ///< null: not started
  std::vector<std::vector<std::uint32_t>> local_;  ///< of each node: the processes that were started there
  SpawnedJobs spawned_;
  Printed printed_;
  std::map<JobNumber, Loop::TimePoint> ends_of_jobs_;
  std::size_t changes_of_jobs_ = 0;
  std::set<NodeNumber> awake_;
  std::map<NodeNumber, Loop::TimePoint> paused_until_, leaves_at_;
};

}  // namespace weft::simulation
