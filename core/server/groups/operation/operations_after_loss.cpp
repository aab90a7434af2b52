// SPDX-License-Identifier: BSD-3-Clause
// Operations: what becomes of one in which a node is lost.
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
#include "core/server/groups/operation/operations.hpp"

namespace weft::server {

/// False: it has failed.
bool Operations::goes_on_after(const OperationRef& operation, const collectives::Loss& loss) {
  using collectives::AfterLoss;
  if (loss.agreed < AfterLoss::asks) return false;
  if (operation->key) rooms_.exchanges.go_over(*operation->key);
  operation->lost_nodes.insert(loss.node);
  operation->last_lost = loss.node;
  // From here on it is said by all: also to the server of a member that ends before it has called.
  operation->goes_on_smaller |= loss.agreed == AfterLoss::goes_on;
  // A leave ends no attempt that waits for its end by the views: it is seen here.
  if (operation->is_of_group() && operation->goes_on_smaller) adjust(*operation);
  leave_out_lost(*operation);
  const bool decides = loss.agreed == AfterLoss::asks && loss.first == rooms_.peers.self();
  step(operation, decides ? OperationEvent::unsure : OperationEvent::shrunk);
  return true;
}

void Operations::leave_out_lost(Operation& operation) const {
  Procs left;
  operation.absent.clear();
  for (const auto& proc : link::procs_or_none(rooms_.groups.by_rank(operation.set))) {
    const auto node = rooms_.peers.node_of(proc);
    (node && operation.lost_nodes.count(*node) != 0 ? operation.absent : left).push_back(proc);
  }
  const auto after_loss = after_loss_of(operation);
  auto begun_as = operation.begun_as;
  if (begun_as) begun_as->goes_on_smaller = after_loss == collectives::AfterLoss::goes_on;
  operation.participants =
      Participants(rooms_.groups.set_of_group(left), operation.name, after_loss, std::move(begun_as));
}

/// About the members of the node that was lost last.
void Operations::ask_handlers(const OperationRef& operation) {
  const FenceName construct{runs_of(operation->set), operation->key->second, operation->name};
  rooms_.losses.decide_each(
      {.construct = construct, .group = operation->name.group, .status = PMIX_ERR_PROC_ABORTED},
      members_on(operation->last_lost, operation->set),
      [this, weak = std::weak_ptr(operation)](const Losses::Outcome& outcome) {
        const auto asking = weak.lock();
        if (!asking) return;
        const bool goes_on = outcome.status == PMIX_SUCCESS;
        step(asking, goes_on ? OperationEvent::approved : OperationEvent::aborted, {outcome.status});
      });
}

void Operations::refuse(const OperationRef& operation, pmix_status_t why) {
  const bool is_host_to_hear = is_by_host(*operation) && !operation->arrived.empty();
  if (is_host_to_hear) tell_host(*operation, why);
  if (is_host_to_hear || !has_other_nodes(operation->set)) return fail(operation, why);
  if (!operation->participants) operation->participants = participants_of(*operation);
  refuse_attempt(operation, why);
}

/// Another node may have ended the next attempt before. One with a lost node ends as the survivors agree,
/// whatever this node does: it takes that end, and refuses the attempt that follows. The first without a lost
/// node is the one that the others wait in.
void Operations::refuse_attempt(const OperationRef& operation, pmix_status_t why) {
  const auto& participants = *operation->participants;
  if (rooms_.groups.are_all_here(participants) || !may_exchange_) return fail(operation, why);
  const auto key =
      rooms_.exchanges.refuse(participants, why, [this, operation, why](const Exchanges::End& ended) {
        const bool is_by_loss = ended.lost && ended.lost->agreed >= collectives::AfterLoss::asks;
        const bool goes_on = is_by_loss && !operation->is_owed;
        if (goes_on) {
          operation->lost_nodes.insert(ended.lost->node);
          leave_out_lost(*operation);
        }
        if (goes_on || is_others_alone(ended, why)) return refuse_attempt(operation, why);
        // Where it is owed, a loss has not ended what has called here.
        const bool is_kept = is_by_loss || (operation->is_owed && ended.lost);
        fail(operation, is_kept ? why : ended.status);
      });
  if (!key) return fail(operation, why);
  operation->key = *key;
}

/// Members of other nodes have tried alone, and have had such an end, where this node comes later.
bool Operations::is_others_alone(const Exchanges::End& ended, pmix_status_t why) noexcept {
  return ended.is_rival || (ended.status == PMIX_ERR_TIMEOUT && ended.status != why);
}

Procs Operations::members_on(NodeNumber node, const Procs& set) const {
  Procs out;
  rooms_.jobs.each_known([&](const Job& job) {
    for (const auto rank : job.view().ranks_on(node))
      if (const auto proc = link::make_proc(job.nspace, rank); events::covers(set, proc)) out.push_back(proc);
  });
  return out;
}

}  // namespace weft::server
