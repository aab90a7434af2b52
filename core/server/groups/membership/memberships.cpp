// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/membership/memberships.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

using Kind = ChangeRequest::Kind;

/// How often a request is sent: the keeper may be lost while it is under way, and the next one, too.
constexpr unsigned most_tries = 8;

/// Without those that leave, then those that join and are not in it.
link::RankRuns changed_members(const link::RankRuns& members, const ChangeRequest& request) {
  auto procs = link::procs_of(members);
  const auto named = link::procs_of(request.procs);
  if (!procs || !named) return members;
  if (request.kind == Kind::leave)
    std::erase_if(*procs, [&](const pmix_proc_t& proc) { return link::holds(request.procs, proc); });
  for (const auto& proc : *named)
    if (request.kind != Kind::leave && !link::holds(members, proc)) procs->push_back(proc);
  return link::runs_of(*procs);
}

link::RankRuns members_without(const link::RankRuns& members, const link::RankRuns& others) {
  auto procs = link::procs_of(members).value_or(Procs());
  std::erase_if(procs, [&](const pmix_proc_t& proc) { return link::holds(others, proc); });
  return link::runs_of(procs);
}

OperationName operation_of(const ChangeRequest& request) {
  return {request.kind == Kind::leave ? OperationName::Kind::leave : OperationName::Kind::join,
          request.group};
}

}  // namespace

Memberships::Memberships(Loop& loop, const Jobs& jobs, PeerCalls& peers, Questions& questions,
                         GroupEvents& events, Groups& groups, Operations& operations, Gatherings& gatherings)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      questions_(questions),
      events_(events),
      groups_(groups),
      gatherings_(gatherings) {
  peers_.on(RequestType::group_ask, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    take_request(from, body, reply);
  });
  operations.on_constructed([this](const std::string& group) { take_early(group); });
  peers_.on(RequestType::group_changed,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { take_change(body, reply); });
  peers_.on(RequestType::group_find,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_inquiry(body, reply); });
  peers_.on(RequestType::group_names,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_names(body, reply); });
}

// ---- of a process of this node

void Memberships::leave(const Requester& from, const link::GroupLeave& message) {
  const auto* group = groups_.table().find(message.group);
  if (group == nullptr || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  ask_keeper({Kind::leave, message.group, link::runs_of({from.proc()}), {}, 0}, {},
             [from](pmix_status_t status, const MadeGroup&) { from.reply(status); });
}

void Memberships::join(const Requester& from, const link::GroupJoin& message) {
  auto given = data_of(from.proc(), message.directives);
  if (from.connection->job == nullptr || message.accepts == 0 || !given)
    return from.reply(PMIX_ERR_BAD_PARAM);
  ChangeRequest request{Kind::join, message.group, link::runs_of({from.proc()}), {}, from.connection->uid};
  if (*given) request.data.push_back(std::move(**given));
  ask_keeper(request, {}, [this, from](pmix_status_t status, const MadeGroup& made) {
    groups_.admit(from, status, made);
  });
}

void Memberships::extend(const std::string& group, const Procs& procs, std::vector<MemberData> data,
                         Changed changed) {
  ask_keeper({Kind::extend, group, link::runs_of(procs), std::move(data), 0}, {}, changed);
}

// ---- the way to the keeper

/// Where the group's own is lost, or has no member any more, the first in the order of members that is there.
NodeNumber Memberships::keeper_of(const Group& group) const {
  const auto there = peers_.nodes();
  std::optional<NodeNumber> next;
  for (const auto& proc : link::procs_of(group.members).value_or(Procs())) {
    const auto node = peers_.node_of(proc);
    if (!node || std::find(there.begin(), there.end(), *node) == there.end()) continue;
    if (*node == group.keeper) return *node;
    if (!next) next = node;
  }
  return next.value_or(peers_.self());
}

/// What this server knows of the group may be old where the first try has failed: then all servers are asked.
void Memberships::ask_keeper(const ChangeRequest& request, Tries tries, const Changed& changed) {
  groups_.table().settle();
  const auto send = [this, request, tries, changed](const Group& group) {
    peers_.send(keeper_of(group), RequestType::group_ask, base::encode(request),
                [this, request, tries, changed](pmix_status_t status, Bytes body) {
                  tried(request, tries, changed, status, body);
                });
  };
  if (const auto* group = groups_.table().find(request.group); group != nullptr && tries.count == 0)
    return send(*group);
  find(request.group, [this, send, request, tries, changed](const Known& known) {
    if (known.newest) return send(known.newest->group);
    tried(request, {most_tries, tries.has_lost_keeper}, changed, PMIX_ERR_NOT_FOUND, {});
  });
}

/// A server that cannot decide says so without a group.
void Memberships::tried(const ChangeRequest& request, Tries tries, const Changed& changed,
                        pmix_status_t status, Bytes body) {
  const bool is_undecided = body.empty() && (status == PMIX_ERR_UNREACH || status == PMIX_ERR_RESOURCE_BUSY);
  if (is_undecided && tries.count < most_tries)
    return ask_keeper(request, {tries.count + 1, tries.has_lost_keeper || status == PMIX_ERR_UNREACH},
                      changed);
  if (is_undecided && status == PMIX_ERR_RESOURCE_BUSY) status = PMIX_ERR_NOT_FOUND;
  const bool is_left = request.kind == Kind::leave && status == PMIX_ERR_NOT_FOUND;
  const bool is_joined = request.kind == Kind::join && status == PMIX_ERR_EXISTS;
  if (tries.has_lost_keeper && (is_left || is_joined)) status = PMIX_SUCCESS;
  changed(status, groups_.made_in(body).value_or(MadeGroup{}));
}

void Memberships::find(const std::string& group, Found found) {
  struct Search {
    Known known;
    std::size_t left;
    Found found;
  };
  const auto nodes = peers_.nodes();
  const auto search = std::make_shared<Search>(Search{{}, nodes.size(), std::move(found)});
  for (const auto node : nodes)
    peers_.send(node, RequestType::group_find, base::encode(GroupInquiry{group}),
                [this, search](pmix_status_t status, Bytes body) {
                  auto& [newest, oldest] = search->known;
                  auto made = status == PMIX_SUCCESS ? groups_.made_in(body) : weft::fail(Errc::not_found);
                  if (made && (!newest || made->group.version > newest->group.version)) newest = *made;
                  if (made && (!oldest || made->group.version < oldest->group.version)) oldest = *made;
                  if (--search->left == 0) search->found(search->known);
                });
}

void Memberships::answer_inquiry(Bytes body, const Rpc::Reply& reply) const {
  const auto inquiry = base::decode<GroupInquiry>(body);
  if (!inquiry) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* group = groups_.table().find(inquiry->group);
  if (group == nullptr) return reply(PMIX_ERR_NOT_FOUND, {});
  reply(PMIX_SUCCESS, base::encode(MadeGroup{inquiry->group, *group, {}}));
}

void Memberships::names_of(const pmix_proc_t& proc,
                           std::function<void(const std::vector<std::string>& names)> named) {
  const auto node = peers_.node_of(proc);
  peers_.send(node.value_or(peers_.self()), RequestType::group_names, base::encode(NamesInquiry{proc}),
              [named = std::move(named)](pmix_status_t status, Bytes body) {
                const auto groups = base::decode<GroupNames>(body);
                named(status == PMIX_SUCCESS && groups ? groups->names : std::vector<std::string>());
              });
}

void Memberships::answer_names(Bytes body, const Rpc::Reply& reply) const {
  const auto inquiry = base::decode<NamesInquiry>(body);
  if (!inquiry) return reply(PMIX_ERR_BAD_PARAM, {});
  GroupNames out;
  groups_.table().each([&](const std::string& name, const Group& group) {
    if (link::holds(group.members, inquiry->proc)) out.names.push_back(name);
  });
  reply(PMIX_SUCCESS, base::encode(out));
}

bool Memberships::is_being_made(const std::string& group) const {
  return groups_.is_constructing(group) || awaits_(group);
}

// ---- at the keeper

/// A process speaks by its own server; an extension comes from that of the member that has invited.
void Memberships::take_request(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  auto request = base::decode<ChangeRequest>(body);
  const auto procs =
      request && is_valid(*request) ? jobs_.procs_of(request->procs) : weft::fail(Errc::corrupt);
  if (!procs || procs->empty()) return reply(PMIX_ERR_BAD_PARAM, {});
  if (request->kind != Kind::extend && (procs->size() != 1 || peers_.node_of(procs->front()) != from))
    return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* group = groups_.table().find(request->group);
  if (group == nullptr && is_being_made(request->group)) {
    early_.push_back({request->group, [this, from, bytes = std::vector<std::byte>(body.begin(), body.end()),
                                       reply] { take_request(from, bytes, reply); }});
    return;
  }
  // It may have ended, or another server keeps it since: the asker looks for that.
  if (group == nullptr) return reply(PMIX_ERR_RESOURCE_BUSY, {});
  Change change{std::move(*request), [reply](pmix_status_t status, const MadeGroup& made) {
                  reply(status, made.name.empty() ? std::vector<std::byte>() : base::encode(made));
                }};
  if (keeper_of(*group) == peers_.self()) return enqueue(std::move(change));
  // The asker may know more than this server: of a lost node, or of a change.
  find(change.request.group, [this, change, reply](const Known& known) {
    const bool is_keeper = known.newest && keeper_of(known.newest->group) == peers_.self();
    is_keeper ? enqueue(change) : reply(PMIX_ERR_RESOURCE_BUSY, {});
  });
}

void Memberships::take_early(const std::string& group) {
  groups_.table().settle();
  const auto first = std::stable_partition(early_.begin(), early_.end(),
                                           [&](const Early& each) { return each.group != group; });
  const std::vector<Early> ready(first, early_.end());
  early_.erase(first, early_.end());
  for (const auto& each : ready) each.take();
}

void Memberships::enqueue(Change change) {
  const auto& group = change.request.group;
  auto& queue = queues_[group];
  if (queue == nullptr) queue = std::make_shared<Queue>(Queue{group});
  queue->waiting.push_back(std::move(change));
  if (queue->waiting.size() == 1) begin(QueueRef(queue));
}

/// The change before may have left this server without members.
void Memberships::begin(const QueueRef& queue) {
  auto* group = groups_.table().find(queue->group);
  if (group == nullptr) return end(queue, PMIX_ERR_RESOURCE_BUSY, {});
  if (group->keeper != peers_.self() || keeper_of(*group) != peers_.self()) return follow_keeper(queue);
  change(queue, *group);
}

/// Where the last change of the keeper before has not reached this server, another one may be the next keeper
/// by it.
void Memberships::follow_keeper(const QueueRef& queue) {
  find(queue->group, [this, queue](const Known& known) {
    if (!known.newest || keeper_of(known.newest->group) != peers_.self())
      return end(queue, PMIX_ERR_RESOURCE_BUSY, {});
    const auto& newest = *known.newest;
    const auto& oldest = *known.oldest;
    if (newest.group.version == oldest.group.version) return succeed(queue);
    ChangedGroup changed{newest, {}, {}};
    changed.made.group.keeper = peers_.self();
    changed.left = members_without(oldest.group.members, newest.group.members);
    changed.joined = members_without(newest.group.members, oldest.group.members);
    distribute(changed, [this, queue] { succeed(queue); });
  });
}

void Memberships::succeed(const QueueRef& queue) {
  auto* group = groups_.table().find(queue->group);
  if (group == nullptr) return end(queue, PMIX_ERR_RESOURCE_BUSY, {});
  group->keeper = peers_.self();
  change(queue, *group);
}

void Memberships::change(const QueueRef& queue, Group& group) {
  const auto& front = queue->waiting.front();
  if (front.is_withdrawn) return end(queue, PMIX_ERR_PROC_ABORTED, {});
  const auto& request = front.request;
  const auto procs = link::procs_of(request.procs);
  const bool are_members = std::all_of(procs->begin(), procs->end(), [&](const pmix_proc_t& proc) {
    return link::holds(group.members, proc);
  });
  switch (request.kind) {
    case Kind::leave:
      if (!are_members) return end(queue, PMIX_ERR_NOT_FOUND, {});
      return group.options.approves_ends ? approve(queue, group, PMIX_GROUP_LEAVE_REQUEST) : apply(queue);
    case Kind::join:
      return are_members ? end(queue, PMIX_ERR_EXISTS, {queue->group, group, {}})
                         : approve(queue, group, PMIX_GROUP_JOIN_REQUEST);
    case Kind::extend:
      return apply(queue);
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
    link::GroupQuestion out;
    out.operation = to_text(operation_of(request));
    out.codes = {code};
    out.source = who;
    out.infos = GroupEvents::infos_of({code, who, request.group, &group.members, &who});
    if (request.kind == Kind::join) out.infos.add(PMIX_USERID, data::Value::of(request.uid));
    return out;
  };
  queue->poll = ++last_poll_;
  questions_.ask_all(
      queue->asked, make, [this, queue, poll = last_poll_](const std::vector<Questions::Vote>& votes) {
        if (queue->poll != poll) return;  // the process has ended meanwhile
        queue->asked.clear();
        groups_.table().settle();
        const auto status = approval_of(votes);
        if (status == PMIX_SUCCESS) return apply(queue);
        const auto* refused = groups_.table().find(queue->group);
        end(queue, status, refused != nullptr ? MadeGroup{queue->group, *refused, {}} : MadeGroup{});
      });
}

/// To the servers of those that were members, and of those that will be. The next change waits for all of
/// them.
void Memberships::apply(const QueueRef& queue) {
  auto* group = groups_.table().find(queue->group);
  if (group == nullptr) return end(queue, PMIX_ERR_NOT_FOUND, {});
  auto& request = queue->waiting.front().request;
  const auto before = group->members;
  group->members = changed_members(before, request);
  ++group->version;
  ChangedGroup changed{{queue->group, *group, std::move(request.data)}, {}, {}};
  (request.kind == Kind::leave ? changed.left : changed.joined) = request.procs;
  --group->version;  // this server takes the change as all do
  group->members = before;
  distribute(changed, [this, queue, made = changed.made] { end(queue, PMIX_SUCCESS, made); });
}

void Memberships::distribute(const ChangedGroup& changed, std::function<void()> taken) {
  auto procs = link::procs_of(changed.made.group.members).value_or(Procs());
  for (const auto* runs : {&changed.left, &changed.joined}) {
    const auto more = link::procs_of(*runs).value_or(Procs());
    procs.insert(procs.end(), more.begin(), more.end());
  }
  auto nodes = peers_.by_node(procs);
  nodes.try_emplace(peers_.self());
  const auto left = std::make_shared<std::size_t>(nodes.size());
  for (const auto& [node, of_it] : nodes)
    peers_.send(node, RequestType::group_changed, base::encode(changed), [left, taken](pmix_status_t, Bytes) {
      if (--*left == 0) taken();
    });
}

void Memberships::lose(const pmix_proc_t& proc) {
  std::vector<QueueRef> ended;
  for (auto& [name, queue] : queues_) {
    for (auto& change : queue->waiting)
      change.is_withdrawn |= change.request.kind == Kind::join && link::holds(change.request.procs, proc);
    if (queue->waiting.front().is_withdrawn && !queue->asked.empty()) ended.push_back(queue);
  }
  for (const auto& queue : ended) end(queue, PMIX_ERR_PROC_ABORTED, {});
}

void Memberships::end(const QueueRef& queue, pmix_status_t status, const MadeGroup& made) {
  const auto held = queue;  // where it is the one in queues_
  held->asked.clear();
  held->poll = 0;
  const auto changed = std::move(held->waiting.front().changed);
  held->waiting.pop_front();
  changed(status, made);
  if (held->waiting.empty())
    queues_.erase(held->group);
  else
    begin(held);
}

// ---- at the servers of members

void Memberships::take_change(Bytes body, const Rpc::Reply& reply) {
  const auto changed = base::decode<ChangedGroup>(body);
  const auto left = changed ? jobs_.procs_of(changed->left) : weft::fail(Errc::corrupt);
  const auto joined = changed ? jobs_.procs_of(changed->joined) : weft::fail(Errc::corrupt);
  const bool is_valid = left && joined && !(left->empty() && joined->empty()) &&
                        jobs_.may_be_named(changed->made.group.members);
  if (!is_valid) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto& made = changed->made;
  if (is_being_made(made.name)) {
    early_.push_back({made.name, [this, bytes = std::vector<std::byte>(body.begin(), body.end()), reply] {
                        take_change(bytes, reply);
                      }});
    return;
  }
  const auto* known = groups_.table().find(made.name);
  const auto before = known == nullptr ? Procs() : link::procs_of(known->members).value_or(Procs());
  if (groups_.take_change(made, *left)) {
    auto members = link::procs_of(made.group.members);
    auto here = members ? peers_.by_node(*members)[peers_.self()] : Procs();
    for (const auto& proc : *left) {
      gatherings_.left(made.name, proc, before);
      events_.tell({PMIX_GROUP_LEFT, proc, made.name, &made.group.members, &proc}, here);
    }
    if (!joined->empty()) gatherings_.joined(made.name, before);
    for (const auto& proc : *joined)
      if (made.group.options.tells_joins)
        events_.tell({PMIX_PROC_HAS_JOINED, proc, made.name, &made.group.members, &proc}, here);
    const auto& source = left->empty() ? joined->front() : left->front();
    events_.tell({PMIX_GROUP_MEMBERSHIP_UPDATE, source, made.name, &made.group.members, nullptr}, here);
  }
  reply(PMIX_SUCCESS, {});
}

// ---- which ranks are missing

FencePart Memberships::part_of(const Queue& queue) const {
  const auto operation = operation_of(queue.waiting.front().request);
  return local_part(jobs_, queue.asked, {link::runs_of(queue.asked), 1, operation},
                    [&](const Job& job, std::uint32_t local) {
                      return !questions_.is_asked(link::make_proc(job.nspace, job.rank_of(local)),
                                                  to_text(operation));
                    });
}

std::vector<FencePart> Memberships::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& [name, queue] : queues_)
    if (!queue->asked.empty()) out.push_back(part_of(*queue));
  return out;
}

std::vector<Fences::Waiting> Memberships::waiting_for(std::chrono::seconds limit) {
  std::vector<Fences::Waiting> out;
  for (auto& [name, queue] : queues_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - queue->since);
    if (queue->asked.empty() || queue->is_reported || age < limit) continue;
    queue->is_reported = true;
    const auto by_node = peers_.by_node(queue->asked);
    const bool is_between_nodes = std::any_of(by_node.begin(), by_node.end(),
                                              [&](const auto& each) { return each.first != peers_.self(); });
    out.push_back({part_of(*queue), age, is_between_nodes, true});
  }
  return out;
}

}  // namespace weft::server
