// SPDX-License-Identifier: BSD-3-Clause
// The groups that have members on this node: PMIx_Group_destruct names a group and no member. The loop's
// thread only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/link/rank_runs.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/fences/exchange/signatures.hpp"
#include "core/server/groups/table/group_boards.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

/// What the members have asked for, of which one is enough.
struct GroupOptions {
  bool tells_ends = false;  ///< PMIX_GROUP_NOTIFY_TERMINATION: it lives on without a member that ends
  bool adjusts =
      false;  ///< PMIX_GROUP_FT_COLLECTIVE: its collectives leave out members that are lost or have left
  bool tells_joins = false;  ///< PMIX_GROUP_NOTIFY_EACH: members hear PMIX_PROC_HAS_JOINED of each that joins
  bool approves_ends = false;  ///< PMIX_GROUP_NOTIFY_DEPARTURE: members are asked before one leaves
  /// Its collectives end only when all of its members have come.
  bool waits_for_all() const noexcept { return !tells_ends && !adjusts; }
  void add(const GroupOptions& other) noexcept {
    tells_ends |= other.tells_ends;
    adjusts |= other.adjusts;
    tells_joins |= other.tells_joins;
    approves_ends |= other.approves_ends;
  }
};
template <class Archive>
void fields(Archive& archive, GroupOptions& m) {
  archive(m.tells_ends, m.adjusts, m.tells_joins, m.approves_ends);
}

struct Group {
  link::RankRuns members;        ///< by group rank
  std::uint64_t context_id = 0;  ///< 0: none was asked for
  GroupOptions options;
  NodeNumber keeper = 0;      ///< whose server decides about joins and leaves, one after the other
  std::uint64_t version = 1;  ///< one more with each change of its members or of its keeper
  /// In the signatures of its collectives: another with each change of its members, and no group has had it
  /// before. 0: all members are of one node, where the group was made.
  std::uint64_t series = 0;
  /// The series of the group as it was made, which tells it from others of its name.
  std::uint64_t origin = 0;
  /// Of a later version: whose server has made it, and has perhaps not told all before it was lost.
  NodeNumber maker = 0;
};
template <class Archive>
void fields(Archive& archive, Group& m) {
  archive(m.members, m.context_id, m.options, m.keeper, m.version, m.series, m.origin, m.maker);
}

/// What members have made and ended at their boards stands in the boards' ledgers. settle() reads these, and
/// each room calls it where a request, a reply or the end of a process reaches it. find() and each() change
/// nothing.
class GroupTable {
 public:
  GroupTable(GroupBoards& boards, const Cluster& cluster, Signatures& signatures)
      : boards_(boards), cluster_(cluster), signatures_(signatures) {}

  /// Takes in what members have made at their boards meanwhile.
  void settle();
  /// Null: there is no such group here. Valid until the table changes: settle(), add(), erase(), erase_if().
  const Group* find(const std::string& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
  }
  Group* find(const std::string& name) { return const_cast<Group*>(std::as_const(*this).find(name)); }
  std::size_t size() const noexcept { return groups_.size(); }
  /// Calls see(name, group) for each, by name.
  template <class See>
  void each(See&& see) const {
    for (const auto& [name, group] : groups_) see(name, group);
  }

  /// Its members have ended it: a change of it that comes now was made elsewhere before that.
  bool has_ended(const std::string& name, std::uint64_t origin) const { return is_past(name, origin, ended); }
  /// The same, or its last members here have left it in this version or a later one.
  bool is_past(const std::string& name, std::uint64_t origin, std::uint64_t version) const {
    const auto* last = past_.find({name, origin});
    return last != nullptr && *last >= version;
  }

  // A process of this node has asked to leave, and has not heard how that has ended: other nodes may know
  // already that it has, and go on without the operations that it has not called by now.
  void begin_leave(const std::string& name, const pmix_proc_t& proc) {
    leaving_.emplace(name, link::nspace_of(proc), proc.rank);
  }
  void end_leave(const std::string& name, const pmix_proc_t& proc) {
    leaving_.erase({name, std::string(link::nspace_of(proc)), proc.rank});
  }
  bool is_leaving(const std::string& name, const pmix_proc_t& proc) const {
    return leaving_.count({name, std::string(link::nspace_of(proc)), proc.rank}) != 0;
  }

  // What follows comes after all that the ledgers hold by then.
  void add(std::string name, Group group) {
    settle();
    past_.erase({name, group.origin});
    put(std::move(name), std::move(group));
  }
  /// Its members have ended it.
  void end(const std::string& name) {
    settle();
    take_out(groups_.find(name), true);
  }
  /// It has no members here any more.
  void erase(const std::string& name) {
    settle();
    take_out(groups_.find(name), false);
  }
  /// Takes out those of which unwanted(name, group) says so.
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    settle();
    std::erase_if(groups_, [&](const auto& each) {
      const bool goes = unwanted(each.first, each.second);
      if (goes) signatures_.end_series(each.second.series);
      return goes;
    });
  }

 private:
  using Groups = std::map<std::string, Group>;
  void put(std::string name, Group group);
  void take_out(Groups::iterator known, bool has_ended);

  GroupBoards& boards_;
  const Cluster& cluster_;  ///< this server keeps the groups that its processes make at boards
  Signatures& signatures_;
  Groups groups_;
  std::set<std::tuple<std::string, std::string, pmix_rank_t>> leaving_;
  static constexpr std::uint64_t ended = ~std::uint64_t{0};
  /// Of groups that were here the last version; ended: their members have ended them. A forgotten one is
  /// there again for the processes that a late change names.
  static constexpr std::size_t most_past = 1024;
  Latest<std::pair<std::string, std::uint64_t>, std::uint64_t, most_past> past_;
};

}  // namespace weft::server
