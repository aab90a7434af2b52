// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/memberships.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"
#include "core/server/groups/invitation.hpp"
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

std::string operation_of(const ChangeRequest& request) {
  return request.kind == Kind::leave ? leave_of(request.group) : join_of(request.group);
}

}  // namespace

Memberships::Memberships(const Jobs& jobs, PeerCalls& peers, Questions& questions, GroupEvents& events,
                         Groups& groups)
    : jobs_(jobs), peers_(peers), questions_(questions), events_(events), groups_(groups) {
  peers_.on(RequestType::group_ask, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    take_request(from, body, reply);
  });
  groups_.on_constructed([this](const std::string& group) { take_early(group); });
  peers_.on(RequestType::group_changed,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { take_change(body, reply); });
  peers_.on(RequestType::group_find,
            [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_inquiry(body, reply); });
}

// ---- of a process of this node

void Memberships::leave(const Requester& from, const link::GroupLeave& message) {
  const auto* group = groups_.table().find(message.group);
  if (group == nullptr || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  ask_keeper({Kind::leave, message.group, link::runs_of({from.proc()}), {}}, 0,
             [from](pmix_status_t status, const MadeGroup&) { from.reply(status); });
}

void Memberships::join(const Requester& from, const link::GroupJoin& message) {
  auto given = data_of(from.proc(), message.directives);
  if (from.connection->job == nullptr || message.accepts == 0 || !given)
    return from.reply(PMIX_ERR_BAD_PARAM);
  ChangeRequest request{Kind::join, message.group, link::runs_of({from.proc()}), {}};
  if (*given) request.data.push_back(std::move(**given));
  ask_keeper(std::move(request), 0, [this, from](pmix_status_t status, const MadeGroup& made) {
    groups_.admit(from, status, made);
  });
}

void Memberships::extend(const std::string& group, const Procs& procs, std::vector<MemberData> data,
                         Changed changed) {
  ask_keeper({Kind::extend, group, link::runs_of(procs), std::move(data)}, 0, std::move(changed));
}

// ---- the way to the keeper

NodeNumber Memberships::keeper_of(const Group& group) const {
  const auto there = peers_.nodes();
  const auto is_there = [&](NodeNumber node) {
    return std::find(there.begin(), there.end(), node) != there.end();
  };
  if (is_there(group.keeper)) return group.keeper;
  const auto members = link::procs_of(group.members);
  for (const auto& proc : members ? *members : Procs())
    if (const auto node = peers_.node_of(proc); node && is_there(*node)) return *node;
  return peers_.self();
}

void Memberships::ask_keeper(ChangeRequest request, unsigned tries, Changed changed) {
  const auto send = [this, request, tries, changed](const Group& group) {
    const auto keeper = keeper_of(group);
    peers_.send(keeper, RequestType::group_ask, base::encode(request),
                [this, request, tries, changed](pmix_status_t status, Bytes body) {
                  const bool is_worth_a_try = status == PMIX_ERR_UNREACH || status == PMIX_ERR_RESOURCE_BUSY;
                  if (is_worth_a_try && tries < most_tries) return ask_keeper(request, tries + 1, changed);
                  const auto made = groups_.made_in(body);
                  changed(status, made ? *made : MadeGroup{});
                });
  };
  if (const auto* group = groups_.table().find(request.group)) return send(*group);
  find(request.group, [send, changed](const MadeGroup* made) {
    if (made == nullptr) return changed(PMIX_ERR_NOT_FOUND, {});
    send(made->group);
  });
}

/// A group without members on this node: all servers are asked, and the newest answer counts.
void Memberships::find(const std::string& group, std::function<void(const MadeGroup*)> found) {
  struct Search {
    std::optional<MadeGroup> newest;
    std::size_t left;
    std::function<void(const MadeGroup*)> found;
  };
  const auto nodes = peers_.nodes();
  const auto search = std::make_shared<Search>(Search{{}, nodes.size(), std::move(found)});
  for (const auto node : nodes)
    peers_.send(node, RequestType::group_find, base::encode(GroupInquiry{group}),
                [this, search](pmix_status_t status, Bytes body) {
                  auto made = status == PMIX_SUCCESS ? groups_.made_in(body) : weft::fail(Errc::not_found);
                  const bool is_newer =
                      made && (!search->newest || made->group.version > search->newest->group.version);
                  if (is_newer) search->newest = std::move(*made);
                  if (--search->left == 0) search->found(search->newest ? &*search->newest : nullptr);
                });
}

void Memberships::answer_inquiry(Bytes body, const Rpc::Reply& reply) const {
  const auto inquiry = base::decode<GroupInquiry>(body);
  if (!inquiry) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* group = groups_.table().find(inquiry->group);
  if (group == nullptr) return reply(PMIX_ERR_NOT_FOUND, {});
  reply(PMIX_SUCCESS, base::encode(MadeGroup{inquiry->group, *group, {}}));
}

// ---- at the keeper

/// A process speaks by its own server; an extension comes from that of the member that has invited.
void Memberships::take_request(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  auto request = base::decode<ChangeRequest>(body);
  const auto procs =
      request && is_valid(*request) ? peers_.procs_of(request->procs) : weft::fail(Errc::corrupt);
  if (!procs || procs->empty()) return reply(PMIX_ERR_BAD_PARAM, {});
  if (request->kind != Kind::extend && (procs->size() != 1 || peers_.node_of(procs->front()) != from))
    return reply(PMIX_ERR_BAD_PARAM, {});
  const auto* group = groups_.table().find(request->group);
  if (group == nullptr && groups_.is_constructing(request->group)) {
    early_.push_back({request->group, [this, from, bytes = std::vector<std::byte>(body.begin(), body.end()),
                                       reply] { take_request(from, bytes, reply); }});
    return;
  }
  if (group == nullptr) return reply(PMIX_ERR_NOT_FOUND, {});
  if (keeper_of(*group) != peers_.self()) return reply(PMIX_ERR_RESOURCE_BUSY, {});
  enqueue({std::move(*request), [reply](pmix_status_t status, const MadeGroup& made) {
             reply(status, status == PMIX_SUCCESS ? base::encode(made) : std::vector<std::byte>());
           }});
}

void Memberships::take_early(const std::string& group) {
  const auto first = std::stable_partition(early_.begin(), early_.end(),
                                           [&](const Early& each) { return each.group != group; });
  const std::vector<Early> ready(first, early_.end());
  early_.erase(first, early_.end());
  for (const auto& each : ready) each.take();
}

void Memberships::enqueue(Change change) {
  const auto name = change.request.group;
  auto& queue = queues_[name];
  queue.waiting.push_back(std::move(change));
  if (queue.waiting.size() == 1) begin(name);
}

void Memberships::begin(const std::string& name) {
  auto* group = groups_.table().find(name);
  if (group == nullptr) return end(name, PMIX_ERR_NOT_FOUND, {});
  if (group->keeper != peers_.self()) return succeed_lost_keeper(name, *group);
  change(name, *group);
}

void Memberships::succeed_lost_keeper(const std::string& name, Group& group) {
  group.keeper = peers_.self();
  find(name, [this, name](const MadeGroup* newest) {
    auto* own = groups_.table().find(name);
    if (own == nullptr) return end(name, PMIX_ERR_NOT_FOUND, {});
    if (newest != nullptr && newest->group.version > own->version) *own = newest->group;
    own->keeper = peers_.self();
    change(name, *own);
  });
}

void Memberships::change(const std::string& name, Group& group) {
  const auto& request = queues_[name].waiting.front().request;
  const auto procs = link::procs_of(request.procs);
  const bool are_members = std::all_of(procs->begin(), procs->end(), [&](const pmix_proc_t& proc) {
    return link::holds(group.members, proc);
  });
  switch (request.kind) {
    case Kind::leave:
      if (!are_members) return end(name, PMIX_ERR_NOT_FOUND, {});
      return group.options.approves_ends ? approve(name, group, PMIX_GROUP_LEAVE_REQUEST) : apply(name);
    case Kind::join:
      return are_members ? end(name, PMIX_ERR_EXISTS, {}) : approve(name, group, PMIX_GROUP_JOIN_REQUEST);
    case Kind::extend:
      return apply(name);
  }
}

/// All members but the process itself are asked; the first that refuses decides.
void Memberships::approve(const std::string& name, const Group& group, pmix_status_t code) {
  auto& queue = queues_[name];
  const auto& request = queue.waiting.front().request;
  const auto who = link::procs_of(request.procs)->front();
  auto members = link::procs_of(group.members);
  queue.since = Clock::now();
  queue.is_reported = false;
  queue.asked = members ? std::move(*members) : Procs();
  std::erase_if(queue.asked, [&](const pmix_proc_t& proc) { return link::is_same(proc, who); });
  const auto make = [&group, &name, &request, who, code] {
    link::GroupQuestion out;
    out.operation = operation_of(request);
    out.codes = {code};
    out.source = who;
    out.infos = GroupEvents::infos_of({code, who, name, &group.members, &who});
    return out;
  };
  questions_.ask_all(queue.asked, make, [this, name](const std::vector<Questions::Vote>& votes) {
    queues_[name].asked.clear();
    const auto status = approval_of(votes);
    status == PMIX_SUCCESS ? apply(name) : end(name, status, {});
  });
}

/// To the servers of those that were members, and of those that will be. The next change waits for all of them.
void Memberships::apply(const std::string& name) {
  auto* group = groups_.table().find(name);
  if (group == nullptr) return end(name, PMIX_ERR_NOT_FOUND, {});
  auto& request = queues_[name].waiting.front().request;
  const auto before = group->members;
  group->members = changed_members(before, request);
  ++group->version;
  const auto changed =
      std::make_shared<ChangedGroup>(ChangedGroup{{name, *group, std::move(request.data)}, {}, {}});
  (request.kind == Kind::leave ? changed->left : changed->joined) = request.procs;
  --group->version;  // this server takes the change as all do
  group->members = before;
  auto everyone = link::procs_of(before);
  const auto now = link::procs_of(changed->made.group.members);
  if (everyone && now) everyone->insert(everyone->end(), now->begin(), now->end());
  auto nodes = peers_.by_node(everyone ? *everyone : Procs());
  nodes.try_emplace(peers_.self());
  const auto left = std::make_shared<std::size_t>(nodes.size());
  for (const auto& [node, procs] : nodes)
    peers_.send(node, RequestType::group_changed, base::encode(*changed),
                [this, left, changed](pmix_status_t, Bytes) {
                  if (--*left == 0) end(changed->made.name, PMIX_SUCCESS, changed->made);
                });
}

void Memberships::end(const std::string& name, pmix_status_t status, const MadeGroup& made) {
  const auto key = name;  // it may be the queue's own
  auto& queue = queues_[key];
  const auto changed = std::move(queue.waiting.front().changed);
  queue.waiting.pop_front();
  changed(status, made);
  if (queues_[key].waiting.empty())
    queues_.erase(key);
  else
    begin(key);
}

// ---- at the servers of members

void Memberships::take_change(Bytes body, const Rpc::Reply& reply) {
  const auto changed = base::decode<ChangedGroup>(body);
  const auto left = changed ? peers_.procs_of(changed->left) : weft::fail(Errc::corrupt);
  const auto joined = changed ? peers_.procs_of(changed->joined) : weft::fail(Errc::corrupt);
  const bool is_valid = left && joined && !(left->empty() && joined->empty()) &&
                        peers_.may_be_members(changed->made.group.members);
  if (!is_valid) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto& made = changed->made;
  if (groups_.is_constructing(made.name)) {
    early_.push_back({made.name, [this, bytes = std::vector<std::byte>(body.begin(), body.end()), reply] {
                        take_change(bytes, reply);
                      }});
    return;
  }
  if (groups_.take_change(made, *left)) {
    auto members = link::procs_of(made.group.members);
    auto here = members ? peers_.by_node(*members)[peers_.self()] : Procs();
    for (const auto& proc : *left) {
      if (left_) left_(made.name, proc);
      events_.tell({PMIX_GROUP_LEFT, proc, made.name, &made.group.members, &proc}, here);
    }
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
                      return !questions_.is_asked(link::make_proc(job.nspace, job.rank_of(local)), operation);
                    });
}

std::vector<FencePart> Memberships::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& [name, queue] : queues_)
    if (!queue.asked.empty()) out.push_back(part_of(queue));
  return out;
}

std::vector<Fences::Waiting> Memberships::waiting_for(std::chrono::seconds limit) {
  std::vector<Fences::Waiting> out;
  for (auto& [name, queue] : queues_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - queue.since);
    if (queue.asked.empty() || queue.is_reported || age < limit) continue;
    queue.is_reported = true;
    const auto by_node = peers_.by_node(queue.asked);
    const bool is_between_nodes = std::any_of(by_node.begin(), by_node.end(),
                                              [&](const auto& each) { return each.first != peers_.self(); });
    out.push_back({part_of(queue), age, is_between_nodes, true});
  }
  return out;
}

}  // namespace weft::server
