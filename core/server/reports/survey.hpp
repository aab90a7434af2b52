// SPDX-License-Identifier: BSD-3-Clause
// Asks all servers of the cluster for their reports, and merges them into one.
//
//   every other node: tell me everything -> in which fences are you? -> nodes that belong to a fence of
//   another node and did not name it: what is your part in that one? -> merged()
// Cost      One or two requests a node when an observer asks; else nothing.
// Silence   A server that has not answered after `limit` is silent in the report. A survey always ends.
// Threads   The server's loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include "core/server/loop/loop.hpp"

#include "core/server/cluster/cluster.hpp"
#include "core/server/reports/own_report.hpp"

namespace weft::server {

class Survey : public std::enable_shared_from_this<Survey> {
 public:
  static constexpr std::chrono::seconds limit{2};  ///< of each of the two rounds
  using Then = std::function<void(const ClusterReport&)>;

  /// then: in Cluster::turn() or from a timer; at once where there is no other server to ask.
  static void run(Loop& loop, Cluster& cluster, std::string name, OwnReport& own, Then then);
  Survey(Loop& loop, Cluster& cluster, std::string name, OwnReport& own, Then then)
      : cluster_(cluster), name_(std::move(name)), own_(own), then_(std::move(then)), loop_(loop) {}

 private:
  using Next = void (Survey::*)();
  void ask_everything();
  void ask_parts();
  void finish();
  MembersOf members() const;
  void ask(NodeNumber node, const ReportRequest& request);
  void take(NodeNumber node, pmix_status_t status, Bytes body);
  void wait(Next next);
  void go_on();

  Cluster& cluster_;
  std::string name_;
  OwnReport& own_;
  Then then_;
  Loop& loop_;
  std::unique_ptr<Timer> timer_;
  std::vector<NodeEntry> entries_;  ///< by node number
  std::size_t open_ = 0;            ///< requests of this round
  unsigned round_ = 0;
  Next next_ = nullptr;
};

}  // namespace weft::server
