// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/operation/operations.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

namespace {

constexpr std::chrono::seconds rival_period{1};

}  // namespace

Operations::Operations(Loop& loop, OpenOperations& open, Rooms rooms)
    : loop_(loop), open_(open), rooms_(rooms) {}

// ---- what moves an operation

void Operations::complete(const OperationRef& operation) {
  if (is_by_host(*operation)) return step(operation, OperationEvent::given);
  rooms_.groups.table().settle();
  const auto why = reason_against(*operation);
  if (why == PMIX_ERR_NOT_FOUND && operation->is_constructed()) tell_unknown(*operation);
  step(operation, why == PMIX_SUCCESS ? OperationEvent::complete : OperationEvent::hopeless, {why});
}

void Operations::end(const OperationRef& operation, OperationEvent event, pmix_status_t why) {
  step(operation, event, {why});
}

/// Why it cannot begin between the nodes, or end here; PMIX_SUCCESS: it can.
pmix_status_t Operations::reason_against(const Operation& operation) const {
  const auto& set = operation.set;
  if (operation.is_constructed() && rooms_.groups.table().find(operation.name.group) != nullptr)
    return PMIX_ERR_EXISTS;
  if (rooms_.groups.are_all_here(set)) return PMIX_SUCCESS;
  if (rooms_.jobs.nodes_of(set).empty()) return PMIX_ERR_NOT_FOUND;
  // A host that carries fences knows no operation but those, of the same processes.
  if (!rooms_.cards.is_ours()) return PMIX_ERR_NOT_SUPPORTED;
  return may_exchange_ ? PMIX_SUCCESS : PMIX_ERR_UNREACH;
}

void Operations::step(const OperationRef& operation, OperationEvent event, Cause cause) {
  const auto [action, next] = operation_step(operation->state, event);
  const bool has_ended = next == OperationState::ended && operation->state != next;
  operation->state = next;
  if (has_ended) open_.erase(operation);
  switch (action) {
    case OperationAction::none:
    case OperationAction::drop:
      return;
    case OperationAction::exchange:
      return exchange(operation);
    case OperationAction::call:
      return call_host(operation);
    case OperationAction::give_up:
      if (operation->key) rooms_.exchanges.give_up(*operation->key, cause.status);
      return;
    case OperationAction::ask:
      return ask_handlers(operation);
    case OperationAction::finish:
      finish(*operation, cause.parts);
      break;
    case OperationAction::refuse:
      return refuse(operation, cause.status);
    case OperationAction::answer:
      answer(*operation, {cause.status, std::move(cause.value), std::move(cause.infos)});
      break;
  }
  if (operation->is_constructed()) rooms_.early.take(operation->name.group);
}

void Operations::watch_deadline(const OperationRef& operation, data::Deadline deadline) {
  if (!deadline || (operation->deadline && *operation->deadline <= *deadline)) return;
  operation->deadline = deadline;
  set_timer(operation);
}

void Operations::set_timer(const OperationRef& operation) {
  operation->timer =
      std::make_unique<Timer>(loop_, *operation->deadline, [this, weak = std::weak_ptr(operation)] {
        const auto open = weak.lock();
        if (!open) return;
        open->timer.reset();
        step(open, OperationEvent::late, {PMIX_ERR_TIMEOUT});
      });
}

// ---- between the nodes

void Operations::exchange(const OperationRef& operation) {
  if (!operation->participants) {
    operation->own = rooms_.groups.part_of(*operation);
    operation->participants = participants_of(*operation);
  }
  if (rooms_.groups.are_all_here(*operation->participants)) {
    if (has_others_by_now(*operation)) {  // between nodes exchanged() hears of it
      if (may_be_called(*operation)) return step(operation, OperationEvent::withdrawn);
      if (adjust(*operation)) return begin_again(operation);
    }
    Cause cause{.parts = {std::move(operation->own)}};
    if (!operation->absent.empty()) cause.parts.push_back({.absent = link::runs_of(operation->absent)});
    return step(operation, OperationEvent::succeeded, std::move(cause));
  }
  if (!may_exchange_) return fail(operation, PMIX_ERR_UNREACH);
  const bool brings_data = operation->is_constructed() || operation->is(Operation::Kind::connect) ||
                           operation->is(Operation::Kind::group_fence);
  if (operation->deadline && !operation->timer) set_timer(operation);  // the last attempt was late
  operation->key.reset();
  operation->since = loop_.now();
  const auto key = rooms_.cards.begin(
      *operation->participants, {brings_data, brings_data}, {},
      [this, operation](CardExchange::End ended) { exchanged(operation, std::move(ended)); },
      carries_parts(*operation) ? blob_of(operation->own) : Blob());
  if (!key) return;  // it has ended
  operation->key = key;
  if (is_same(*operation->participants, operation->set))
    operation->begun_as = Exchanges::name_of(*operation->participants, key->second);
  operation->was_over = operation->lost_nodes.empty() && !rooms_.exchanges.is_open(*key);
  watch_rivals();
}

/// Not at once, and none that has begun since the last look: what another node has ended may be seen after
/// what it has begun then.
void Operations::watch_rivals() {
  if (rival_timer_ || open_.in(OperationState::with_nodes).empty()) return;
  rival_timer_ = std::make_unique<Timer>(loop_, rival_period, [this] {
    rival_timer_.reset();
    const auto begun_by = loop_.now() - rival_period;
    for (const auto& operation : open_.in(OperationState::with_nodes)) {
      if (operation->since > begun_by || !operation->key) continue;
      const auto key = *operation->key;
      // Connects have no name: two of other sets are two operations.
      if (operation->is_of_group()) rooms_.exchanges.end_rivals(key);
      rooms_.exchanges.ask_for_dead(key);
    }
    watch_rivals();
  });
}

void Operations::exchanged(const OperationRef& operation, CardExchange::End ended) {
  rooms_.groups.table().settle();
  if (operation->is_unknown && ended.status != PMIX_SUCCESS) return fail(operation, ended.status);
  const bool is_withdrawn = ended.status != PMIX_SUCCESS && may_be_called(*operation);
  if (ended.is_rival && (is_withdrawn || adjust(*operation))) {
    if (operation->key) rooms_.exchanges.go_over(*operation->key);
    return is_withdrawn ? step(operation, OperationEvent::withdrawn) : begin_again(operation);
  }
  if (is_withdrawn) return step(operation, OperationEvent::withdrawn);
  // As on one node, it was no part of this attempt.
  const bool is_passed_over = ended.is_rival || ended.status == PMIX_ERR_TIMEOUT;
  if (operation->was_over && is_passed_over && !is_of_ended_group(*operation))
    return step(operation, OperationEvent::passed);
  if (ended.lost && goes_on_after(operation, *ended.lost)) return;
  if (ended.is_without_data && carries_parts(*operation)) ended.status = PMIX_ERR_LOST_CONNECTION;
  auto parts = ended.status == PMIX_SUCCESS ? parts_of(*operation, ended) : std::vector<GroupPart>();
  if (!parts) ended.status = PMIX_ERR_UNPACK_FAILURE;
  if (ended.status != PMIX_SUCCESS) return fail(operation, ended.status);
  step(operation, OperationEvent::succeeded, {.parts = std::move(*parts)});
  if (operation->arrived.empty()) rooms_.groups.drop(operation->name.group);
}

/// An attempt of it has failed.
void Operations::fail(const OperationRef& operation, pmix_status_t why) {
  step(operation, owe(*operation, why) ? OperationEvent::owed : OperationEvent::failed, {why});
  if (operation->arrived.empty()) rooms_.groups.drop(operation->name.group);
}

/// In the order of the nodes, and behind them the members that were lost with theirs.
Result<std::vector<GroupPart>> Operations::parts_of(const Operation& operation,
                                                    const CardExchange::End& ended) const {
  std::vector<GroupPart> out;
  bool has_own = false;
  for (const auto& [node, bytes] : ended.along) {
    if (!has_own && node > rooms_.peers.self()) {
      out.push_back(operation.own);
      has_own = true;
    }
    auto part = base::decode<GroupPart>(bytes);
    if (!part) return weft::fail(part.error());
    out.push_back(std::move(*part));
  }
  if (!has_own) out.push_back(operation.own);
  if (!operation.absent.empty()) out.push_back({.absent = link::runs_of(operation.absent)});
  return out;
}

/// All nodes say the same: they know the group by the same options.
bool Operations::carries_parts(const Operation& operation) const {
  if (operation.is_constructed()) return true;
  const auto* group =
      operation.is(Operation::Kind::destruct) ? rooms_.groups.table().find(operation.name.group) : nullptr;
  return group != nullptr && group->options.tells_ends;
}

/// The group is to end, and has other members than when that began.
bool Operations::has_others_by_now(const Operation& operation) const {
  const auto* group =
      operation.is(Operation::Kind::destruct) ? rooms_.groups.table().find(operation.name.group) : nullptr;
  return group != nullptr && group->series != operation.name.series;
}

/// The members of the group are others than when this began, or other nodes know so: they fence, or end the
/// group, with those that are left.
bool Operations::adjust(Operation& operation) {
  auto& groups = rooms_.groups;
  const auto* group = operation.is_constructed() ? nullptr : groups.table().find(operation.name.group);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members) return false;
  auto set = groups.set_of_group(*members);
  const bool is_of_these = operation.name.series == group->series;
  const bool is_for_lost = operation.arrived.empty();  // this node takes part for members that have ended
  std::erase_if(operation.arrived, [&](const Arrival& arrival) {
    const bool has_left = !link::holds(group->members, arrival.from.proc());
    if (has_left) answer_member(operation, arrival, PMIX_ERR_NOT_A_MEMBER);
    return has_left;
  });
  const bool has_members = !is_for_lost || !groups.local_members(*group).empty();
  if (!has_members || (operation.arrived.empty() && !is_for_lost)) return false;
  if (!is_of_these) operation.begun_as.reset();
  operation.name.series = group->series;
  operation.set = std::move(set);
  operation.participants = participants_of(operation);
  return true;
}

bool Operations::is_of_ended_group(const Operation& operation) const {
  const bool has_group = operation.is_of_group() && !operation.is_constructed();
  return has_group && rooms_.groups.table().find(operation.name.group) == nullptr;
}

/// The nodes of its members that are known here wait for this one, which cannot take part.
void Operations::tell_unknown(const Operation& construct) const {
  const FenceName name{runs_of(construct.set), attempts(construct) + 1, construct.name};
  std::set<NodeNumber> nodes;
  for (const auto& proc : construct.set)
    for (const auto node : rooms_.jobs.nodes_of({proc})) nodes.insert(node);
  nodes.erase(rooms_.peers.self());
  for (const auto node : nodes)
    rooms_.peers.send(node, RequestType::group_unknown, base::encode(name), nullptr);
}

void Operations::tell_aborted(const FenceName& construct, const Procs& set) {
  for (const auto node : rooms_.jobs.nodes_of(set))
    if (node != rooms_.peers.self())
      rooms_.peers.send(node, RequestType::group_aborted, base::encode(construct), nullptr);
}

// ---- its end

void Operations::finish(const Operation& operation, const std::vector<GroupPart>& parts) {
  const auto set = link::runs_of(operation.set);
  open_.failures().forget(operation.name);
  switch (operation.name.kind) {
    case Operation::Kind::construct:
      return finish_construct(operation, parts);
    case Operation::Kind::connect:
      connected_.insert(set);
      tell_connected(operation.set, true);
      break;
    case Operation::Kind::disconnect:
      if (const auto open = connected_.find(set); open != connected_.end()) connected_.erase(open);
      tell_connected(operation.set, false);
      break;
    case Operation::Kind::destruct:
      open_.failures().forget(operation.name.group);
      rooms_.groups.end(operation.name.group, parts);
      break;
    default:
      break;
  }
  answer(operation, {PMIX_SUCCESS, {}, {}});
}

/// The host hears of it before the callers do: of what they do next it may be the reason.
void Operations::tell_connected(const Procs& set, bool are_connected) {
  if (!rooms_.host.hears_connects()) return;
  are_connected ? rooms_.host.connect({set, {}}, [](pmix_status_t) {})
                : rooms_.host.disconnect({set, {}}, [](pmix_status_t) {});
}

std::vector<NodeNumber> Operations::nodes_connected_with(const pmix_proc_t& proc) const {
  std::vector<NodeNumber> out;
  for (const auto& runs : connected_) {
    if (!link::has_others(runs, proc)) continue;
    const auto procs = link::procs_or_none(runs);
    if (!events::covers(procs, proc)) continue;
    const auto nodes = rooms_.jobs.nodes_of(procs);
    out.insert(out.end(), nodes.begin(), nodes.end());
  }
  return out;
}

/// The group is made: for its members here, and for this server.
void Operations::finish_construct(const Operation& operation, const std::vector<GroupPart>& parts) {
  auto outcome = outcome_of(parts, rooms_.groups.by_rank(operation.set));
  if (outcome.members.empty()) return answer(operation, {outcome.status, {}, {}});
  open_.failures().forget(operation.name.group);
  const auto& first = outcome.members.front();
  const auto keeper = rooms_.peers.node_of(link::make_proc(first.nspace, first.first));
  MadeGroup made{.name = operation.name.group,
                 .group = {outcome.members, outcome.context_id, outcome.options,
                           keeper.value_or(rooms_.peers.self()), 1, outcome.series, outcome.series},
                 .data = {}};
  for (const auto& part : parts) made.data.insert(made.data.end(), part.data.begin(), part.data.end());
  const auto offer = offer_board(operation, outcome);
  const auto members = offer ? *offer : link::GroupMembers{.runs = outcome.members};
  link::Answer out{outcome.status, data::Value::of_bytes(link::encode(members)), {}};
  if (outcome.context_id != 0) out.infos.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(outcome.context_id));
  rooms_.groups.add(std::move(made), outcome.status);
  answer(operation, out);
}

// ---- what is known of them

std::uint64_t Operations::attempts(const Operation& operation) const {
  return rooms_.exchanges.attempts(participants_of(operation));
}

bool Operations::has_other_nodes(const Procs& set) const {
  return rooms_.cards.is_ours() && rooms_.jobs.nodes_of(set).size() > 1;
}

bool Operations::may_take_part_in(const Operation& operation) const {
  if (operation.is_constructed()) return true;
  if (open_.is_with_nodes(operation.name.group, operation.name.kind)) return false;
  const auto* group = rooms_.groups.table().find(operation.name.group);
  // The others may know it still, or again: a process has joined while this node's have ended it.
  if (group == nullptr) return !open_.is_with_nodes(operation.name.group, Operation::Kind::construct);
  auto members = link::procs_of(group->members);
  if (!members) return false;
  const bool is_of_these = operation.name.series == group->series;
  if (is_of_these && is_same(rooms_.groups.set_of_group(*members), operation.set)) return true;
  // A fence that has begun before processes joined ends among the members that it has begun with. One with a
  // process that has left since ends so where that had called before: of this node it has not.
  const auto fenced = link::procs_or_none(rooms_.groups.by_rank(operation.set));
  const bool has_left_here = std::any_of(fenced.begin(), fenced.end(), [&](const pmix_proc_t& proc) {
    return !contains(*members, proc) && rooms_.peers.node_of(proc) == rooms_.peers.self();
  });
  if (has_left_here) return false;
  const auto are_in = [](const Procs& some, const Procs& all) {
    return std::all_of(some.begin(), some.end(),
                       [&](const pmix_proc_t& proc) { return contains(all, proc); });
  };
  if (operation.is(Operation::Kind::group_fence) && (are_in(fenced, *members) || are_in(*members, fenced)))
    return true;
  // The other nodes have begun again without the nodes that are lost.
  std::erase_if(*members, [this](const pmix_proc_t& proc) {
    const auto node = rooms_.peers.node_of(proc);
    return node && rooms_.peers.is_lost(*node);
  });
  return is_of_these && is_same(rooms_.groups.set_of_group(*members), operation.set);
}

std::vector<FencePart> Operations::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& operation : open_.between_nodes()) {
    if (!operation->key) continue;
    auto part = part_of(rooms_.jobs, *operation, operation->key->second);
    rooms_.exchanges.describe(*operation->key, part);
    out.push_back(std::move(part));
  }
  return out;
}

void Operations::forget(const std::string& nspace) {
  std::erase_if(connected_, [&](const link::RankRuns& runs) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const link::RankRun& run) { return run.nspace == nspace; });
  });
}

}  // namespace weft::server
