// SPDX-License-Identifier: BSD-3-Clause
// The processes of this node that are invited to a group, and what they answer. The leader's side is
// invitations.hpp. The loop's thread only.
//
// The call of a process that accepts waits until the group is made or is not: its server's message to the
// leader's waits for its reply. So a leader's node that is lost ends it.
#pragma once

#include <list>
#include <memory>
#include "core/server/loop/loop.hpp"

#include "core/server/groups/handlers/questions.hpp"
#include "core/server/groups/invitation/invitation.hpp"
#include "core/server/groups/membership/memberships.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

class Invited {
 public:
  /// So many are remembered: answers to invitations that ended before, and invitations that no process here
  /// is in any more. Beyond that the oldest are forgotten: a process that answers then gets
  /// PMIX_ERR_NOT_FOUND, and of a lost coordinator's invitation this server knows nothing.
  static constexpr std::size_t most_over = 1024;

  Invited(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Questions& questions, GroupEvents& events,
          Groups& groups, Memberships& memberships);

  /// A process answers an invitation.
  void join(const Requester& from, const link::GroupJoin& message);
  /// A process of this node has ended, or has finalized.
  void lose(const pmix_proc_t& proc);
  // Invitations whose coordinator is lost (orphans.hpp).
  struct Orphan {
    InvitationName name;
    link::RankRuns members;
  };
  /// Those that wait for a word of that node.
  std::vector<Orphan> waiting_for_node(NodeNumber node) const;
  /// What this node knows of it. From here on it does not hear the old coordinator any more, and waits for
  /// `next`. Nothing: it knows nothing.
  std::optional<OrphanPart> hand_over(const InvitationName& name, NodeNumber next);
  /// It has ended: with a group, or without.
  void be_over(const OrphanAdopted& word);
  /// The word of the server that follows.
  void adopted(NodeNumber by, const OrphanAdopted& word);

  /// This node's part in an invitation that another node has named, or in a question to its processes.
  FencePart part_in(const FenceName& name) const;
  /// Processes of this node that have accepted, and have not heard what came of it.
  std::size_t joining() const noexcept { return joining_.size(); }

 private:
  struct Entry {
    InvitationName name;
    std::string group;
    pmix_proc_t leader;
    pmix_proc_t proc;
    bool has_accepted = false;
    pmix_status_t over = PMIX_SUCCESS;  ///< it has ended so without this process, which does not know yet
  };
  /// A process that has accepted, until the answer.
  struct Joining {
    Requester from;
    Entry entry;
    InvitationAnswer answer;
    bool is_over = false;  ///< its deadline has passed
    std::unique_ptr<Timer> deadline{};
  };
  /// What the coordinator has told of an invitation with processes of this node.
  struct Told {
    std::string group{};  ///< empty: nothing, and it does not hear the coordinator any more
    pmix_proc_t leader{};
    link::RankRuns members{};
    InvitationTerms terms{};
    std::optional<NodeNumber> next{};  ///< the coordinator is lost, and that server follows it
    std::vector<std::byte> made{};
    pmix_status_t failed = PMIX_SUCCESS;  ///< it has ended so
    /// Answers that came meanwhile, for the server that follows: it counts on these processes.
    std::vector<std::pair<pmix_proc_t, pmix_status_t>> late{};
  };
  using JoiningRef = std::shared_ptr<Joining>;

  void take(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  std::list<Entry>::iterator find(const pmix_proc_t& proc, const link::GroupJoin& message);
  void accept(Entry& entry, const Requester& from, const link::GroupJoin& message);
  void send_acceptance(const JoiningRef& joining);
  void watch_deadline(const JoiningRef& joining, data::Deadline until);
  void answered(const JoiningRef& joining, const InvitationName& asked, pmix_status_t status, Bytes body);
  void made(const JoiningRef& joining, pmix_status_t status, Bytes body);
  bool awaits(const std::string& group) const;
  void keep(const InvitationName& name, Told told);
  bool is_handed_over(const InvitationName& name) const;
  void answer(const Entry& entry, pmix_status_t status);
  bool may_come(const pmix_proc_t& proc) const;
  void erase(const Entry& entry);
  void end(const InvitationName& name, pmix_status_t status);
  void keep_failure(const InvitationName& name, pmix_status_t status);

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  const Questions& questions_;
  GroupEvents& events_;
  Groups& groups_;
  Memberships& memberships_;
  std::list<Entry> open_;  ///< until the process has heard how it ends, or has ended itself
  std::list<JoiningRef> joining_;
  Latest<InvitationName, Told, most_over> told_;  ///< those that processes here are in are not forgotten
};

}  // namespace weft::server
