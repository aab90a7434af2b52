// SPDX-License-Identifier: BSD-3-Clause
// Asks all servers of the session for their reports, and makes one of them.
//
//   every other node: tell me everything -> in which fences are you? -> nodes that belong to a fence of another node
//   and did not name it: what is your part in that one? -> merged()
// Cost      When somebody asks, and then one or two letters a node; else nothing.
// Silence   Who has not answered after `limit` is silent in the report. It always ends.
// Threads   The server's loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "core/server/cluster/cluster.hpp"
#include "core/server/reports/report.hpp"

namespace weft::server {

class Survey : public std::enable_shared_from_this<Survey> {
 public:
  static constexpr std::chrono::seconds limit{2};  ///< of each of the two rounds
  struct Hooks {
    std::function<NodeReport(const ReportRequest&)> own;
    MembersOf members;
  };
  using Done = std::function<void(SessionReport)>;

  /// done: in Nodes::turn() or from a timer; at once where there is nobody to ask.
  static void run(asio::io_context& loop, Nodes& nodes, std::string nspace, Hooks hooks, Done done);
  /// What another server asks here.
  static void answer(const Hooks& hooks, Bytes request, const Letters::Answer& answer);

  Survey(asio::io_context& loop, Nodes& nodes, std::string nspace, Hooks hooks, Done done)
      : nodes_(nodes),
        nspace_(std::move(nspace)),
        hooks_(std::move(hooks)),
        done_(std::move(done)),
        timer_(loop) {}

 private:
  using Next = void (Survey::*)();
  void ask_everything();
  void ask_parts();
  void finish();
  void ask(NodeNumber node, const ReportRequest& request);
  void take(NodeNumber node, pmix_status_t status, Bytes body);
  void wait(Next next);
  void go_on();

  Nodes& nodes_;
  std::string nspace_;
  Hooks hooks_;
  Done done_;
  asio::steady_timer timer_;
  std::vector<NodeEntry> entries_;  ///< by node number
  std::size_t open_ = 0;            ///< questions of this round
  unsigned round_ = 0;
  Next next_ = nullptr;
};

}  // namespace weft::server
