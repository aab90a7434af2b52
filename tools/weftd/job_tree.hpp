// SPDX-License-Identifier: BSD-3-Clause
// A node's place in the tree of a job: from which servers orders for the whole job come, which have come, to
// which they are passed on, and by which way reports go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tools/channel/pass_on.hpp"
#include "tools/weftd/reports.hpp"

namespace weft::weftd {

class JobTree {
 public:
  JobTree(const Reports::Place& place, const std::string& nspace)
      : place_(place), reports_(std::make_shared<Reports>(place, nspace)) {}
  ~JobTree() { reports_->finish(); }
  JobTree(const JobTree&) = delete;
  JobTree& operator=(const JobTree&) = delete;

  /// The launch order has come from that server. tree: null: it is for this node alone.
  void join(std::shared_ptr<const channel::LaunchTree> tree, std::uint32_t from) {
    if (tree_ || !tree) return;
    tree_ = std::move(tree);
    reports_->report_to(from);
  }
  /// Of a server above this one. Where the launcher itself sends what another server was to pass on, it does
  /// not wait for that one, and reports go to it from then on.
  bool takes_orders_of(std::uint32_t server) const {
    return server == place_.launcher || (tree_ && tree_->is_above(server, place_.self));
  }
  /// An order for all nodes. False: it has come before.
  bool take_order(std::uint32_t from, std::uint32_t number) {
    if (from == place_.launcher) reports_->report_straight();
    return orders_.insert(number).second;
  }
  /// To the nodes below, whether it is new here or not: a lost server may not have passed it on to all of
  /// them. reply: is sent when they have it.
  void pass_on(channel::MessageType type, const std::string& bytes, const channel::Reply& reply) {
    if (tree_) channel::PassOn::below(place_.channel, tree_, place_.self, {type, bytes}, reply);
  }

  Reports& reports() noexcept { return *reports_; }
  /// Reports that come from another server are of nodes that are below it, as it is below this one.
  bool are_of_below(std::uint32_t from, const channel::report::Gathered& gathered) const {
    return tree_ && tree_->is_above(place_.self, from) &&
           std::all_of(gathered.items.begin(), gathered.items.end(), [&](const auto& item) {
             return item.node == from || tree_->is_above(from, item.node);
           });
  }

 private:
  const Reports::Place place_;
  const std::shared_ptr<Reports> reports_;
  std::shared_ptr<const channel::LaunchTree> tree_;
  std::set<std::uint32_t> orders_;  ///< by number, that have come
};

}  // namespace weft::weftd
