// SPDX-License-Identifier: BSD-3-Clause
// What messages between the servers of this cluster cost, for the choice of their collectives' algorithms:
// the same numbers at all servers, or their schedules do not fit together. The server of the launcher finds
// them out once, and the launch information of every job brings them to its nodes, before any collective of
// theirs (docs/scale/collectives.md). A cluster without such a server has the numbers of collectives::Costs.
//
// Found out  Where all servers are on one machine, they share its processors. Else a server of another
//            machine answers some requests: small ones, one at a time and several at once, and the same of
//            long ones. That is a millisecond of the first launch.
// Threads    The server's loop.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/rule.hpp"
#include "core/server/cluster/rpc.hpp"
#include "core/server/cluster/server_table.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

class MessageCosts {
 public:
  using Costs = collectives::Costs;
  using Nanoseconds = std::chrono::nanoseconds;
  /// Round trips, each until the last reply.
  struct Measured {
    Nanoseconds small{}, some_small{}, one_long{}, some_long{};
    Costs costs() const noexcept;
  };
  static constexpr unsigned some_small = 8, some_long = 4;  ///< messages at once
  static constexpr std::size_t long_bytes = 65536;

  /// rule: that of the cluster's collectives.
  MessageCosts(Loop& loop, Rpc& rpc, const ServerTable& servers, std::shared_ptr<collectives::Rule> rule);
  MessageCosts(const MessageCosts&) = delete;
  MessageCosts& operator=(const MessageCosts&) = delete;

  /// Of the launcher's server: finds them out, by the servers that are there. then: inside this call, or as
  /// soon as they have been measured, or after `patience`; from then on they stay as they are.
  void settle(std::function<void()> then);
  static constexpr auto patience = std::chrono::milliseconds(50);
  /// Of the other servers: what it has found out. Only the first counts.
  void take(const Costs& costs);
  const std::shared_ptr<collectives::Rule>& rule() const noexcept { return rule_; }

 private:
  struct Trial {
    unsigned messages;
    std::size_t bytes;
    unsigned times;  ///< the least time of these counts
    Nanoseconds Measured::*time;
  };
  static const std::array<Trial, 4> trials;
  void measure(NodeNumber with, std::size_t trial, unsigned time);
  void end(const std::optional<Costs>& costs);

  Loop& loop_;
  Rpc& rpc_;
  const ServerTable& servers_;
  std::shared_ptr<collectives::Rule> rule_;
  bool is_settled_ = false;
  Measured measured_;
  std::vector<std::function<void()>> waiting_;
  std::optional<Timer> limit_;
};

}  // namespace weft::server
