// SPDX-License-Identifier: BSD-3-Clause
// How long the start of a job takes, phase by phase (weftrun --report launch): what weftrun measures itself,
// and what nodes tell. A duration is always of one clock; of two nodes none is compared. On the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/node_start.hpp"
#include "tools/messages/start_messages.hpp"

namespace weft::weftrun {

class StartAccount {
 public:
  using Clock = std::chrono::steady_clock;
  /// From here on; planned: how long it took until here. hosts: of the job's nodes, by number.
  StartAccount(Clock::duration planned, std::vector<std::string> hosts);

  void server_is_ready() { server_.end(); }
  void agents_start() { agents_.begin(); }
  void agents_run() { agents_.end(); }
  void daemon_connected(std::uint32_t node);
  void order_goes_out() { ordered_ = Clock::now(); }
  void order_bytes(std::uint64_t bytes) { order_bytes_ = bytes; }
  void node_started(std::uint32_t node);  ///< its report is here
  void all_run() {
    if (!running_) running_ = Clock::now();
  }
  void take(std::uint32_t node, const job::NodeStart& told);

  /// The job as it was planned. nodes: those with ranks, ascending. own: the one of this process, without
  /// daemon.
  struct Job {
    std::string nspace;
    std::uint32_t ranks = 0;
    std::vector<std::uint32_t> nodes;
    std::optional<std::uint32_t> own{};
  };
  /// As far as the start has come.
  messages::StartAccount result(const Job& job) const;

 private:
  /// A piece of time of this process.
  struct Span {
    std::optional<Clock::time_point> begun{}, ended{};
    void begin() { begun = Clock::now(); }
    void end() { ended = Clock::now(); }
    std::optional<std::uint64_t> length() const;
  };
  struct OnNode {
    std::optional<Clock::time_point> connected{}, started{};
    std::optional<job::NodeStart> told{};
  };
  OnNode* at(std::uint32_t node) { return node < nodes_.size() ? &nodes_[node] : nullptr; }
  std::optional<std::uint64_t> on_the_way(const OnNode& node) const;

  const Clock::duration planned_;
  const Clock::time_point begun_ = Clock::now();
  const std::vector<std::string> hosts_;
  Span server_{begun_}, agents_;
  std::optional<Clock::time_point> ordered_, running_;
  std::uint64_t order_bytes_ = 0;
  std::vector<OnNode> nodes_;
};

}  // namespace weft::weftrun
