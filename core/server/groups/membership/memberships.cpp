// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/membership/memberships.hpp"

#include <algorithm>
#include <utility>

#include "core/server/fences/local_part.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

using Kind = ChangeRequest::Kind;

/// Of these, those that the others do not hold.
Procs procs_without(const link::RankRuns& procs, const link::RankRuns& others) {
  auto out = link::procs_of(procs).value_or(Procs());
  std::erase_if(out, [&](const pmix_proc_t& proc) { return link::holds(others, proc); });
  return out;
}

/// Without those that leave, then those that join and are not in it.
link::RankRuns changed_members(const link::RankRuns& members, const ChangeRequest& request) {
  if (request.kind == Kind::leave) return link::runs_of(procs_without(members, request.procs));
  auto procs = link::procs_of(members).value_or(Procs());
  const auto joining = procs_without(request.procs, members);
  procs.insert(procs.end(), joining.begin(), joining.end());
  return link::runs_of(procs);
}

/// The group is what the request wants it to be.
bool is_made(const ChangeRequest& request, const Group& group) {
  const auto others = procs_without(request.procs, group.members);
  return request.kind == Kind::leave ? !others.empty() : others.empty();
}

OperationName operation_of(const ChangeRequest& request) {
  return {request.kind == Kind::leave ? OperationName::Kind::leave : OperationName::Kind::join,
          request.group};
}

}  // namespace

void MembersItem::add(MembersItem other) {
  const bool is_newer = other.group.version > group.version;
  if (is_newer || (other.group.version == group.version && is_open && !other.is_open))
    group = std::move(other.group);
}

Memberships::Memberships(Loop& loop, const Jobs& jobs, PeerCalls& peers, Questions& questions,
                         GroupEvents& events, Groups& groups, Operations& operations, Gatherings& gatherings)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      questions_(questions),
      events_(events),
      groups_(groups),
      gatherings_(gatherings) {
  peers_.add_view_room(*this);
  peers_.on(RequestType::group_ask, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    take_request(from, body, reply);
  });
  operations.on_constructed([this](const std::string& group) { take_early(group); });
  peers_.on(RequestType::group_changed,
            [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) { take_change(from, body, reply); });
  peers_.on(RequestType::group_find,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_inquiry(body, reply); });
  peers_.on(RequestType::group_names,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_names(body, reply); });
}

// ---- of a process of this node

void Memberships::leave(const Requester& from, const link::GroupLeave& message) {
  const auto* group = groups_.table().find(message.group);
  if (group == nullptr || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  ask({Kind::leave, message.group, link::runs_of({from.proc()}), {}, 0},
      [from](pmix_status_t status, const MadeGroup&) { from.reply(status); });
}

void Memberships::join(const Requester& from, const link::GroupJoin& message) {
  auto given = data_of(from.proc(), message.directives);
  if (from.connection->job == nullptr || message.accepts == 0 || !given)
    return from.reply(PMIX_ERR_BAD_PARAM);
  ChangeRequest request{Kind::join, message.group, link::runs_of({from.proc()}), {}, from.connection->uid};
  if (*given) request.data.push_back(std::move(**given));
  ask(std::move(request),
      [this, from](pmix_status_t status, const MadeGroup& made) { groups_.admit(from, status, made); });
}

void Memberships::extend(const std::string& group, const Procs& procs, std::vector<MemberData> data,
                         Changed changed) {
  ask({Kind::extend, group, link::runs_of(procs), std::move(data), 0}, std::move(changed));
}

// ---- the way to the keeper

void Memberships::ask(ChangeRequest message, Changed changed) {
  groups_.table().settle();
  const auto request = std::make_shared<Request>(Request{std::move(message), std::move(changed)});
  requests_.push_back(request);
  const auto* group = groups_.table().find(request->message.group);
  request->message.known.version = 0;
  group != nullptr ? ask_keeper(request, *group) : find_newer(request);
}

void Memberships::ask_keeper(const RequestRef& request, const Group& group) {
  request->message.known = group;
  request->waits_for_view = peers_.is_gone(group.keeper);
  if (request->waits_for_view) return peers_.want_view();
  peers_.send(group.keeper, RequestType::group_ask, base::encode(request->message),
              [this, request](pmix_status_t status, Bytes body) { replied(request, status, body); });
}

void Memberships::replied(const RequestRef& request, pmix_status_t status, Bytes body) {
  using Outcome = ChangeReply::Outcome;
  if (!request->changed || request->waits_for_view) return;  // a view has decided, or will
  const auto reply = status == PMIX_SUCCESS ? base::decode<ChangeReply>(body) : weft::fail(Errc::not_found);
  if (!reply && peers_.is_gone(request->message.known.keeper))
    return ask_keeper(request, Group(request->message.known));
  const bool is_valid = reply && (!reply->made || jobs_.may_be_named(reply->made->group.members));
  if (!is_valid) return finish(request, reply ? PMIX_ERR_UNPACK_FAILURE : PMIX_ERR_UNREACH);
  const bool knows_more = reply->made && reply->made->group.version > request->message.known.version;
  if (reply->outcome == Outcome::decided)
    finish(request, reply->status, reply->made.value_or(MadeGroup{}));
  else
    knows_more ? ask_keeper(request, reply->made->group) : find_newer(request);
}

/// A keeper that does not know a group any more has told the members' servers before of the one that follows.
void Memberships::find_newer(const RequestRef& request) {
  struct Search {
    std::size_t left;
    std::optional<Group> newest{};
  };
  const auto nodes = peers_.nodes();
  const auto search = std::make_shared<Search>(Search{nodes.size()});
  const auto inquiry = base::encode(GroupInquiry{request->message.group});
  for (const auto node : nodes)
    peers_.send(node, RequestType::group_find, inquiry, [this, request, search](pmix_status_t, Bytes body) {
      auto found = base::decode<FoundGroup>(body);
      const bool is_valid = found && found->group && jobs_.may_be_named(found->group->members);
      if (is_valid && (!search->newest || found->group->version > search->newest->version))
        search->newest = std::move(found->group);
      if (--search->left != 0) return;
      const bool is_newer = search->newest && search->newest->version > request->message.known.version;
      is_newer ? ask_keeper(request, *search->newest) : finish(request, PMIX_ERR_NOT_FOUND);
    });
}

void Memberships::finish(const RequestRef& request, pmix_status_t status, const MadeGroup& made) {
  requests_.remove(request);
  std::exchange(request->changed, nullptr)(status, made);
}

void Memberships::answer_inquiry(Bytes body, const Rpc::Reply& reply) const {
  const auto inquiry = base::decode<GroupInquiry>(body);
  if (!inquiry) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* group = groups_.table().find(inquiry->group);
  reply(PMIX_SUCCESS, base::encode(FoundGroup{group != nullptr ? std::optional(*group) : std::nullopt}));
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

// ---- a lost keeper

/// Of the first in the order of members that is there; none is: the same as now.
NodeNumber Memberships::keeper_after(const Group& group) const {
  for (const auto& proc : link::procs_of(group.members).value_or(Procs()))
    if (const auto node = peers_.node_of(proc); node && !peers_.is_gone(*node)) return *node;
  return group.keeper;
}

bool Memberships::is_waiting(const Request& request) const {
  return request.waits_for_view || peers_.is_gone(request.message.known.keeper);
}

bool Memberships::has_undecided() const {
  const auto own = items();
  return std::any_of(own.begin(), own.end(), [](const MembersItem& item) { return item.is_open; });
}

/// A group as it was made has the same members everywhere: it needs a keeper only where a request is about it.
std::vector<MembersItem> Memberships::items() const {
  std::map<std::string, Group> known;
  groups_.table().each([&](const std::string& name, const Group& group) {
    if (group.version > 1) known.emplace(name, group);
  });
  for (const auto& request : requests_) {
    if (!is_waiting(*request)) continue;
    const auto* group = groups_.table().find(request->message.group);
    known.emplace(request->message.group, group != nullptr ? *group : request->message.known);
  }
  std::vector<MembersItem> out;
  for (auto& [name, group] : known) {
    const bool is_open = peers_.is_gone(group.keeper);
    if (is_open) {
      group.keeper = keeper_after(group);
      ++group.version;
    }
    out.push_back({is_open, name, std::move(group)});
  }
  return out;
}

void Memberships::settle(std::vector<MembersItem> decided) {
  groups_.table().settle();
  for (const auto& [is_open, name, group] : decided) {
    if (!jobs_.may_be_named(group.members)) continue;
    const MadeGroup made{name, group, {}};
    if (groups_.table().find(name) != nullptr) take(made, {});
    const auto requests = requests_;
    for (const auto& request : requests) {
      if (request->message.group != made.name || !is_waiting(*request)) continue;
      const bool has_none_left = peers_.is_gone(keeper_after(made.group));
      if (is_made(request->message, made.group))
        finish(request, PMIX_SUCCESS, made);
      else
        has_none_left ? finish(request, PMIX_ERR_NOT_FOUND) : ask_keeper(request, made.group);
    }
  }
}

// ---- at the keeper

/// A process speaks by its own server; an extension comes from that of the member that has invited.
void Memberships::take_request(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  using Outcome = ChangeReply::Outcome;
  auto request = base::decode<ChangeRequest>(body);
  const auto procs = request ? jobs_.procs_of(request->procs) : weft::fail(Errc::corrupt);
  if (!procs || procs->empty() || !jobs_.may_be_named(request->known.members))
    return reply(PMIX_ERR_BAD_PARAM, {});
  if (request->kind != Kind::extend && (procs->size() != 1 || peers_.node_of(procs->front()) != from))
    return reply(PMIX_ERR_BAD_PARAM, {});
  const auto& name = request->group;
  const auto answer = [reply](const ChangeReply& said) { reply(PMIX_SUCCESS, base::encode(said)); };
  const auto* group = groups_.table().find(name);
  if (group == nullptr && is_being_made(name)) {
    early_.push_back({name, [this, from, bytes = std::vector<std::byte>(body.begin(), body.end()), reply] {
                        take_request(from, bytes, reply);
                      }});
    return;
  }
  const bool is_named = request->known.keeper == peers_.self();
  if (group != nullptr && group->keeper != peers_.self() && is_named) {
    take({name, request->known, {}}, {});
    group = groups_.table().find(name);
  }
  if (group == nullptr) return answer({Outcome::unknown});
  if (group->keeper != peers_.self()) return answer({Outcome::not_keeper, {}, MadeGroup{name, *group, {}}});
  enqueue({std::move(*request), answer});
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
  const bool has_been_made = is_made(front.request, group);
  switch (front.request.kind) {
    case Kind::leave:
      if (has_been_made) return conclude(queue, PMIX_ERR_NOT_FOUND);
      return group.options.approves_ends ? approve(queue, group, PMIX_GROUP_LEAVE_REQUEST) : apply(queue);
    case Kind::join:
      return has_been_made ? conclude(queue, PMIX_ERR_EXISTS) : approve(queue, group, PMIX_GROUP_JOIN_REQUEST);
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
    link::GroupQuestion out;
    out.operation = to_text(operation_of(request));
    out.codes = {code};
    out.source = who;
    out.infos = GroupEvents::infos_of({code, who, request.group, &group.members, &who});
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
  const auto by_node = peers_.by_node(link::procs_of(after.members).value_or(Procs()));
  if (by_node.count(peers_.self()) == 0) after.keeper = keeper_after(after);
  distribute(changed, [this, queue, made = changed.made] {
    end(queue, {ChangeReply::Outcome::decided, PMIX_SUCCESS, made});
  });
}

/// To the servers of those that were members, and of those that will be. The next change waits for all of
/// them. This server is the last: where it keeps the group no more all others know that.
void Memberships::distribute(const ChangedGroup& changed, const std::function<void()>& taken) {
  auto procs = link::procs_of(changed.made.group.members).value_or(Procs());
  const auto left = procs_without(changed.before, changed.made.group.members);
  procs.insert(procs.end(), left.begin(), left.end());
  auto nodes = peers_.by_node(procs);
  nodes.erase(peers_.self());
  const auto body = base::encode(changed);
  const auto take_last = [this, body, taken] {
    peers_.send(peers_.self(), RequestType::group_changed, body, [taken](pmix_status_t, Bytes) { taken(); });
  };
  if (nodes.empty()) return take_last();
  const auto open = std::make_shared<std::size_t>(nodes.size());
  for (const auto& [node, of_it] : nodes)
    peers_.send(node, RequestType::group_changed, body, [open, take_last](pmix_status_t, Bytes) {
      if (--*open == 0) take_last();
    });
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

// ---- at the servers of members

void Memberships::take_change(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto changed = base::decode<ChangedGroup>(body);
  if (!changed || !jobs_.may_be_named(changed->made.group.members) || !jobs_.may_be_named(changed->before))
    return reply(PMIX_ERR_BAD_PARAM, {});
  if (peers_.is_lost(from)) return;
  if (is_being_made(changed->made.name)) {
    early_.push_back(
        {changed->made.name, [this, from, bytes = std::vector<std::byte>(body.begin(), body.end()), reply] {
           take_change(from, bytes, reply);
         }});
    return;
  }
  take(changed->made, changed->before);
  reply(PMIX_SUCCESS, {});
}

void Memberships::take(const MadeGroup& made, const link::RankRuns& before_if_unknown) {
  auto* known = groups_.table().find(made.name);
  if (known != nullptr && known->version >= made.group.version) return;
  const auto before = known != nullptr ? known->members : before_if_unknown;
  const auto left = procs_without(before, made.group.members);
  const auto joined = procs_without(made.group.members, before);
  if (known != nullptr && left.empty() && joined.empty()) {  // another keeper
    *known = made.group;
    return;
  }
  if (groups_.take_change(made, left))
    tell_change(made, link::procs_of(before).value_or(Procs()), left, joined);
}

void Memberships::tell_change(const MadeGroup& made, const Procs& before, const Procs& left,
                              const Procs& joined) {
  const auto& members = made.group.members;
  const auto here = peers_.by_node(link::procs_of(members).value_or(Procs()))[peers_.self()];
  for (const auto& proc : left) {
    gatherings_.left(made.name, proc, before);
    events_.tell({PMIX_GROUP_LEFT, proc, made.name, &members, &proc}, here);
  }
  if (!joined.empty()) gatherings_.joined(made.name, before);
  for (const auto& proc : joined)
    if (made.group.options.tells_joins)
      events_.tell({PMIX_PROC_HAS_JOINED, proc, made.name, &members, &proc}, here);
  const auto& source = left.empty() ? joined.front() : left.front();
  events_.tell({PMIX_GROUP_MEMBERSHIP_UPDATE, source, made.name, &members, nullptr}, here);
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
