// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/early_messages.hpp"

#include <algorithm>

namespace weft::server {

EarlyMessages::Expected EarlyMessages::expect(const std::string& group) {
  std::erase_if(expected_, [](const auto& each) { return each.expired(); });
  auto out = std::make_shared<const std::string>(group);
  expected_.push_back(out);
  return out;
}

bool EarlyMessages::is_expected(const std::string& group) const {
  return operations_.is_with_nodes(group, Operation::Kind::construct) ||
         std::any_of(expected_.begin(), expected_.end(), [&](const auto& each) {
           const auto held = each.lock();
           return held && *held == group;
         });
}

void EarlyMessages::take(const std::string& group) {
  table_.settle();
  const auto first = std::stable_partition(kept_.begin(), kept_.end(),
                                           [&](const Message& each) { return each.group != group; });
  const std::vector<Message> ready(first, kept_.end());
  kept_.erase(first, kept_.end());
  for (const auto& each : ready) each.take();
}

}  // namespace weft::server
