// SPDX-License-Identifier: BSD-3-Clause
// The orders for all nodes of a job, as its launcher gives them: down the job's tree (channel/pass_on.hpp),
// numbered, so that one that comes twice is obeyed once; and the numbers of the nodes' reports, which come up
// the same tree.
//
// Straight  A daemon whose way by the tree is broken, or that has a failure to report, reports to the
//           launcher itself. From then on it gets each order straight as well, and those given before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/channel/launch_tree.hpp"
#include "tools/channel/pass_on.hpp"
#include "tools/channel/server_channel.hpp"
#include "tools/cluster/nodes.hpp"

namespace weft::cluster {

class JobOrders {
 public:
  struct Way {
    channel::ServerChannel& channel;  ///< outlives the loop's work
    std::uint32_t launcher;           ///< the number of this process's server
  };
  /// nodes: outlives this.
  JobOrders(Way way, const Nodes& nodes, std::string nspace)
      : way_(way), nodes_(nodes), nspace_(std::move(nspace)), last_reports_(nodes.size()) {}

  /// with_ranks: these nodes, ascending.
  void launch(std::vector<std::uint32_t> with_ranks, const channel::order::Launch& order);
  /// Of that order: a copy for each node.
  std::uint64_t launch_bytes() const noexcept { return launch_bytes_; }
  /// It is launched without the tree, and gets all orders straight.
  void add_late(std::uint32_t node) { straight_.insert(node); }
  /// Order: order::Signal or OutputUnwanted. REQUIRES: launch().
  template <class Order>
  void give(const Order& order) {
    send(Order::type, channel::encode(order), {});
  }
  /// The last one. gone: when the nodes have forgotten the job, or cannot be reached, and not inside this
  /// call; may be empty. REQUIRES: launch().
  void end(const channel::order::EndJob& order, std::function<void()> gone) {
    is_over_ = true;
    send(channel::order::EndJob::type, channel::encode(order), std::move(gone));
  }
  /// All nodes that can be reached have all orders but the launch order.
  bool are_taken() const noexcept { return *open_ == 0; }
  /// All orders so far, and each that follows, go to that node itself. Once.
  void go_straight(std::uint32_t node);

  /// What to do with a report.
  enum class Admission {
    fresh,
    known,  ///< it has come before, or the job is over here
    wrong,  ///< no report that `from` can have of that node: it is damaged
  };
  Admission admit(std::uint32_t from, std::uint32_t node, std::uint32_t number);

 private:
  void send(channel::MessageType type, std::string order, std::function<void()> taken);
  std::vector<std::uint32_t> straight_nodes() const;

  const Way way_;
  const Nodes& nodes_;
  const std::string nspace_;
  std::shared_ptr<const channel::LaunchTree> tree_;
  std::uint64_t launch_bytes_ = 0;
  std::vector<std::string> given_;                        ///< order::Broadcast, by number
  std::shared_ptr<int> open_ = std::make_shared<int>(0);  ///< orders that some node may not have
  std::set<std::uint32_t> straight_;                      ///< nodes
  std::vector<std::uint32_t> last_reports_;               ///< by node: the number of its latest report
  bool is_over_ = false;
};

}  // namespace weft::cluster
