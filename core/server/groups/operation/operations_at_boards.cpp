// SPDX-License-Identifier: BSD-3-Clause
// Operations: the members of this node at a board. The offer of one, what they come to there while other
// nodes take part, and how they hear of its end.
#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/groups/operation/operations.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {

namespace {

Operation::Kind kind_of(store::GroupAct act) noexcept {
  if (act == store::GroupAct::made) return Operation::Kind::construct;
  return act == store::GroupAct::ended ? Operation::Kind::destruct : Operation::Kind::group_fence;
}

/// By which members at a board mark that operation. adjusts: of a fence with PMIX_GROUP_FT_COLLECTIVE.
std::uint64_t tag_of(const OperationName& name, bool adjusts = false) {
  auto act = store::GroupAct::fenced;
  if (name.kind == Operation::Kind::construct) act = store::GroupAct::made;
  if (name.kind == Operation::Kind::destruct) act = store::GroupAct::ended;
  return store::tag_of(act, name.group, adjusts);
}

/// The process is in that operation at a board, and its message has not come.
bool is_at_board(const Operation& open, const OperationName& name, const pmix_proc_t& proc) {
  const auto* arrival = open.at_board && open.name == name ? open.find(proc) : nullptr;
  return arrival != nullptr && arrival->from.tag == 0;
}

}  // namespace

/// The group's end, or the next construct of these members, can do without the server.
bool leaves_a_board_of_use(std::string_view key) noexcept {
  return key == PMIX_TIMEOUT || key == PMIX_GROUP_LOCAL_ONLY || key == PMIX_GROUP_ASSIGN_CONTEXT_ID ||
         key == PMIX_GROUP_INFO || key == PMIX_GROUP_LOCAL_CID || key == PMIX_GROUP_ENDPT_DATA;
}

/// The members of this node are of one job, can read the segment, and have brought the same array and no word
/// about how the group lives.
std::optional<link::GroupMembers> Operations::offer_board(const Operation& operation,
                                                          const GroupOutcome& outcome) {
  const bool waits_for_all = outcome.status == PMIX_SUCCESS && outcome.options.waits_for_all();
  if (!waits_for_all || operation.at_board || operation.arrived.empty() || open_.is_gathering(operation.set))
    return std::nullopt;
  std::map<std::uint64_t, pmix_proc_t> by_place;
  for (const auto& arrival : operation.arrived) {
    const auto* infos = arrival.directives.data();
    const bool is_plain = std::all_of(infos, infos + arrival.directives.size(), [](const pmix_info_t& info) {
      return leaves_a_board_of_use(data::key_of(info));
    });
    const auto place = link::place_in(outcome.members, arrival.from.proc());
    if (!is_plain || !place || !arrival.from.connection->has_segment ||
        rooms_.groups.by_rank(arrival.procs) != outcome.members)
      return std::nullopt;
    by_place.emplace(*place, arrival.from.proc());
  }
  Procs here;
  for (const auto& [place, proc] : by_place) here.push_back(proc);
  const auto nspace = link::nspace_of(here.front());
  const bool is_of_one_job =
      std::all_of(here.begin(), here.end(), [&](const auto& proc) { return link::is_of(proc, nspace); });
  const auto* job = is_of_one_job ? rooms_.jobs.find(nspace) : nullptr;
  if (job == nullptr) return std::nullopt;  // or it has ended since they called
  return rooms_.boards.open(job->view(), operation.set, outcome.members, link::runs_of(here));
}

/// Plain is what needs no word of the server: a group that is new, or one whose collectives wait for all its
/// members.
void Operations::run_at_board(GroupBoards::Full full) {
  auto& groups = rooms_.groups;
  groups.table().settle();
  const auto& board = *full.ticket.board;
  Operation operation{.name = {kind_of(full.record.act), full.record.name}, .set = board.set};
  const bool constructs = operation.is_constructed();
  const auto* group = groups.table().find(operation.name.group);
  const bool is_plain =
      constructs ? group == nullptr
                 : group != nullptr && group->members == board.members && group->options.waits_for_all();
  if (!constructs && group != nullptr) operation.name.series = group->series;
  const bool is_by_rank = board.members == groups.by_rank(board.set);
  const auto first = std::min_element(board.here.begin(), board.here.end(), link::is_less);
  for (auto proc = board.here.begin(); is_plain && proc != board.here.end(); ++proc) {
    const auto connection = connection_of(rooms_.jobs, *proc);
    if (connection == nullptr) break;
    operation.arrived.push_back({.from = {connection, 0}});
    if (!constructs || proc != first) continue;  // the order of the members is asked of the first only
    operation.arrived.back().procs = is_by_rank ? board.set : link::procs_or_none(board.members);
  }
  if (operation.arrived.size() != board.here.size()) return rooms_.boards.dissolve(full.ticket);
  link::Answer plain{PMIX_SUCCESS, {}, {}};
  if (constructs)
    plain.value = data::Value::of_bytes(link::encode(link::GroupMembers{.runs = board.members}));
  operation.at_board = {full.ticket, link::encode(plain)};
  complete(open_.add(std::move(operation), loop_.now()));
}

bool Operations::takes(const Requester& from, const OperationName& name, const Procs& set,
                       const data::Infos& directives, data::Deadline deadline) {
  const auto& proc = from.proc();
  if (!name.group.empty()) {
    const bool adjusts =
        name.kind == Operation::Kind::group_fence && is_set(directives, PMIX_GROUP_FT_COLLECTIVE);
    rooms_.boards.came(proc, tag_of(name, adjusts));
  }
  if (const auto answer = owed_.take(name, set, proc)) {
    from.answer_encoded(*answer);
    return true;
  }
  const auto at_board = open_.find_if([&](const Operation& each) {
    return is_at_board(each, name, proc) && (!each.is_constructed() || is_same(each.set, set));
  });
  if (at_board) {
    auto& arrived = at_board->arrived;
    std::find_if(arrived.begin(), arrived.end(), [&](const Arrival& each) {
      return link::is_same(each.from.proc(), proc);
    })->from = from;
    watch_deadline(at_board, deadline);
    return true;
  }
  const auto failing = open_.find_if([&](const Operation& each) {
    return each.state == OperationState::refusing && each.name == name && contains(each.owed, proc) &&
           (each.is_of_group() || is_same(each.set, set));
  });
  if (!failing) return false;
  std::erase_if(failing->owed, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  failing->arrived.push_back({.from = from});
  return true;
}

/// Without those that are of an operation that the board has had.
Procs Operations::sent_away(const OperationName& name, const Procs& set, bool adjusts) const {
  auto members = rooms_.boards.sent_away(tag_of(name, adjusts));
  std::erase_if(members, [&](const pmix_proc_t& proc) {
    return !events::covers(set, proc) || owed_.owes(name, proc) ||
           open_.find_if([&](const Operation& each) { return is_at_board(each, name, proc); });
  });
  return members;
}

void Operations::lose_at_boards(const pmix_proc_t& proc) {
  rooms_.boards.lose(proc);
  owed_.lose(proc);
  for (const auto& failing : open_.in(OperationState::refusing))
    std::erase_if(failing->owed, [&](const pmix_proc_t& each) { return events::covers(proc, each); });
}

// ---- answers

/// Members that are at a board take a plain end from it; any other comes with the answer to their message,
/// at once or long after the end.
void Operations::answer(const Operation& operation, const link::Answer& answer) {
  const auto bytes = link::encode(answer);
  if (const auto& board = operation.at_board) {
    if (bytes == board->plain && rooms_.boards.complete(board->ticket)) return;
    rooms_.boards.dissolve(board->ticket);
  }
  auto owed = operation.owed;
  for (const auto& arrival : operation.arrived) {
    const bool is_to_come = operation.at_board && arrival.from.tag == 0;
    if (!is_to_come)
      arrival.from.answer_encoded(bytes);
    else if (connection_of(rooms_.jobs, arrival.from.proc()) == arrival.from.connection)
      owed.push_back(arrival.from.proc());
  }
  owed_.add(operation.name, operation.set, bytes, std::move(owed));
}

/// For this participant only, which takes no part any more.
void Operations::answer_member(const Operation& operation, const Arrival& arrival, pmix_status_t status) {
  // It would hear from the board that all is well.
  if (operation.at_board) rooms_.boards.dissolve(operation.at_board->ticket);
  arrival.from.reply(status);
  if (operation.at_board && arrival.from.tag == 0)
    owed_.add(operation.name, operation.set, link::encode(link::Answer{status, {}, {}}),
              {arrival.from.proc()});
}

}  // namespace weft::server
