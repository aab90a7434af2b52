// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cluster/job_orders.hpp"

#include <utility>

namespace weft::cluster {

using channel::MessageType;

void JobOrders::launch(std::vector<std::uint32_t> with_ranks, const channel::order::Launch& order) {
  tree_ = std::make_shared<channel::LaunchTree>(std::move(with_ranks), way_.launcher, order.witnesses);
  auto bytes = channel::encode(order);
  launch_bytes_ = std::uint64_t{bytes.size()} * tree_->receivers().size();
  channel::PassOn::below(way_.channel, tree_, way_.launcher, {MessageType::launch, std::move(bytes)}, [] {});
}

/// taken: when all nodes that can be reached have it, and not inside this call.
void JobOrders::send(MessageType type, std::string order, std::function<void()> taken) {
  const auto number = static_cast<std::uint32_t>(given_.size()) + 1;
  const auto& bytes = given_.emplace_back(
      channel::encode(channel::order::Broadcast{nspace_, number, type, std::move(order)}));
  ++*open_;
  const auto ways = std::make_shared<int>(2);  // the first has always a call of its own
  const auto has_ended = [open = open_, ways, taken = std::move(taken)] {
    if (--*ways != 0) return;
    --*open;
    if (taken) taken();
  };
  way_.channel.send(straight_nodes(), MessageType::broadcast, bytes, [has_ended](bool) { has_ended(); });
  channel::PassOn::below(way_.channel, tree_, way_.launcher, {MessageType::broadcast, bytes}, has_ended);
}

std::vector<std::uint32_t> JobOrders::straight_nodes() const {
  std::vector<std::uint32_t> out;
  for (const auto node : straight_)
    if (!nodes_.is_lost(node)) out.push_back(node);
  return out;
}

void JobOrders::go_straight(std::uint32_t node) {
  if (tree_->parent_of(node) == way_.launcher || nodes_.is_lost(node) || !straight_.insert(node).second)
    return;
  for (const auto& order : given_) way_.channel.send({node}, MessageType::broadcast, order);
}

JobOrders::Admission JobOrders::admit(std::uint32_t from, std::uint32_t node, std::uint32_t number) {
  if (from != node && !tree_->is_above(from, node)) return Admission::wrong;
  auto& last = last_reports_[node];
  if (number <= last || is_over_) return Admission::known;
  if (number != last + 1) return Admission::wrong;
  last = number;
  if (from == node) go_straight(node);
  return Admission::fresh;
}

}  // namespace weft::cluster
