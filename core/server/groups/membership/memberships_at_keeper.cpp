// SPDX-License-Identifier: BSD-3-Clause
// Changes of members at the group's keeper: one after the other, each when the members' handlers have
// approved it and all servers of members have the one before.
#include <algorithm>

#include "core/server/groups/membership/memberships.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {

using Kind = ChangeRequest::Kind;

namespace {

/// Without those that leave, then those that join and are not in it.
link::RankRuns changed_members(const link::RankRuns& members, const ChangeRequest& request) {
  if (request.kind == Kind::leave) return link::runs_of(procs_without(members, request.procs));
  auto procs = link::procs_or_none(members);
  const auto joining = procs_without(request.procs, members);
  procs.insert(procs.end(), joining.begin(), joining.end());
  return link::runs_of(procs);
}

OperationName operation_of(const ChangeRequest& request) {
  const bool leaves = request.kind == Kind::leave;
  return {leaves ? OperationName::Kind::leave : OperationName::Kind::join, request.group};
}

}  // namespace

/// A process speaks by its own server; an extension comes from that of the member that has invited.
void Memberships::take_request(NodeNumber from, ChangeRequest request, const Rpc::Reply& reply) {
  const auto procs = jobs_.procs_of(request.procs);
  if (!procs || procs->empty() || !jobs_.may_be_named(request.known.members))
    return reply(PMIX_ERR_BAD_PARAM, {});
  peers_.when_known(procs->front(), [this, from, request = std::move(request), procs, reply] {
    take_known(from, request, *procs, reply);
  });
}

void Memberships::take_known(NodeNumber from, ChangeRequest request, const Procs& procs,
                             const Rpc::Reply& reply) {
  using Outcome = ChangeReply::Outcome;
  if (request.kind != Kind::extend && (procs.size() != 1 || peers_.node_of(procs.front()) != from))
    return reply(PMIX_ERR_BAD_PARAM, {});
  const auto& name = request.group;
  const auto answer = [reply](const ChangeReply& said) { reply(PMIX_SUCCESS, base::encode(said)); };
  const auto* group = groups_.table().find(name);
  if (group == nullptr && early_.is_expected(name)) {
    early_.keep({name, [=, this] { take_known(from, request, procs, reply); }});
    return;
  }
  const bool is_named = request.known.keeper == peers_.self();
  if (group != nullptr && group->keeper != peers_.self() && is_named) {
    take({name, request.known, {}}, {});
    group = groups_.table().find(name);
  }
  if (group == nullptr) return answer({Outcome::unknown});
  if (group->keeper != peers_.self()) return answer({Outcome::not_keeper, {}, MadeGroup{name, *group, {}}});
  enqueue({std::move(request), answer});
}

void Memberships::enqueue(Change change) {
  const auto& group = change.request.group;
  auto& queue = queues_[group];
  if (queue == nullptr) queue = std::make_shared<Queue>(Queue{group});
  queue->waiting.push_back(std::move(change));
  if (queue->waiting.size() == 1) begin(QueueRef(queue));
}

/// The change before may have left this server without members, and so with another keeper.
void Memberships::begin(const QueueRef& queue) {
  const auto* group = groups_.table().find(queue->group);
  if (group == nullptr) return end(queue, {ChangeReply::Outcome::unknown});
  if (group->keeper != peers_.self())
    return end(queue, {ChangeReply::Outcome::not_keeper, {}, MadeGroup{queue->group, *group, {}}});
  change(queue, *group);
}

void Memberships::change(const QueueRef& queue, const Group& group) {
  const auto& front = queue->waiting.front();
  if (front.is_withdrawn) return conclude(queue, PMIX_ERR_PROC_ABORTED);
  const bool has_been_made = front.request.is_made(group);
  switch (front.request.kind) {
    case Kind::leave:
      if (has_been_made) return conclude(queue, PMIX_ERR_NOT_FOUND);
      return group.options.approves_ends ? approve(queue, group, PMIX_GROUP_LEAVE_REQUEST) : apply(queue);
    case Kind::join:  // an invitation may have made it a member since it has called
      return has_been_made ? conclude(queue, PMIX_SUCCESS) : approve(queue, group, PMIX_GROUP_JOIN_REQUEST);
    case Kind::extend:
      return has_been_made ? conclude(queue, PMIX_SUCCESS) : apply(queue);
  }
}

/// All members but the process itself are asked; the first that refuses decides. A question that names a user
/// is refused for each process of another user that has no handler (Questions).
void Memberships::approve(const QueueRef& queue, const Group& group, pmix_status_t code) {
  const auto& request = queue->waiting.front().request;
  const auto who = link::procs_of(request.procs)->front();
  auto members = link::procs_of(group.members);
  queue->since = loop_.now();
  queue->is_reported = false;
  queue->asked = members ? std::move(*members) : Procs();
  std::erase_if(queue->asked, [&](const pmix_proc_t& proc) { return link::is_same(proc, who); });
  const auto make = [&group, &request, who, code] {
    auto out =
        GroupEvents::question(operation_of(request).kind, {code, who, request.group, &group.members, &who});
    if (request.kind == Kind::join) out.infos.add(PMIX_USERID, data::Value::of(request.uid));
    return out;
  };
  queue->poll = ++last_poll_;
  questions_.ask_all(queue->asked, make,
                     [this, queue, poll = last_poll_](const std::vector<Questions::Vote>& votes) {
                       if (queue->poll != poll) return;  // the process has ended meanwhile
                       queue->asked.clear();
                       groups_.table().settle();
                       const auto status = approval_of(votes);
                       status == PMIX_SUCCESS ? apply(queue) : conclude(queue, status);
                     });
}

void Memberships::apply(const QueueRef& queue) {
  const auto* group = groups_.table().find(queue->group);
  if (group == nullptr) return conclude(queue, PMIX_ERR_NOT_FOUND);
  auto& request = queue->waiting.front().request;
  ChangedGroup changed{{queue->group, *group, std::move(request.data)}, group->members};
  auto& after = changed.made.group;
  after.members = changed_members(changed.before, request);
  ++after.version;
  after.series = groups_.next_series();
  after.maker = peers_.self();
  const auto by_node = peers_.by_node(link::procs_or_none(after.members));
  if (by_node.count(peers_.self()) == 0) after.keeper = keeper_after(after);
  distribute(changed, [this, queue, made = changed.made](bool is_made) {
    if (!is_made) return conclude(queue, PMIX_ERR_NOT_FOUND);
    end(queue, {ChangeReply::Outcome::decided, PMIX_SUCCESS, made});
  });
}

/// To the servers of those that were members, of which this one is the last: where it keeps the group no more
/// all others know that. Then to those of new ones; the next change waits for all of them. Where the members
/// of a server have ended the group a join comes too late: the end has the parts of all, and is on its way.
void Memberships::distribute(const ChangedGroup& changed, const std::function<void(bool is_made)>& taken) {
  auto others = peers_.by_node(link::procs_or_none(changed.before));
  const auto joined = procs_without(changed.made.group.members, changed.before);
  auto joining = peers_.by_node(joined);
  for (const auto& [node, procs] : others) joining.erase(node);
  for (auto* nodes : {&others, &joining}) nodes->erase(peers_.self());
  const auto body = base::encode(changed);
  const bool is_join = !joined.empty();
  const auto tell_joining = [this, joining, is_join, body, taken](bool has_ended) {
    if (has_ended && is_join) return taken(false);
    tell_all(joining, body, [taken](bool) { taken(true); });
  };
  tell_all(others, body, [this, is_join, body, taken, tell_joining](bool has_ended) {
    if (has_ended && is_join) return taken(false);
    tell_all({{peers_.self(), {}}}, body, tell_joining);
  });
}

/// told: has it ended at one of them? Perhaps before this returns.
void Memberships::tell_all(const std::map<NodeNumber, Procs>& nodes, const std::vector<std::byte>& change,
                           const std::function<void(bool has_ended)>& told) {
  if (nodes.empty()) return told(false);
  const auto open = std::make_shared<std::pair<std::size_t, bool>>(nodes.size(), false);
  for (const auto& [node, procs] : nodes)
    peers_.send(node, RequestType::group_changed, change,
                PeerCalls::expect<ChangedReply>([open, told](const auto& reply) {
                  open->second |= reply && reply->outcome == ChangedReply::Outcome::ended;
                  if (--open->first == 0) told(open->second);
                }));
}

void Memberships::lose(const pmix_proc_t& proc) {
  std::vector<QueueRef> ended;
  for (auto& [name, queue] : queues_) {
    for (auto& change : queue->waiting)
      change.is_withdrawn |= change.request.kind == Kind::join && link::holds(change.request.procs, proc);
    if (queue->waiting.front().is_withdrawn && !queue->asked.empty()) ended.push_back(queue);
  }
  for (const auto& queue : ended) conclude(queue, PMIX_ERR_PROC_ABORTED);
}

/// With the group as it is.
void Memberships::conclude(const QueueRef& queue, pmix_status_t status) {
  ChangeReply out{ChangeReply::Outcome::decided, status};
  if (const auto* group = groups_.table().find(queue->group)) out.made = MadeGroup{queue->group, *group, {}};
  end(queue, out);
}

void Memberships::end(const QueueRef& queue, const ChangeReply& reply) {
  const auto held = queue;  // where it is the one in queues_
  held->asked.clear();
  held->poll = 0;
  const auto answer = std::move(held->waiting.front().reply);
  held->waiting.pop_front();
  answer(reply);
  if (held->waiting.empty())
    queues_.erase(held->group);
  else
    begin(held);
}

// ---- which ranks are missing

/// A process that is waited for is asked.
void Memberships::each_wait(const SeeWait& see) {
  for (const auto& [name, queue] : queues_)
    if (!queue->asked.empty())
      see({{link::runs_of(queue->asked), 1, operation_of(queue->waiting.front().request)},
           queue->since,
           queue->is_reported,
           [](const pmix_proc_t&) { return true; }});
}

}  // namespace weft::server
