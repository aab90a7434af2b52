// SPDX-License-Identifier: BSD-3-Clause
// The groups that have members on this node: PMIx_Group_destruct names a group and no member. The loop's thread only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "core/link/rank_runs.hpp"

namespace weft::server {

struct Group {
  link::RankRuns members;        ///< by group rank
  std::uint64_t context_id = 0;  ///< 0: none was asked for
  bool tells_ends = false;       ///< PMIX_GROUP_NOTIFY_TERMINATION: it lives on without a member that ends
};

class GroupTable {
 public:
  /// Null: there is no such group here.
  const Group* find(const std::string& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
  }
  void add(std::string name, Group group) { groups_.insert_or_assign(std::move(name), std::move(group)); }
  void erase(const std::string& name) { groups_.erase(name); }
  std::size_t size() const noexcept { return groups_.size(); }
  /// Calls see(name, group) for each, by name.
  template <class See>
  void each(See&& see) const {
    for (const auto& [name, group] : groups_) see(name, group);
  }
  /// Takes out those of which unwanted(name, group) says so.
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    std::erase_if(groups_, [&](const auto& each) { return unwanted(each.first, each.second); });
  }

 private:
  std::map<std::string, Group> groups_;
};

}  // namespace weft::server
