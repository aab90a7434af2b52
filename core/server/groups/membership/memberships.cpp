// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/membership/memberships.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "weft/pmix_extensions.h"

namespace weft::server {

using Kind = ChangeRequest::Kind;

Procs procs_without(const link::RankRuns& procs, const link::RankRuns& others) {
  auto out = link::procs_or_none(procs);
  std::erase_if(out, [&](const pmix_proc_t& proc) { return link::holds(others, proc); });
  return out;
}

bool ChangeRequest::is_made(const Group& now) const {
  const auto others = procs_without(procs, now.members);
  return kind == Kind::leave ? !others.empty() : others.empty();
}

void MembersItem::add(MembersItem other) {
  const bool is_newer = other.group.version > group.version;
  if (is_newer || (other.group.version == group.version && is_next && !other.is_next)) {
    group = std::move(other.group);
    is_next = other.is_next;
  }
}

Memberships::Memberships(Loop& loop, const Jobs& jobs, PeerCalls& peers, Questions& questions,
                         GroupEvents& events, Groups& groups, Gatherings& gatherings, EarlyMessages& early)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      questions_(questions),
      events_(events),
      groups_(groups),
      gatherings_(gatherings),
      early_(early) {
  peers_.add_view_room(*this);
  peers_.on(RequestType::group_ask, *this, &Memberships::take_request);
  peers_.on(RequestType::group_changed, *this, &Memberships::take_change);
  peers_.on(RequestType::group_find, *this, &Memberships::answer_inquiry);
  peers_.on(RequestType::group_names, *this, &Memberships::answer_names);
}

// ---- of a process of this node

void Memberships::leave(const Requester& from, const link::GroupLeave& message) {
  const auto* group = groups_.table().find(message.group);
  if (group == nullptr || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  groups_.table().begin_leave(message.group, from.proc());
  ask({Kind::leave, message.group, link::runs_of({from.proc()}), {}, 0},
      [this, from, name = message.group](pmix_status_t status, const MadeGroup&) {
        groups_.table().end_leave(name, from.proc());
        gatherings_.look_for_lost(name);
        from.reply(status);
        // With the reply its library forgets the group. It may have been invited anew before that.
        const auto* now = groups_.table().find(name);
        if (status == PMIX_SUCCESS && now != nullptr && link::holds(now->members, from.proc()))
          from.connection->send(link::MessageType::group_change, 0,
                                link::encode(link::GroupChange{name, now->members, now->context_id}));
      });
}

void Memberships::join(const Requester& from, const link::GroupJoin& message) {
  auto given = data_of(from.proc(), message.directives);
  if (from.connection->job == nullptr || message.accepts == 0 || !given)
    return from.reply(PMIX_ERR_BAD_PARAM);
  groups_.table().settle();
  const auto* group = groups_.table().find(message.group);
  if (group != nullptr && link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_EXISTS);
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
  const auto request = std::make_shared<Request>();
  request->message = std::move(message);
  request->changed = std::move(changed);
  requests_.push_back(request);
  const auto* group = groups_.table().find(request->message.group);
  request->message.known.version = 0;
  group != nullptr ? ask_keeper(request, *group) : find_newer(request);
}

/// By the newest version that is known here.
void Memberships::ask_keeper(const RequestRef& request, const Group& group) {
  const auto* own = groups_.table().find(request->message.group);
  request->message.known = own != nullptr && own->version > group.version ? *own : group;
  peers_.ask(request, request->message.known.keeper, RequestType::group_ask, base::encode(request->message),
             PeerCalls::expect<ChangeReply>([this, weak = std::weak_ptr(request)](Result<ChangeReply> reply) {
               if (const auto open = weak.lock(); open->changed) replied(open, std::move(reply));
             }));
}

void Memberships::replied(const RequestRef& request, Result<ChangeReply> reply) {
  using Outcome = ChangeReply::Outcome;
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
    peers_.send(node, RequestType::group_find, inquiry,
                PeerCalls::expect<FoundGroup>([this, request, search, number = request->sent](auto found) {
                  const bool is_valid = found && found->group && jobs_.may_be_named(found->group->members);
                  if (is_valid && (!search->newest || found->group->version > search->newest->version))
                    search->newest = std::move(found->group);
                  const bool is_last = number == request->sent && !request->waits_for_view;
                  if (--search->left != 0 || !request->changed || !is_last) return;
                  const bool is_newer =
                      search->newest && search->newest->version > request->message.known.version;
                  is_newer ? ask_keeper(request, *search->newest) : finish(request, PMIX_ERR_NOT_FOUND);
                }));
}

void Memberships::finish(const RequestRef& request, pmix_status_t status, const MadeGroup& made) {
  requests_.remove(request);
  std::exchange(request->changed, nullptr)(status, made);
}

void Memberships::answer_inquiry(NodeNumber, GroupInquiry inquiry, const Rpc::Reply& reply) {
  const auto* group = groups_.table().find(inquiry.group);
  reply(PMIX_SUCCESS, base::encode(FoundGroup{group != nullptr ? std::optional(*group) : std::nullopt}));
}

void Memberships::names_of(const pmix_proc_t& proc,
                           std::function<void(const std::vector<std::string>& names)> named) {
  const auto node = peers_.node_of(proc);
  peers_.send(node.value_or(peers_.self()), RequestType::group_names, base::encode(NamesInquiry{proc}),
              PeerCalls::expect<GroupNames>([named = std::move(named)](const Result<GroupNames>& groups) {
                named(groups ? groups->names : std::vector<std::string>());
              }));
}

void Memberships::answer_names(NodeNumber, NamesInquiry inquiry, const Rpc::Reply& reply) {
  GroupNames out;
  groups_.table().each([&](const std::string& name, const Group& group) {
    if (link::holds(group.members, inquiry.proc)) out.names.push_back(name);
  });
  reply(PMIX_SUCCESS, base::encode(out));
}

// ---- a lost keeper

/// Of the first in the order of members that is there; none is: the same as now.
NodeNumber Memberships::keeper_after(const Group& group) const {
  for (const auto& proc : link::procs_or_none(group.members))
    if (const auto node = peers_.node_of(proc); node && !peers_.is_gone(*node)) return *node;
  return group.keeper;
}

bool Memberships::is_waiting(const Request& request) const {
  const auto& known = request.message.known;
  return request.waits_for_view || (known.version != 0 && peers_.is_gone(known.keeper));
}

bool Memberships::has_undecided() const {
  const auto own = items();
  return std::any_of(own.begin(), own.end(), [](const MembersItem& item) { return item.is_open; });
}

/// A group as it was made has the same members everywhere: it needs a keeper only where a request is about
/// it. A later version whose maker is lost may not have come to all.
/// A change that has come too early here is known here.
std::vector<MembersItem> Memberships::items() const {
  using Key = std::pair<std::string, std::uint64_t>;
  std::map<Key, Group> known;
  groups_.table().each([&](const std::string& name, const Group& group) {
    if (group.version > 1) known.emplace(Key{name, group.origin}, group);
  });
  for (const auto& early : early_.kept()) {
    if (!early.changed) continue;
    auto& newest = known[{early.group, early.changed->origin}];
    if (newest.members.empty() || early.changed->version > newest.version) newest = *early.changed;
  }
  std::set<Key> awaited;
  for (const auto& request : requests_) {
    if (!is_waiting(*request)) continue;
    const auto& message = request->message;
    const Key key{message.group, message.known.origin};
    awaited.insert(key);
    const auto* group = groups_.table().find(message.group);
    const bool is_here = group != nullptr && group->origin == message.known.origin;
    known.emplace(key, is_here ? *group : message.known);
  }
  std::vector<MembersItem> out;
  for (auto& [key, group] : known) {
    const bool is_next = peers_.is_gone(group.keeper);
    if (is_next) {
      group.keeper = keeper_after(group);
      ++group.version;
    }
    const bool may_be_news = is_next || (group.version > 1 && peers_.is_gone(group.maker));
    if (may_be_news) group.maker = group.keeper;
    out.push_back({may_be_news || awaited.count(key) != 0, is_next, key.first, std::move(group)});
  }
  return out;
}

void Memberships::settle(std::vector<MembersItem> decided) {
  groups_.table().settle();
  for (const auto& [is_open, is_next, name, group] : decided) {
    if (!jobs_.may_be_named(group.members)) continue;
    if (early_.is_expected(name))
      early_.keep({name, [this, name = name, group = group] { follow(name, group); }, group});
    else
      follow(name, group);
  }
}

/// The servers that are left have agreed on this version. Members of this node may be new in it.
void Memberships::follow(const std::string& name, const Group& group) {
  const MadeGroup made{name, group, {}};
  auto elsewhere = link::procs_or_none(group.members);
  const auto here = std::erase_if(
      elsewhere, [this](const pmix_proc_t& proc) { return peers_.node_of(proc) == peers_.self(); });
  if (here != 0 || groups_.table().find(name) != nullptr) take(made, link::runs_of(elsewhere));
  const auto requests = requests_;
  for (const auto& request : requests) {
    const bool is_of_it = request->message.group == name && request->message.known.origin == group.origin;
    if (!is_of_it || !is_waiting(*request)) continue;
    const bool has_none_left = peers_.is_gone(keeper_after(group));
    if (request->message.is_made(group))
      finish(request, PMIX_SUCCESS, made);
    else
      has_none_left ? finish(request, PMIX_ERR_NOT_FOUND) : ask_keeper(request, group);
  }
}

// ---- at the servers of members

void Memberships::take_change(NodeNumber from, ChangedGroup changed, const Rpc::Reply& reply) {
  if (!jobs_.may_be_named(changed.made.group.members) || !jobs_.may_be_named(changed.before))
    return reply(PMIX_ERR_BAD_PARAM, {});
  if (peers_.is_lost(from)) return;
  const auto take_now = [this, changed, reply] {
    const auto& [name, group, data] = changed.made;
    const bool has_ended = groups_.table().has_ended(name, group.origin);
    take(changed.made, changed.before);
    using Outcome = ChangedReply::Outcome;
    reply(PMIX_SUCCESS, base::encode(ChangedReply{has_ended ? Outcome::ended : Outcome::taken}));
  };
  if (!early_.is_expected(changed.made.name)) return take_now();
  early_.keep({changed.made.name, take_now, changed.made.group});
}

void Memberships::take(const MadeGroup& made, const link::RankRuns& before_if_unknown) {
  if (groups_.table().is_past(made.name, made.group.origin, made.group.version)) return;
  auto* known = groups_.table().find(made.name);
  if (known != nullptr && known->origin != made.group.origin) {
    // Of two with one name the members have ended one: that which is known here, or the other server is late.
    if (peers_.by_node(link::procs_or_none(made.group.members)).count(peers_.self()) == 0) return;
    known = nullptr;
  }
  if (known != nullptr && known->version == made.group.version) known->maker = made.group.maker;
  if (known != nullptr && known->version >= made.group.version) return;
  const auto before = known != nullptr ? *known : Group{.members = before_if_unknown, .options = {}};
  const auto left = procs_without(before.members, made.group.members);
  const auto joined = procs_without(made.group.members, before.members);
  if (known != nullptr && left.empty() && joined.empty()) {  // another keeper
    *known = made.group;
    return;
  }
  groups_.take_change(made, left);
  tell_change(made, before, left, joined);
}

void Memberships::tell_change(const MadeGroup& made, const Group& before, const Procs& left,
                              const Procs& joined) {
  if (left.empty() && joined.empty()) return;  // this node hears of the group for the first time: no news
  const auto& members = made.group.members;
  const auto here = peers_.by_node(link::procs_or_none(members))[peers_.self()];
  const auto procs_before = link::procs_or_none(before.members);
  for (const auto& proc : left) {
    gatherings_.left(made.name, proc, procs_before, before.series);
    events_.tell({PMIX_GROUP_LEFT, proc, made.name, &members, &proc}, here);
  }
  if (!joined.empty()) gatherings_.joined(made.name, procs_before, before.series);
  for (const auto& proc : joined)
    if (made.group.options.tells_joins)
      events_.tell({PMIX_PROC_HAS_JOINED, proc, made.name, &members, &proc}, here);
  const auto& source = left.empty() ? joined.front() : left.front();
  events_.tell({PMIX_GROUP_MEMBERSHIP_UPDATE, source, made.name, &members, nullptr}, here);
}

}  // namespace weft::server
