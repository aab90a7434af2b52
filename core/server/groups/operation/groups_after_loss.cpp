// SPDX-License-Identifier: BSD-3-Clause
// Groups: what becomes of an operation in which a node is lost.
//
//   an attempt among the nodes of a set ends with a loss: the same node, and the same word, at all that are
//   left (cluster/views.hpp)
//     the word is "fails"     it fails
//     the word is "goes on"   all that are left begin the next attempt, without the members of that node
//     the word is "asks"      the same, but the lowest of those that had begun the attempt (Loss::first)
//                             takes part in the next one when handlers of members have decided so
//                             (losses.hpp), and refuses it where they have decided otherwise
//
// The word is the highest that one of them has asked for (after_loss_of()). So all have the same attempts,
// one after the other, each with one lost node less, and no other message says how an operation goes on: to
// take part or to refuse is the vote. Where the server that asks handlers is lost, the attempt that waits for
// it ends with that loss, and the next server asks them.
#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/groups/operation/groups.hpp"

namespace weft::server {

/// False: it has failed.
bool Groups::goes_on_after(const OperationRef& operation, const collectives::Loss& loss) {
  using collectives::AfterLoss;
  if (loss.agreed < AfterLoss::asks) return false;
  operation->lost.insert(loss.node);
  // From here on it is said by all: also to the server of a member that ends before it has called.
  operation->meeting.goes_on_smaller |= loss.agreed == AfterLoss::goes_on;
  // A leave ends no attempt that waits for its end by the views: it is seen here.
  if (is_of_group(operation->meeting) && operation->meeting.goes_on_smaller) adjust(*operation);
  leave_out_lost(*operation);
  const bool decides = loss.agreed == AfterLoss::asks && loss.first == peers_.self();
  decides ? ask_handlers(operation, loss.node) : begin_again(operation);
  return true;
}

void Groups::leave_out_lost(Operation& operation) const {
  const auto& meeting = operation.meeting;
  Procs left;
  operation.absent.clear();
  for (const auto& proc : link::procs_of(by_rank(meeting.set)).value_or(Procs())) {
    const auto node = peers_.node_of(proc);
    (node && operation.lost.count(*node) != 0 ? operation.absent : left).push_back(proc);
  }
  operation.participants = Participants(set_of_group(left), operation_of(meeting), after_loss_of(meeting));
}

void Groups::ask_handlers(const OperationRef& operation, NodeNumber lost) {
  operations_.asking.push_back(operation);
  watch_deadline(operation);
  const auto& meeting = operation->meeting;
  const FenceName construct{runs_of(meeting.set), operation->key->second, operation_of(meeting)};
  losses_.decide_each({.construct = construct, .group = meeting.group, .status = PMIX_ERR_PROC_ABORTED},
                      members_on(lost, meeting.set), [this, operation](const Losses::Outcome& outcome) {
                        if (!is_asking(operation)) return;  // its deadline has passed
                        if (outcome.status != PMIX_SUCCESS) return give_up(operation, outcome.status);
                        std::erase(operations_.asking, operation);
                        begin_again(operation);
                      });
}

bool Groups::stop_asking(const OperationName& construct, const Procs& set, pmix_status_t why) {
  const auto asked =
      std::find_if(operations_.asking.begin(), operations_.asking.end(), [&](const OperationRef& each) {
        return each->participants.operation() == construct &&
               (is_same(each->meeting.set, set) || is_same(each->participants, set));
      });
  if (asked == operations_.asking.end()) return false;
  give_up(OperationRef(*asked), why);
  return true;
}

/// The others have begun the next attempt, and wait for this node's part in it.
void Groups::give_up(const OperationRef& operation, pmix_status_t why) {
  std::erase(operations_.asking, operation);
  refuse(operation, why);
  answer(operation->meeting, {why, {}, {}});
  tell_constructed(operation->meeting);
}

/// An attempt with a lost node has ended for those that have reported it, whatever this node does: it takes
/// the same end, and refuses the attempt that follows. The first without a lost node is the one that the
/// others wait in.
void Groups::refuse(const OperationRef& operation, pmix_status_t why) {
  const auto& participants = operation->participants;
  if (are_all_here(participants) || !may_exchange_) return;
  if (participants.after_loss() == collectives::AfterLoss::ends || !exchanges_.has_lost_node(participants))
    return exchanges_.refuse(participants, why);
  static_cast<void>(
      exchanges_.begin(participants, false, {}, [this, operation, why](const Exchanges::End& ended) {
        if (!ended.lost || ended.lost->agreed < collectives::AfterLoss::asks) return;
        operation->lost.insert(ended.lost->node);
        leave_out_lost(*operation);
        refuse(operation, why);
      }));
}

Procs Groups::members_on(NodeNumber node, const Procs& set) const {
  Procs out;
  jobs_.each([&](const Job& job) {
    for (const auto rank : job.view().ranks_on(node))
      if (const auto proc = link::make_proc(job.nspace, rank); events::covers(set, proc)) out.push_back(proc);
  });
  return out;
}

void Groups::begin_again(const OperationRef& operation) {
  if (!are_all_here(operation->participants)) return exchange(operation);
  const auto& meeting = operation->meeting;
  end(meeting, {std::move(operation->own), {.absent = link::runs_of(operation->absent)}});
  tell_constructed(meeting);
}

}  // namespace weft::server
