// SPDX-License-Identifier: BSD-3-Clause
// The groups that have members on this node: PMIx_Group_destruct names a group and no member. The loop's thread only.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/link/rank_runs.hpp"
#include "core/server/groups/group_boards.hpp"

namespace weft::server {

struct Group {
  link::RankRuns members;        ///< by group rank
  std::uint64_t context_id = 0;  ///< 0: none was asked for
  bool tells_ends = false;       ///< PMIX_GROUP_NOTIFY_TERMINATION: it lives on without a member that ends
};

class GroupTable {
 public:
  explicit GroupTable(GroupBoards& boards) : boards_(boards) {}

  /// Null: there is no such group here.
  const Group* find(const std::string& name) const {
    const auto& groups = settled();
    const auto found = groups.find(name);
    return found == groups.end() ? nullptr : &found->second;
  }
  void add(std::string name, Group group) { settled().insert_or_assign(std::move(name), std::move(group)); }
  void erase(const std::string& name) { settled().erase(name); }
  std::size_t size() const { return settled().size(); }
  /// Calls see(name, group) for each, by name.
  template <class See>
  void each(See&& see) const {
    for (const auto& [name, group] : settled()) see(name, group);
  }
  /// Takes out those of which unwanted(name, group) says so.
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    std::erase_if(settled(), [&](const auto& each) { return unwanted(each.first, each.second); });
  }
  /// Members have made so many groups at their boards that the ledgers fill up.
  void settle() { settled(); }

 private:
  using Names = std::map<std::string, Group>;
  /// With all that members have made at their boards meanwhile.
  Names& settled() const;

  GroupBoards& boards_;
  mutable Names groups_;
};

}  // namespace weft::server
