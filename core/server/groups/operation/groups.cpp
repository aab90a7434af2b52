// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/operation/groups.hpp"

#include <algorithm>

#include "core/data/names/qualified_key.hpp"
#include "core/data/types/opaque.hpp"
#include "core/link/requests.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

bool has_members_of(const Group& group, std::string_view nspace) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](const link::RankRun& run) { return run.nspace == nspace; });
}

bool asks_for(const Operation& operation, const char* key) {
  return std::any_of(operation.arrived.begin(), operation.arrived.end(),
                     [&](const Arrival& arrival) { return is_set(arrival.directives, key); });
}

}  // namespace

// ---- what this node says

GroupPart Groups::part_of(const Operation& operation) {
  GroupPart out;
  out.absent = link::runs_of(operation.lost);
  if (!operation.is_constructed()) return out;
  out.series = next_series();
  if (asks_for(operation, PMIX_GROUP_ASSIGN_CONTEXT_ID)) out.context_id = next_context();
  const Arrival* first = nullptr;
  for (const auto& arrival : operation.arrived) {
    if (first == nullptr || link::is_less(arrival.from.proc(), first->from.proc())) first = &arrival;
    out.options.add(options_in(arrival.directives));
    auto given = data_of(arrival.from.proc(), arrival.directives);
    if (given && *given) out.data.push_back(std::move(**given));
  }
  if (first != nullptr) {
    const auto& proc = first->from.proc();
    out.first = {std::string(link::nspace_of(proc)), proc.rank, proc.rank};
    out.order = by_rank(first->procs);
    if (out.order == by_rank(operation.set)) out.order.clear();
  }
  return out;
}

Procs Groups::set_of_group(const Procs& procs) const {
  const auto set = canonical(procs);
  Procs out;
  for (auto first = set.begin(); first != set.end();) {
    const auto nspace = link::nspace_of(*first);
    const auto last = std::find_if(first, set.end(),
                                   [&](const pmix_proc_t& proc) { return link::nspace_of(proc) != nspace; });
    const auto* job = rooms_.jobs.known(nspace);
    const bool is_whole = job != nullptr &&
                          last - first == static_cast<std::ptrdiff_t>(job->view().ranks()) &&
                          std::prev(last)->rank == job->view().ranks() - 1;
    if (is_whole)
      out.push_back(link::make_proc(nspace, PMIX_RANK_WILDCARD));
    else
      out.insert(out.end(), first, last);
    first = last;
  }
  return out;
}

bool Groups::are_all_here(const Procs& set) const {
  return std::all_of(set.begin(), set.end(), [&](const pmix_proc_t& proc) {
    const auto* job = rooms_.jobs.known(link::nspace_of(proc));
    if (job == nullptr) return false;
    const auto& view = job->view();
    return proc.rank == PMIX_RANK_WILDCARD ? view.local_count() == view.ranks()
                                           : view.local_index(proc.rank) != store::none;
  });
}

bool Groups::fences_by_host(const link::RankRuns& members) const {
  if (rooms_.cards.is_ours()) return false;
  const auto procs = link::procs_of(members);
  return procs && !are_all_here(*procs);
}

link::RankRuns Groups::by_rank(const Procs& procs) const {
  auto out = link::runs_of(procs);
  for (auto& run : out) {
    if (run.first != PMIX_RANK_WILDCARD) continue;
    const auto* job = rooms_.jobs.known(run.nspace);
    if (job != nullptr) run = {run.nspace, 0, job->view().ranks() - 1};
  }
  return out;
}

// ---- what members gave

void Groups::store(const MadeGroup& made) {
  for (const auto& data : made.data)
    if (store(data, made.group.context_id)) rooms_.gets.retry_all(data.nspace);
}

/// As keys of that rank, for every reader of this node: with the context's identifier as their qualifier,
/// where there is one. Without it a reserved key would hide what the host has said of the rank, and is left
/// out, unless it is one of groups.
bool Groups::store(const MemberData& data, std::uint64_t context_id) {
  auto* job = rooms_.jobs.find(data.nspace);
  if (job == nullptr || data.rank >= job->view().ranks()) return false;
  const data::OpaqueIgnored ignored;
  data::Reader in(data.infos);
  const auto infos = data::Infos::decode(in);
  if (!infos || !in.done()) return false;
  data::Infos qualifier;
  if (context_id != 0)
    qualifier.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(context_id), PMIX_INFO_QUALIFIER);
  bool is_stored = false;
  for (std::size_t i = 0; i < infos->size(); ++i) {
    const auto& info = infos->data()[i];
    const auto name = data::key_of(info);
    if (context_id == 0 && store::is_reserved(name) && name != PMIX_GROUP_LOCAL_CID &&
        name != PMIX_GROUP_ENDPT_DATA)
      continue;
    const auto key = data::qualified_key(name, qualifier.data(), qualifier.size());
    data::Writer value;
    if (!key || !data::encode_value(value, info.value)) continue;
    is_stored |= job->writer->add_record({{store::Realm::rank, data.rank}, PMIX_REMOTE, *key, value.view()})
                     .has_value();
  }
  return is_stored;
}

// ---- the lives of members

bool Groups::has_live_members(const Group& group, const pmix_proc_t& ended) const {
  bool out = false;
  for (const auto& run : group.members) {
    const auto* job = rooms_.jobs.known(run.nspace);
    if (job == nullptr) continue;
    const auto& view = job->view();
    for (std::uint32_t local = 0; local < view.local_count(); ++local) {
      const auto& place = view.local(local);
      const auto rank = place.rank.load(std::memory_order_relaxed);
      const auto state = place.state.load(std::memory_order_relaxed);
      const bool is_member = run.first <= rank && rank <= run.last;
      const bool has_ended = state == store::Local::gone || state == store::Local::finalized ||
                             link::is_same(ended, link::make_proc(run.nspace, rank));
      out |= is_member && !has_ended;
    }
  }
  return out;
}

/// A member's end may be known here before the group is, or before it is a member: that was made elsewhere
/// first. known: members that were some before.
void Groups::tell_earlier_ends(const std::string& name, const Group& group, const link::RankRuns& known) {
  const auto members = group.options.tells_ends ? link::procs_of(group.members) : Result<Procs>(Procs());
  if (!members) return;
  for (const auto& proc : *members) {
    if (link::holds(known, proc)) continue;
    const auto* job = rooms_.jobs.known(link::nspace_of(proc));
    const auto local = job == nullptr ? store::none : job->view().local_index(proc.rank);
    const auto state = local == store::none ? store::Local::connected
                                            : job->view().local(local).state.load(std::memory_order_relaxed);
    const bool has_ended =
        state == store::Local::gone || state == store::Local::finalized || rooms_.exchanges.is_dead(proc);
    if (has_ended) tell_members(PMIX_GROUP_MEMBER_FAILED, name, group, proc);
  }
}

std::vector<std::string> Groups::process_ended(const pmix_proc_t& proc) {
  rooms_.table.settle();
  std::vector<std::string> to_end;
  rooms_.table.each([&](const std::string& name, const Group& group) {
    if (!link::holds(group.members, proc)) return;
    if (group.options.tells_ends) tell_members(PMIX_GROUP_MEMBER_FAILED, name, group, proc);
    if (!has_live_members(group, proc)) to_end.push_back(name);
  });
  return to_end;
}

std::vector<NodeNumber> Groups::nodes_in_groups_with(const pmix_proc_t& proc) {
  rooms_.table.settle();
  std::vector<NodeNumber> out;
  rooms_.table.each([&](const std::string&, const Group& group) {
    if (!link::has_others(group.members, proc) || !link::holds(group.members, proc)) return;
    const auto nodes = rooms_.jobs.nodes_of(link::procs_or_none(group.members));
    out.insert(out.end(), nodes.begin(), nodes.end());
  });
  return out;
}

/// The group ends without these members, and this node may hear of their ends later than of that. Of its own,
/// and of those that it knows to be dead, it has told.
void Groups::tell_absent(const std::string& name, const std::vector<GroupPart>& parts) {
  const auto* group = rooms_.table.find(name);
  if (group == nullptr || !group->options.tells_ends) return;
  for (const auto& part : parts)
    for (const auto& proc : link::procs_or_none(part.absent)) {
      const bool is_known =
          rooms_.peers.node_of(proc) == rooms_.peers.self() || rooms_.exchanges.is_dead(proc);
      if (!is_known) tell_members(PMIX_GROUP_MEMBER_FAILED, name, *group, proc);
    }
}

/// Those of this node: each server tells its own.
void Groups::tell_members(pmix_status_t code, const std::string& name, const Group& group,
                          const pmix_proc_t& about) {
  rooms_.events.tell({code, about, name, &group.members, &about}, local_members(group));
}

Procs Groups::local_members(const Group& group) const {
  const auto members = link::procs_of(group.members);
  return members ? rooms_.peers.by_node(*members)[rooms_.peers.self()] : Procs();
}

void Groups::forget(const std::string& nspace) {
  rooms_.table.erase_if([&](const std::string&, const Group& group) {
    return has_members_of(group, nspace) && !may_be_used_without(group, nspace);
  });
}

bool Groups::has_others_than(const std::string& nspace) const {
  bool out = false;
  rooms_.table.each([&](const std::string&, const Group& group) {
    out |= has_members_of(group, nspace) && may_be_used_without(group, nspace);
  });
  return out;
}

bool Groups::may_be_used_without(const Group& group, std::string_view ended) const {
  return has_live_members(group, {}) || lives_elsewhere(group, ended);
}

/// Another node may have a live member. ended: a namespace.
bool Groups::lives_elsewhere(const Group& group, std::string_view ended) const {
  const auto members = link::procs_or_none(group.members);
  return rooms_.exchanges.can_begin() &&
         std::any_of(members.begin(), members.end(), [&](const pmix_proc_t& proc) {
           const auto node = rooms_.peers.node_of(proc);
           return node && *node != rooms_.peers.self() && !rooms_.exchanges.is_dead(proc) &&
                  link::nspace_of(proc) != ended;
         });
}

/// Where members have only ended, this server takes part for them, and may be asked as the keeper.
void Groups::drop(const std::string& name) {
  const auto* group = rooms_.table.find(name);
  if (group == nullptr || has_live_members(*group, {})) return;
  if (!local_members(*group).empty() && lives_elsewhere(*group)) return;
  if (!rooms_.operations.is_with_nodes(name)) rooms_.table.erase(name);
}

// ---- groups that all their members make

void Groups::add(MadeGroup made, pmix_status_t status) {
  store(made);
  tell_made(made.name, made.group, status);
  tell_earlier_ends(made.name, made.group);
  const auto name = made.name;
  rooms_.peers.meet(made.group.members);
  rooms_.table.add(name, std::move(made.group));
  drop(name);
}

void Groups::tell_made(const std::string& name, const Group& group, pmix_status_t status) {
  const bool is_smaller = status == PMIX_ERR_PARTIAL_SUCCESS;
  if (!is_smaller && group.context_id == 0) return;
  const auto here = local_members(group);
  if (here.empty()) return;
  const auto source = link::make_proc(group.members.front().nspace, group.members.front().first);
  if (is_smaller)
    rooms_.events.tell({PMIX_GROUP_MEMBERSHIP_UPDATE, source, name, &group.members, nullptr}, here);
  if (group.context_id == 0) return;
  data::Infos context;
  context.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(group.context_id));
  rooms_.events.tell({PMIX_GROUP_CONTEXT_ID_ASSIGNED, source, name, nullptr, nullptr}, here, &context);
}

void Groups::end(const std::string& name, const std::vector<GroupPart>& parts) {
  tell_absent(name, parts);
  rooms_.table.end(name);
}

// ---- groups that one server makes for all

Result<MadeGroup> Groups::made_in(Bytes bytes) const {
  auto made = base::decode<MadeGroup>(bytes);
  if (made && !rooms_.jobs.may_be_named(made->group.members))
    return weft::fail(Errc::corrupt, "members of a group");
  return made;
}

void Groups::take(const MadeGroup& made) {
  rooms_.table.settle();
  if (rooms_.table.is_past(made.name, made.group.origin, made.group.version)) return;
  const auto* known = rooms_.table.find(made.name);
  if (known != nullptr && known->origin != made.group.origin) known = nullptr;
  if (known != nullptr && known->version >= made.group.version) return;
  store(made);
  const auto before = known == nullptr ? link::RankRuns() : known->members;
  rooms_.peers.meet(made.group.members);
  rooms_.table.add(made.name, made.group);
  tell_earlier_ends(made.name, made.group, before);
  drop(made.name);
}

void Groups::take_change(const MadeGroup& made, const Procs& left) {
  const auto* known = rooms_.table.find(made.name);
  // Members that are about to end it at a board know the old members: they come by message.
  const auto before = known == nullptr ? weft::fail(Errc::not_found) : link::procs_of(known->members);
  if (before) rooms_.boards.dissolve(set_of_group(*before));
  take(made);
  tell_clients(made, left);
}

/// Before they hear of it by an event: a handler may name the group.
void Groups::tell_clients(const MadeGroup& made, const Procs& left) {
  const auto send = [&](const Procs& procs, const link::GroupChange& change) {
    const auto bytes = link::encode(change);
    each_local(rooms_.jobs, procs, [&](const Job& job, std::uint32_t local) {
      const auto client = job.connections.find(local);
      if (client != job.connections.end()) client->second->send(link::MessageType::group_change, 0, bytes);
    });
  };
  send(local_members(made.group), {made.name, made.group.members, made.group.context_id});
  send(left, {made.name, {}, 0});
}

void Groups::admit(const Requester& from, pmix_status_t status, const MadeGroup& made) {
  if (status != PMIX_SUCCESS && status != PMIX_ERR_PARTIAL_SUCCESS) return from.reply(status);
  if (rooms_.table.has_ended(made.name, made.group.origin)) return from.reply(PMIX_ERR_NOT_FOUND);
  take(made);
  link::Answer out{status,
                   data::Value::of_bytes(link::encode(
                       link::GroupMembers{made.group.members, fences_by_host(made.group.members)})),
                   {}};
  if (made.group.context_id != 0)
    out.infos.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(made.group.context_id));
  from.answer(out);
  // A change that was made right after may have come before this, by another way.
  if (const auto* now = rooms_.table.find(made.name); now != nullptr && now->version > made.group.version)
    from.connection->send(link::MessageType::group_change, 0,
                          link::encode(link::GroupChange{made.name, now->members, now->context_id}));
  const auto& proc = from.proc();
  rooms_.events.tell({PMIX_GROUP_CONSTRUCT_COMPLETE, proc, made.name, &made.group.members, nullptr}, {proc},
                     &out.infos);
  if (made.group.context_id != 0)
    rooms_.events.tell({PMIX_GROUP_CONTEXT_ID_ASSIGNED, proc, made.name, nullptr, nullptr}, {proc},
                       &out.infos);
}

}  // namespace weft::server
