// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_table.hpp"

namespace weft::server {

/// What two boards say of one name comes without an order, and needs none: a set that has ended it last does
/// not have it, and at most one set has made it last, unless two use it at a time.
void GroupTable::settle() {
  const auto boards = boards_.take_records();
  if (boards.empty()) return;
  std::map<std::string, const link::RankRuns*> made;
  for (const auto& [members, records] : boards) {
    std::map<std::string, store::GroupAct> last;
    for (const auto& record : records)
      if (record.act != store::GroupAct::fenced) last[record.name] = record.act;
    for (const auto& [name, act] : last) {
      if (act == store::GroupAct::made) {
        made[name] = &members;
      } else if (const auto known = groups_.find(name);
                 known != groups_.end() && known->second.members == members) {
        take_out(known, true);
      }
    }
  }
  for (const auto& [name, members] : made) {
    past_.erase({name, 0});
    put(name, Group{*members, 0, {}, cluster_.self()});
  }
}

/// In the place of one with other members, or of that which its members have ended elsewhere.
void GroupTable::put(std::string name, Group group) {
  auto& known = groups_[std::move(name)];
  if (known.series != group.series) signatures_.end_series(known.series);
  signatures_.begin_series(group.series);
  known = std::move(group);
}

void GroupTable::take_out(Groups::iterator known, bool has_ended) {
  if (known == groups_.end()) return;
  past_.add({known->first, known->second.origin}, has_ended ? ended : known->second.version);
  signatures_.end_series(known->second.series);
  groups_.erase(known);
}

}  // namespace weft::server
