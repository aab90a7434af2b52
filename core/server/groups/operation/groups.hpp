// SPDX-License-Identifier: BSD-3-Clause
// The groups that this server knows: what its processes say of one that is made, what members give each
// other, how members hear of it, of its changes and of each other's ends, and when it is forgotten. Groups
// are made and changed by other rooms: Operations, Memberships, Invitations. The loop's thread only.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <string>
#include <vector>

#include "core/server/fences/exchange/card_exchange.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/table/group_boards.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/groups/table/group_table.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

class Groups {
 public:
  struct Rooms {
    Jobs& jobs;
    Gets& gets;
    const CardExchange& cards;
    Exchanges& exchanges;
    GroupEvents& events;
    PeerCalls& peers;
    GroupBoards& boards;
    GroupTable& table;
    const OpenOperations& operations;
  };
  /// server: the upper half of context identifiers.
  Groups(Rooms rooms, std::uint32_t server) : rooms_(rooms), server_(server) {}

  GroupTable& table() const noexcept { return rooms_.table; }

  // Members.
  /// With each job that is named as a whole spelt by its ranks, in the order of `procs`.
  link::RankRuns by_rank(const Procs& procs) const;
  /// As the members of a group are compared: a job that is named rank by rank is the same as its wildcard.
  Procs set_of_group(const Procs& procs) const;
  Procs local_members(const Group& group) const;
  bool are_all_here(const Procs& set) const;
  /// A fence of the group is one of its members, which the host carries.
  bool fences_by_host(const link::RankRuns& members) const;

  // Groups that all their members make and end.
  /// What this node says in an operation.
  GroupPart part_of(const Operation& operation);
  /// It is made here and at the other nodes. status: PMIX_ERR_PARTIAL_SUCCESS: without some of its members.
  void add(MadeGroup made, pmix_status_t status);
  /// It has ended. parts: with the members that it has ended without.
  void end(const std::string& name, const std::vector<GroupPart>& parts);

  // Groups that are made, or changed, by one server for all (Invitations, Memberships).
  /// As another server sends it. Errors: corrupt.
  Result<MadeGroup> made_in(Bytes bytes) const;
  /// It is known here from now on, with what its members gave; of one that is known: if it is newer.
  void take(const MadeGroup& made);
  /// The same of a newer one, told to its members of this node and to those that have left.
  void take_change(const MadeGroup& made, const Procs& left);
  /// Answers a process of this node: it is a member, or why it is not.
  void admit(const Requester& from, pmix_status_t status, const MadeGroup& made);
  /// An identifier that no other group of the cluster has.
  std::uint64_t next_context() noexcept { return (std::uint64_t{server_} << 32) | ++last_context_; }
  /// The same, of its collectives (Group::series).
  std::uint64_t next_series() noexcept { return (std::uint64_t{server_} << 32) | ++last_series_; }

  /// Of members of other jobs.
  std::vector<NodeNumber> nodes_in_groups_with(const pmix_proc_t& proc);
  /// A process has ended, or has finalized: groups that asked for it tell their members here. Returns its
  /// groups that have no live member of this node any more.
  std::vector<std::string> process_ended(const pmix_proc_t& proc);
  /// The namespace has ended here.
  void forget(const std::string& nspace);
  /// A group has members of this namespace, which has ended, and others that may use it.
  bool has_others_than(const std::string& nspace) const;
  /// A group that no process of this node is in; also one whose members here have ended, unless it may live
  /// on elsewhere.
  void drop(const std::string& name);

 private:
  void store(const MadeGroup& made);
  bool store(const MemberData& data, std::uint64_t context_id);
  void tell_made(const std::string& name, const Group& group, pmix_status_t status);
  void tell_earlier_ends(const std::string& name, const Group& group, const link::RankRuns& known = {});
  void tell_absent(const std::string& name, const std::vector<GroupPart>& parts);
  void tell_members(pmix_status_t code, const std::string& name, const Group& group,
                    const pmix_proc_t& about);
  void tell_clients(const MadeGroup& made, const Procs& left);
  bool has_live_members(const Group& group, const pmix_proc_t& ended) const;
  bool may_be_used_without(const Group& group, std::string_view ended) const;
  bool lives_elsewhere(const Group& group, std::string_view ended = {}) const;

  const Rooms rooms_;
  const std::uint32_t server_;
  std::uint32_t last_context_ = 0, last_series_ = 0;
};

}  // namespace weft::server
