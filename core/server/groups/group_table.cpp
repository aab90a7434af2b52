// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_table.hpp"

#include <algorithm>

namespace weft::server {
namespace {

using Names = std::map<std::string, Group>;
using store::GroupAct;

/// False: not yet, or never: the group is not there, or another has its name.
bool apply(Names& groups, const link::RankRuns& members, const store::GroupRecord& record) {
  const auto known = groups.find(record.name);
  if (record.act == GroupAct::made) return groups.try_emplace(record.name, Group{members}).second;
  if (known == groups.end() || known->second.members != members) return false;
  groups.erase(known);
  return true;
}

}  // namespace

/// A name that a set has used may be another set's afterwards: of two boards that which can go on goes first. What none
/// can go on with is a name that two sets use at a time.
Names& GroupTable::settled() const {
  auto boards = boards_.take_records();
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (auto& [members, records] : boards)
      for (; !records.empty() && apply(groups_, members, records.front()); records.pop_front()) has_moved = true;
    std::erase_if(boards, [](const GroupBoards::Made& made) { return made.records.empty(); });
    if (has_moved || boards.empty()) continue;
    auto& [members, records] = boards.front();
    if (records.front().act == GroupAct::made) groups_.insert_or_assign(records.front().name, Group{members});
    records.pop_front();
    has_moved = true;
  }
  return groups_;
}

}  // namespace weft::server
