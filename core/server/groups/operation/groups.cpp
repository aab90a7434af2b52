// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/operation/groups.hpp"

#include <algorithm>

#include "core/events/range.hpp"
#include "core/link/requests.hpp"

namespace weft::server {
namespace {

constexpr std::chrono::seconds rival_period{1};

}  // namespace

Groups::Groups(Loop& loop, Jobs& jobs, Gets& gets, CardExchange& cards, Exchanges& exchanges,
               GroupEvents& events, PeerCalls& peers, GroupBoards& boards, GroupTable& table,
               OpenOperations& operations, Losses& losses, std::uint32_t server)
    : loop_(loop),
      jobs_(jobs),
      gets_(gets),
      cards_(cards),
      exchanges_(exchanges),
      events_(events),
      peers_(peers),
      boards_(boards),
      server_(server),
      table_(table),
      operations_(operations),
      losses_(losses) {}

Participants Groups::participants_of(const Meeting& meeting) const {
  return Participants(meeting.set, operation_of(meeting), after_loss_of(meeting));
}

std::uint64_t Groups::attempts(const Participants& participants) const {
  return exchanges_.attempts(participants);
}

bool Groups::has_other_nodes(const Procs& set) const {
  return cards_.is_ours() && jobs_.nodes_of(set).size() > 1;
}

bool Groups::are_all_here(const Procs& set) const {
  return std::all_of(set.begin(), set.end(), [&](const pmix_proc_t& proc) {
    const auto* job = jobs_.find(link::nspace_of(proc));
    if (job == nullptr) return false;
    const auto& view = job->view();
    return proc.rank == PMIX_RANK_WILDCARD ? view.local_count() == view.ranks()
                                           : view.local_index(proc.rank) != store::none;
  });
}

void Groups::run(Meeting meeting) {
  table_.settle();
  if (meeting.kind == Meeting::Kind::construct && table_.find(meeting.group) != nullptr)
    return fail(meeting, PMIX_ERR_EXISTS);
  auto own = part_of(meeting);
  if (are_all_here(meeting.set)) return end(meeting, {std::move(own)});
  if (jobs_.nodes_of(meeting.set).empty()) return answer(meeting, {PMIX_ERR_NOT_FOUND, {}, {}});
  // A host that carries fences knows no operation but those, of the same processes.
  if (!cards_.is_ours()) return answer(meeting, {PMIX_ERR_NOT_SUPPORTED, {}, {}});
  auto participants = participants_of(meeting);
  exchange(
      std::make_shared<Operation>(Operation{std::move(meeting), std::move(participants), std::move(own)}));
}

void Groups::exchange(const OperationRef& operation) {
  const auto& meeting = operation->meeting;
  if (!may_exchange_) return answer(meeting, {PMIX_ERR_UNREACH, {}, {}});
  const bool brings_data = meeting.kind == Meeting::Kind::construct ||
                           meeting.kind == Meeting::Kind::connect || meeting.kind == Meeting::Kind::fence;
  watch_deadline(operation);
  const auto key = cards_.begin(
      operation->participants, {brings_data, brings_data}, {},
      [this, operation](CardExchange::End ended) { exchanged(operation, std::move(ended)); },
      carries_parts(meeting) ? blob_of(operation->own) : Blob());
  if (!key) return;  // it has failed, and was answered
  operation->key = key;
  operation->was_over = operation->lost.empty() && !exchanges_.is_open(*key);
  operation->since = loop_.now();
  operations_.with_nodes.emplace(*key, operation);
  watch_rivals();
}

void Groups::watch_deadline(const OperationRef& operation) {
  if (!operation->meeting.deadline) return;
  operation->deadline =
      std::make_unique<Timer>(loop_, *operation->meeting.deadline, [this, weak = std::weak_ptr(operation)] {
        const auto open = weak.lock();
        if (!open || !open->key) return;
        is_asking(open) ? give_up(open, PMIX_ERR_TIMEOUT) : exchanges_.abort(*open->key, PMIX_ERR_TIMEOUT);
      });
}

/// Not at once, and none that has begun since the last look: what another node has ended may be seen after
/// what it has begun then.
void Groups::watch_rivals() {
  if (rival_timer_ || operations_.with_nodes.empty()) return;
  rival_timer_ = std::make_unique<Timer>(loop_, rival_period, [this] {
    rival_timer_.reset();
    const auto begun_by = loop_.now() - rival_period;
    for (const auto& [key, operation] : operations_.with_nodes)
      if (operation->since <= begun_by) {
        // Connects have no name: two of other sets are two operations.
        if (is_of_group(operation->meeting)) exchanges_.end_rivals(key);
        exchanges_.ask_for_dead(key);
      }
    watch_rivals();
  });
}

void Groups::exchanged(const OperationRef& operation, CardExchange::End ended) {
  table_.settle();
  operation->deadline.reset();
  if (operation->key) operations_.with_nodes.erase(*operation->key);
  if (ended.status == Exchanges::rivals && adjust(*operation)) {
    if (operation->key) exchanges_.go_over(*operation->key);
    return exchange(operation);
  }
  // Members of other nodes have tried before this node did, and have ended that: as on one node, it was no
  // part of this attempt.
  const bool was_another = ended.status == PMIX_ERR_TIMEOUT || ended.status == Exchanges::rivals ||
                           ended.status == Exchanges::changed;
  if (operation->was_over && was_another && !is_of_ended_group(operation->meeting))
    return exchange(operation);
  if (ended.lost && goes_on_after(operation, *ended.lost)) return;
  if (ended.is_without_data && carries_parts(operation->meeting)) ended.status = PMIX_ERR_LOST_CONNECTION;
  if (ended.status == Exchanges::changed) ended.status = PMIX_ERR_UNREACH;
  if (ended.status == Exchanges::rivals) ended.status = PMIX_ERR_BAD_PARAM;
  finish(operation, ended);
  tell_constructed(operation->meeting);
  if (operation->meeting.arrived.empty()) drop(operation->meeting.group);
}

/// What has come too early for it goes on.
void Groups::tell_constructed(const Meeting& meeting) {
  if (meeting.kind == Meeting::Kind::construct) constructed_(meeting.group);
}

/// All nodes say the same: they know the group by the same options.
bool Groups::carries_parts(const Meeting& meeting) const {
  if (meeting.kind == Meeting::Kind::construct) return true;
  const auto* group = meeting.kind == Meeting::Kind::destruct ? table_.find(meeting.group) : nullptr;
  return group != nullptr && group->options.tells_ends;
}

void Groups::finish(const OperationRef& operation, const CardExchange::End& ended) {
  if (ended.status != PMIX_SUCCESS) return answer(operation->meeting, {ended.status, {}, {}});
  std::vector<GroupPart> parts;
  bool has_own = false;
  for (const auto& [node, bytes] : ended.along) {
    if (!has_own && node > peers_.self()) {
      parts.push_back(std::move(operation->own));
      has_own = true;
    }
    auto part = base::decode<GroupPart>(bytes);
    if (!part) return answer(operation->meeting, {PMIX_ERR_UNPACK_FAILURE, {}, {}});
    parts.push_back(std::move(*part));
  }
  if (!has_own) parts.push_back(std::move(operation->own));
  if (!operation->absent.empty()) parts.push_back({.absent = link::runs_of(operation->absent)});
  end(operation->meeting, parts);
}

/// The members of the group are others than when this began, or other nodes know so: they fence, or end the
/// group, with those that are left.
bool Groups::adjust(Operation& operation) {
  auto& meeting = operation.meeting;
  const auto* group = meeting.kind == Meeting::Kind::construct ? nullptr : table_.find(meeting.group);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members) return false;
  auto set = set_of_group(*members);
  if (is_same(set, meeting.set) && !meeting.goes_on_smaller) return false;
  const bool is_for_lost = meeting.arrived.empty();  // this node takes part for members that have ended
  std::erase_if(meeting.arrived, [&](const Arrival& arrival) {
    const auto& proc = arrival.from.proc();
    const bool has_left = !link::holds(group->members, proc);
    if (has_left && meeting.at_board != 0)
      board_meetings_.answer(meeting.at_board, proc, PMIX_ERR_NOT_A_MEMBER);
    if (has_left) arrival.from.reply(PMIX_ERR_NOT_A_MEMBER);
    return has_left;
  });
  const bool has_members = !is_for_lost || !local_members(*group).empty();
  if (!has_members || (meeting.arrived.empty() && !is_for_lost)) return false;
  meeting.set = std::move(set);
  operation.participants = participants_of(meeting);
  return true;
}

bool Groups::is_of_ended_group(const Meeting& meeting) const {
  const bool has_group = is_of_group(meeting) && meeting.kind != Meeting::Kind::construct;
  return has_group && table_.find(meeting.group) == nullptr;
}

bool Groups::may_take_part_in(const Meeting& meeting) const {
  if (meeting.kind == Meeting::Kind::construct) return true;
  if (operations_.is_with_nodes(meeting.group, meeting.kind)) return false;
  const auto* group = table_.find(meeting.group);
  auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members) return false;
  if (is_same(set_of_group(*members), meeting.set)) return true;
  // The other nodes have begun again without the nodes that are lost.
  std::erase_if(*members, [this](const pmix_proc_t& proc) {
    const auto node = peers_.node_of(proc);
    return node && peers_.is_lost(*node);
  });
  return is_same(set_of_group(*members), meeting.set);
}

std::vector<std::pair<FenceName, const Meeting*>> Groups::constructs_led_by(const pmix_proc_t& proc) const {
  std::vector<std::pair<FenceName, const Meeting*>> out;
  for (const auto& [key, operation] : operations_.with_nodes) {
    const auto& meeting = operation->meeting;
    const auto* arrival = meeting.kind == Meeting::Kind::construct ? meeting.find(proc) : nullptr;
    if (arrival != nullptr && is_set(arrival->directives, PMIX_GROUP_LEADER))
      out.emplace_back(Exchanges::name_of(operation->participants, key.second), &meeting);
  }
  return out;
}

void Groups::tell_aborted(const FenceName& construct, const Procs& set) {
  for (const auto node : jobs_.nodes_of(set))
    if (node != peers_.self())
      peers_.send(node, RequestType::group_aborted, base::encode(construct), nullptr);
}

void Groups::end_exchanges_of(const std::string& group, const Procs& now, const pmix_proc_t& gone) {
  const auto node = peers_.node_of(gone);
  if (!node || *node == peers_.self()) return;  // what this node has begun has its own members in it
  for (const auto& [key, operation] : operations_.with_nodes) {
    const auto& meeting = operation->meeting;
    const bool is_of_it = meeting.group == group && meeting.kind != Meeting::Kind::construct;
    if (!is_of_it || is_same(meeting.set, now) || !events::covers(meeting.set, gone)) continue;
    const auto status = meeting.goes_on_smaller ? Exchanges::rivals : Exchanges::changed;
    exchanges_.ask(Exchanges::name_of(operation->participants, key.second), *node,
                   [this, key = key, status](const FencePart* part) {
                     const bool has_come = part != nullptr && part->state == FencePart::State::entered;
                     if (!has_come) abort(key, status);
                   });
  }
}

void Groups::end(const Meeting& meeting, const std::vector<GroupPart>& parts) {
  switch (meeting.kind) {
    case Meeting::Kind::connect:
      connected_.insert(link::runs_of(meeting.set));
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::disconnect:
      if (const auto open = connected_.find(link::runs_of(meeting.set)); open != connected_.end())
        connected_.erase(open);
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::fence:
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::destruct:
      tell_absent(meeting.group, parts);
      table_.erase(meeting.group);
      return answer(meeting, {PMIX_SUCCESS, {}, {}});
    case Meeting::Kind::construct:
      break;
  }
  auto outcome = outcome_of(parts, by_rank(meeting.set));
  if (outcome.members.empty()) return answer(meeting, {outcome.status, {}, {}});
  const auto keeper = keeper_of(outcome.members);
  MadeGroup made{meeting.group, {outcome.members, outcome.context_id, outcome.options, keeper, 1}, {}};
  for (const auto& part : parts) made.data.insert(made.data.end(), part.data.begin(), part.data.end());
  const auto offer = offer_board(meeting, outcome);
  conclude(meeting, std::move(made), outcome.status,
           offer ? *offer : link::GroupMembers{.runs = outcome.members});
}

/// The group is made: for its members here, and for this server.
void Groups::conclude(const Meeting& meeting, MadeGroup made, pmix_status_t status,
                      const link::GroupMembers& members) {
  link::Answer out{status, data::Value::of_bytes(link::encode(members)), {}};
  if (made.group.context_id != 0)
    out.infos.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(made.group.context_id));
  store(made);
  tell_made(made.name, made.group, status);
  tell_earlier_ends(made.name, made.group);
  const auto name = made.name;
  table_.add(name, std::move(made.group));
  drop(name);
  answer(meeting, out);
}

void Groups::tell_made(const std::string& name, const Group& group, pmix_status_t status) {
  const bool is_smaller = status == PMIX_ERR_PARTIAL_SUCCESS;
  if (!is_smaller && group.context_id == 0) return;
  const auto here = local_members(group);
  if (here.empty()) return;
  const auto source = link::make_proc(group.members.front().nspace, group.members.front().first);
  if (is_smaller) events_.tell({PMIX_GROUP_MEMBERSHIP_UPDATE, source, name, &group.members, nullptr}, here);
  if (group.context_id == 0) return;
  data::Infos context;
  context.add(PMIX_GROUP_CONTEXT_ID, data::Value::of_size(group.context_id));
  events_.tell({PMIX_GROUP_CONTEXT_ID_ASSIGNED, source, name, nullptr, nullptr}, here, &context);
}

void Groups::fail(const Meeting& meeting, pmix_status_t why) {
  answer(meeting, {why == Exchanges::changed ? PMIX_ERR_UNREACH : why, {}, {}});
  if (!has_other_nodes(meeting.set)) return;
  refuse(
      std::make_shared<Operation>(Operation{
          {.kind = meeting.kind, .group = meeting.group, .set = meeting.set}, participants_of(meeting), {}}),
      why);
}

std::vector<FencePart> Groups::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& [key, operation] : operations_.with_nodes) {
    auto part = server::part_of(jobs_, operation->meeting, key.second);
    exchanges_.describe(key, part);
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace weft::server
