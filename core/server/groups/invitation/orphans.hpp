// SPDX-License-Identifier: BSD-3-Clause
// Invitations whose leader is lost with its node, and with the server that coordinated them: another server
// follows, and has a new leader elected. The loop's thread only.
//
//   a server with processes of such an invitation
//     -> group_orphaned to the next: the lowest node that is there, of those with members
//   the next
//     -> group_orphan to the lost one; it replies: then it is not lost, and the first server is cut off
//     -> group_orphan to all nodes with members -> what each knows
//          one has the group              -> group_adopted: it is made; all get it
//          one knows why there is none    -> group_adopted: it has failed so, for all
//          else                           -> an invitation of its own (Invitations::adopt),
//                                            group_adopted with its number, and the election
//
// A server that is asked does not hear the lost coordinator any more: what it said before the question counts
// for all, what it said later for none. The next may be lost, too: then those that wait for its word turn to
// the one after it. Source: RFC 0033, "leader failure".
#pragma once

#include <map>
#include <memory>
#include <set>

#include "core/server/groups/invitation/invitations.hpp"
#include "core/server/groups/invitation/invited.hpp"

namespace weft::server {

class Orphans {
 public:
  Orphans(const Jobs& jobs, PeerCalls& peers, Invited& invited, Invitations& invitations);

  void node_lost(NodeNumber node);
  /// Invitations for which this server is about to follow a lost one.
  std::size_t open() const noexcept { return open_.size(); }

 private:
  /// What the nodes know of one.
  struct Case {
    InvitationName name;
    std::set<NodeNumber> asked{};
    std::size_t left = 0;  ///< that have not answered
    std::map<NodeNumber, OrphanPart> parts{};
  };
  using CaseRef = std::shared_ptr<Case>;

  void turn_to_next(const Invited::Orphan& orphan);
  void follow(const OrphanInquiry& inquiry, const Rpc::Reply& reply);
  void ask(const CaseRef& open, const link::RankRuns& members);
  void collected(const CaseRef& open);
  void tell(const Case& open, const OrphanAdopted& word);

  const Jobs& jobs_;
  PeerCalls& peers_;
  Invited& invited_;
  Invitations& invitations_;
  std::map<InvitationName, CaseRef> open_;
};

}  // namespace weft::server
