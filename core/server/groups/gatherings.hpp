// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Connect, PMIx_Disconnect, the construct and destruct of groups, and fences of groups: where the
// participants of this node meet. When all have called, the host is called, or for a group, unless the host
// makes groups itself, the servers (groups.hpp). The loop's thread only.
//
//   gathering --(the last local participant)--> with the host or the other servers --(the answer)--> ended
//       |
//       +-----(a participant has ended or left; a deadline has passed;
//              another node knows that it cannot end well)--> ended
//
// A construct whose members want to be asked (losses.hpp) goes on gathering while they are, and so does one
// that goes on with fewer. One that another node has asked about is open here before any participant has
// called, and so is one in which all that have called are lost.
//
// What ends for a lost participant ends for those of this node that have not called, too (OwedEnds): one
// attempt has one end.
//
// A gathering that ends before it is complete is told to the host as well, with PMIX_LOCAL_COLLECTIVE_STATUS,
// or to the other servers: participants of other nodes wait for this one.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/fences/fences.hpp"
#include "core/server/groups/handlers/losses.hpp"
#include "core/server/groups/invitation/invitations.hpp"
#include "core/server/groups/invitation/invited.hpp"
#include "core/server/groups/membership/bootstraps.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/open/owed_ends.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class Gatherings {
 public:
  struct Rooms {
    PeerCalls& peers;
    OpenOperations& operations;
    Groups& groups;
    Bootstraps& bootstraps;
    GroupEvents& events;
    Losses& losses;
    Memberships& memberships;
    Invitations& invitations;
    Invited& invited;
  };
  Gatherings(Loop& loop, Jobs& jobs, Host& host, Rooms rooms);

  /// A participant has called, which may name the set in any order. Those of one kind and set belong
  /// together; of a group, those of its name. waited: at a board, before.
  void enter(const Requester& from, Meeting::Kind kind, std::string group, Procs procs,
             data::Infos directives, std::chrono::milliseconds waited = {});
  /// The same for the end of a group, whose members are known here.
  void enter_destruct(const Requester& from, link::GroupDestruct message);
  /// A fence of all members of a group.
  void enter_fence(const Requester& from, link::GroupFence message);
  /// A local process will not call any more: it has ended, or has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);
  /// These groups have no live member of this node any more (Groups::process_ended()).
  void lose_groups(const std::vector<std::string>& names);
  /// The host ends the namespace: it is not called any more for what only processes of it have called.
  void forget(const std::string& nspace);
  /// A member's notice about a board of groups (0: any), which may be none of its own.
  void look_at(const pmix_proc_t& member, store::BoardNumber number);

  // Which ranks are missing, as Fences tells it of fences.
  /// What a local participant has entered.
  std::vector<FencePart> open_parts() const;
  /// This node's part in an operation that another node has named. Nothing: processes that are not known
  /// here.
  std::optional<FencePart> part_in(const FenceName& name) const;
  /// In which local participants have waited for local participants for `limit`; each once.
  std::vector<Fences::Waiting> waiting_for(std::chrono::seconds limit);

 private:
  using Open = OpenGatherings::Open;

  void enter(Meeting::Kind kind, std::string group, Procs set, Arrival arrival, bool goes_on_smaller);
  void enter_group(const Requester& from, Meeting::Kind kind, const std::string& name, data::Infos directives,
                   std::chrono::milliseconds waited = {});
  void tell_others(const Meeting& meeting, const Arrival& arrival);
  Open find(const Meeting& meeting, const Requester& from);
  Open add(Meeting meeting);
  Open by_number(std::uint64_t number);
  bool is_complete(const Gathering& gathering) const;
  void leave_out_lost(Meeting& meeting) const;
  struct Lost {
    pmix_proc_t proc;
    pmix_status_t status;
  };
  std::vector<Lost> lost_of(const Meeting& meeting) const;
  void look_for_lost(Open open);
  void lose_in(Open open, const Lost& lost);
  void lose_leader(const pmix_proc_t& proc, pmix_status_t status);
  void take_part_in_end(const std::string& group);
  void decided(std::uint64_t number, const pmix_proc_t& proc, Losses::Outcome outcome);
  void left(const std::string& group, const pmix_proc_t& proc, const Procs& before);
  void joined(const std::string& group, const Procs& before);
  Procs without(const Procs& set, const pmix_proc_t& proc) const;
  FenceName name_of(const Meeting& meeting) const;
  void watch_deadline(Open open);
  void complete(Open open);
  void fail(Open open, pmix_status_t status);
  collectives::Signature owed_by(const Meeting& meeting) const;
  void fail_for_all(Open open, pmix_status_t status, const pmix_proc_t& lost);
  bool is_by_host(const Meeting& meeting) const noexcept;
  Blob members_of_host(const Procs& procs) const;
  void call_host(Meeting meeting, Host::Answered done);
  void answer_part(Bytes body, const Rpc::Reply& reply);
  void take_abort(Bytes body, const Rpc::Reply& reply);
  void take_part_without(const FenceName& name, const Participants& participants);
  FencePart part_of(const Gathering& gathering) const;

  Loop& loop_;
  Jobs& jobs_;
  Host& host_;
  Groups& groups_;
  const Rooms rooms_;
  OpenOperations& operations_;
  OpenGatherings& open_;  ///< of these
  OwedEnds owed_;
  std::uint64_t last_ = 0;
};

}  // namespace weft::server
