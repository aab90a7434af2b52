// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a construct when a member is lost before it has called. The server of that member decides,
// by the handlers of those that have called anywhere: of the leaders (PMIX_GROUP_LEADER), or of all where
// there is none. The loop's thread only.
//
//   facts of all nodes: which members have called, which lead, does one of them want to be asked
//   (PMIX_GROUP_LEADER, PMIX_GROUP_NOTIFY_TERMINATION)
//     one goes on smaller          so do all
//     none wants to be asked       the construct fails, as without handlers
//     the lost one was a leader    PMIX_GROUP_LEADER_FAILED to all -> new leaders
//                                  -> PMIX_GROUP_LEADER_SELECTED
//     then                         PMIX_GROUP_INVITE_FAILED, or PMIX_GROUP_MEMBER_FAILED where a handler
//                                  names only that, to the leaders, else to all -> it goes on without the
//                                  member, is aborted, or fails where no handler is
//
// Of a node that is lost with its server the lowest of those that had begun the attempt decides in the same
// way, for each member of that node (operations_after_loss.cpp).
// Source: RFC 0033, PMIx_Group_construct; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/server/fences/fence_part.hpp"
#include "core/server/groups/handlers/decisions.hpp"
#include "core/server/groups/handlers/questions.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

class Losses {
 public:
  Losses(const Jobs& jobs, const OpenOperations& operations, PeerCalls& peers, Questions& questions,
         GroupEvents& events);

  struct Loss {
    FenceName construct;
    std::string group;
    pmix_proc_t proc{};
    pmix_status_t status = PMIX_ERROR;  ///< that the construct fails with where no handler decides
    bool was_leader = false;
    bool is_member =
        false;  ///< it has called, and its node's part is with the others: only a leader is looked for
  };
  struct Outcome {
    pmix_status_t status;  ///< PMIX_SUCCESS: it goes on without that process
    Procs leaders{};       ///< that were elected
  };
  using Decided = std::function<void(Outcome)>;
  /// decided: once, never before this returns.
  void decide(Loss loss, Decided decided);
  /// One after the other of these, up to the first without which it does not go on. loss.proc: not read.
  /// decided: with a status alone.
  void decide_each(Loss loss, Procs procs, Decided decided);

 private:
  struct Case;
  using CaseRef = std::shared_ptr<Case>;
  void tell_facts(NodeNumber from, FenceName construct, const Rpc::Reply& reply);
  void collected(const CaseRef& loss);
  void elect(const CaseRef& loss);
  void elected(const CaseRef& loss, const std::vector<Questions::Vote>& votes);
  void ask(const CaseRef& loss);
  void abort(const CaseRef& loss);
  static link::GroupQuestion question(const Case& loss, std::vector<pmix_status_t> codes);

  const Jobs& jobs_;
  const OpenOperations& operations_;
  PeerCalls& peers_;
  Questions& questions_;
  GroupEvents& events_;
};

}  // namespace weft::server
