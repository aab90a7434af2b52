// SPDX-License-Identifier: BSD-3-Clause
// The processes of this node that are invited to a group, and what they answer. The leader's side is invitations.hpp. The loop's thread only.
//
// The call of a process that accepts waits until the group is made or is not: its server's message to the leader's waits for its reply. So a
// leader's node that is lost ends it.
#pragma once

#include <asio/steady_timer.hpp>
#include <list>
#include <memory>

#include "core/server/groups/group_events.hpp"
#include "core/server/groups/groups.hpp"
#include "core/server/groups/invitation.hpp"
#include "core/server/groups/memberships.hpp"
#include "core/server/groups/questions.hpp"

namespace weft::server {

class Invited {
 public:
  /// Of invitations that ended before a process answered, so many are remembered, for the answer that may come.
  static constexpr std::size_t most_over = 1024;

  Invited(asio::io_context& loop, const Jobs& jobs, PeerCalls& peers, const Questions& questions,
          GroupEvents& events, Groups& groups, Memberships& memberships);

  /// A process answers an invitation.
  void join(const Requester& from, const link::GroupJoin& message);
  /// A process of this node has ended, or has finalized.
  void lose(const pmix_proc_t& proc);
  /// Invitations by processes of that node end.
  void node_lost(NodeNumber node);

  /// This node's part in an invitation that another node has named, or in a question to its processes.
  FencePart part_in(const FenceName& name) const;

 private:
  struct Entry {
    std::uint64_t number;
    NodeNumber coordinator;
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
    bool is_over = false;  ///< its deadline has passed
    std::unique_ptr<asio::steady_timer> deadline{};
  };

  void take(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  std::list<Entry>::iterator find(const pmix_proc_t& proc, const link::GroupJoin& message);
  void accept(Entry& entry, const Requester& from, const link::GroupJoin& message);
  void watch_deadline(const std::shared_ptr<Joining>& joining, data::Deadline until);
  void made(Joining& joining, pmix_status_t status, Bytes body);
  void answer(const Entry& entry, pmix_status_t status);
  bool may_come(const pmix_proc_t& proc) const;
  void tell_failed(const Entry& entry);
  void erase(const Entry& entry);
  void end(NodeNumber coordinator, std::uint64_t number, pmix_status_t status);

  asio::io_context& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  const Questions& questions_;
  GroupEvents& events_;
  Groups& groups_;
  Memberships& memberships_;
  std::list<Entry> open_;  ///< until the process has heard how it ends, or has ended itself
};

}  // namespace weft::server
