// SPDX-License-Identifier: BSD-3-Clause
// What the processes of a schedule hear: ends of their calls, events, questions to their handlers, changes of
// their groups.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "tests/schedules/processes.hpp"
#include "weft/pmix_extensions.h"

namespace weft::schedules {

using simulation::World;

namespace {

std::string group_in(const data::Infos& infos) {
  const auto* info = infos.find(PMIX_GROUP_ID);
  const bool is_text =
      info != nullptr && info->value.type == PMIX_STRING && info->value.data.string != nullptr;
  return is_text ? info->value.data.string : "";
}

std::optional<Rank> affected_in(const data::Infos& infos, const simulation::Places& places) {
  const auto* info = infos.find(PMIX_EVENT_AFFECTED_PROC);
  const bool is_proc = info != nullptr && info->value.type == PMIX_PROC && info->value.data.proc != nullptr;
  return is_proc ? places.process_of(*info->value.data.proc) : std::nullopt;
}

bool tells_of_members(pmix_status_t code) {
  return code == PMIX_GROUP_LEFT || code == PMIX_GROUP_MEMBERSHIP_UPDATE;
}

}  // namespace

bool Processes::take_words() {
  bool has_come = false;
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    if (!world_.has_started(rank)) continue;
    for (auto& word : world_.client(rank).take_words()) {
      has_come = true;
      std::visit([&](auto& each) { take(rank, std::move(each)); }, word);
    }
  }
  has_news_ |= has_come;
  return has_come;
}

// ---- ends of calls

void Processes::take(Rank rank, Client::Ended end) {
  auto& process = processes_[rank];
  if (process.subscribes == end.call) {
    process.has_begun = true;
    process.subscribes.reset();
    record_.began[rank] = world_.now();
    if (!process.todo.empty()) process.next_at = world_.now() + process.todo.front().pause;
    return;
  }
  if (const auto joined = process.joins.find(end.call); joined != process.joins.end()) {
    const auto number = joined->second;
    process.joins.erase(joined);
    parts_[number][rank] = Part::over;
    return end_of_call(rank, number, std::move(end));
  }
  if (process.declines.erase(end.call) != 0) return;
  if (process.waits != end.call) return violates(fmt::format("rank {} heard twice of one call", rank));
  if (process.next == process.todo.size()) {
    process.waits.reset();
    process.has_finalized = true;
    world_.client(rank).hang_up();
    world_.wake(world_.node_of(rank));
    return;
  }
  end_of_call(rank, process.todo[process.next].operation, std::move(end));
  go_on(process);
}

void Processes::end_of_call(Rank rank, std::size_t number, Client::Ended end) {
  const auto& operation = schedule_.operations[number];
  note(rank, number, end.status);
  Ended heard{end.status, std::move(end.members), end.context, end.found};
  auto& groups = record_.groups[rank];
  switch (operation.kind) {
    case Kind::construct:
    case Kind::invite:
    case Kind::join:
      if (heard.is_made()) groups[operation.group] = heard.members;
      processes_[rank].has_rejoined = heard.is_made() && is_leaving(processes_[rank], operation.group);
      break;
    case Kind::destruct:
      if (end.status == PMIX_SUCCESS)
        groups.erase(operation.group);
      else
        broken_.emplace(operation.group, number);
      break;
    case Kind::leave:
      if (end.status != PMIX_SUCCESS) break;
      groups.erase(operation.group);
      if (!std::exchange(processes_[rank].has_rejoined, false) && !is_joining(rank, operation.group))
        processes_[rank].left.insert(operation.group);
      break;
    case Kind::get:
      if (end.status == PMIX_SUCCESS && end.value != card_of(operation.target, operation.late))
        violates(fmt::format("rank {} has found another card than that of rank {}", rank, operation.target));
      if (end.status != PMIX_SUCCESS && must_find_[number] && schedule_.faults.empty() &&
          !world_.end_of(world_.places().job_of(operation.target)))
        violates(fmt::format("rank {} has not found what rank {} had committed", rank, operation.target));
      break;
    case Kind::connect:
      if (end.status == PMIX_SUCCESS) processes_[rank].connected.insert(operation.members);
      break;
    case Kind::disconnect:
      processes_[rank].connected.erase(operation.members);
      break;
    default:
      break;
  }
  record_.ended_at[number][rank] = world_.now();
  record_.ended[number][rank] = std::move(heard);
}

bool Processes::is_leaving(const Process& process, const std::string& group) const {
  return process.waits && process.next < process.todo.size() && operation_of(process).kind == Kind::leave &&
         operation_of(process).group == group;
}

/// It has been invited anew before it has heard of the end of its leave.
bool Processes::is_joining(Rank rank, const std::string& group) const {
  const auto& joins = processes_[rank].joins;
  return std::any_of(joins.begin(), joins.end(),
                     [&](const auto& join) { return schedule_.operations[join.second].group == group; });
}

// ---- events

void Processes::take(Rank rank, link::EventMessage event) {
  if (event.code == user_event) {
    const auto* number = event.infos.find(operation_key);
    const auto operation = number == nullptr ? fail(Errc::not_found) : data::as_unsigned(number->value);
    if (!operation || *operation >= record_.heard.size())
      return violates(fmt::format("rank {} hears an event that no process has raised", rank));
    ++record_.heard[*operation][rank];
    return;
  }
  const auto group = group_in(event.infos);
  if (event.code == PMIX_GROUP_INVITED) {
    // One that begins waits until each process has heard of those before it.
    for (auto i = schedule_.operations.size(); i-- > 0;) {
      const auto& operation = schedule_.operations[i];
      const bool is_it = operation.kind == Kind::invite && operation.group == group &&
                         operation.target == world_.places().process_of(event.source) && has_begun_[i] &&
                         std::binary_search(operation.members.begin(), operation.members.end(), rank);
      if (!is_it) continue;
      if (parts_[i].count(rank) == 0) return is_invited(rank, i, event.source);
      break;
    }
    return violates(fmt::format("rank {} is invited to {} once more", rank, group));
  }
  if (!tells_of_members(event.code)) return;
  if (processes_[rank].left.count(group) != 0)
    violates(fmt::format("rank {} has left {}, and hears event {} of it", rank, group, event.code));
  if (const auto about = affected_in(event.infos, world_.places()); about && event.code == PMIX_GROUP_LEFT)
    ++record_.departures[{group, *about, rank}];
}

void Processes::is_invited(Rank rank, std::size_t number, const pmix_proc_t& leader) {
  const auto& operation = schedule_.operations[number];
  const auto place = std::lower_bound(operation.members.begin(), operation.members.end(), rank);
  const auto m = static_cast<std::size_t>(place - operation.members.begin());
  parts_[number][rank] = Part::heard;
  record_.invited[number].insert(rank);
  if (operation.answers[m] == Answer::none) {
    parts_[number][rank] = Part::silent;
    return;
  }
  const bool accepts = operation.answers[m] == Answer::accepts;
  later(world_.now() + operation.pauses[m], [this, rank, number, leader, accepts] {
    if (is_gone(rank) || processes_[rank].has_finalized) return;
    const auto& group = schedule_.operations[number].group;
    if (accepts) processes_[rank].left.erase(group);
    const auto call = world_.client(rank).join(group, leader, accepts);
    if (accepts) {
      processes_[rank].joins.emplace(call, number);
    } else {
      processes_[rank].declines.insert(call);
      parts_[number][rank] = Part::over;
    }
    world_.wake(world_.node_of(rank));
  });
}

// ---- questions

void Processes::take(Rank rank, link::GroupQuestion question) {
  const auto group = group_in(question.infos);
  using By = link::GroupVerdict::By;
  link::GroupVerdict verdict{question.number, By::no_handler, PMIX_SUCCESS, {}};
  const auto code = question.codes.empty() ? PMIX_SUCCESS : question.codes.front();
  Time pause{};
  for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
    const auto& operation = schedule_.operations[i];
    if (operation.group != group || is_over(i)) continue;
    const auto place = std::find(operation.members.begin(), operation.members.end(), rank);
    if (code == PMIX_GROUP_JOIN_REQUEST && operation.kind == Kind::join) {
      if (affected_in(question.infos, world_.places()) != operation.members.front()) continue;
      verdict.by = operation.refuses ? By::handlers : By::no_handler;
      if (operation.refuses) verdict.status = PMIX_ERR_NOT_A_MEMBER;
      break;
    } else if (operation.kind == Kind::construct && operation.asks && place != operation.members.end()) {
      verdict.by = By::handlers;
      if (operation.refuses && rank % 4 == 1) verdict.status = PMIX_GROUP_CONSTRUCT_ABORT;
      pause = operation.pauses[static_cast<std::size_t>(place - operation.members.begin())];
      break;
    } else if (code != PMIX_GROUP_JOIN_REQUEST && operation.kind == Kind::invite &&
               place != operation.members.end()) {
      const bool is_election = code == PMIX_GROUP_LEADER_FAILED;
      verdict.by = (is_election ? operation.elects : operation.decides) ? By::handlers : By::no_handler;
      verdict.results = {};
      if (is_election && operation.elects) verdict.results.add(PMIX_GROUP_LEADER, data::Value::of(true));
      pause = operation.pauses[static_cast<std::size_t>(place - operation.members.begin())];
      break;
    }
  }
  const auto shared = std::make_shared<link::GroupVerdict>(std::move(verdict));
  later(world_.now() + pause, [this, rank, shared] {
    if (is_gone(rank) || processes_[rank].has_finalized) return;
    world_.client(rank).answer(std::move(*shared));
    world_.wake(world_.node_of(rank));
  });
}

// ---- output

void Processes::take(Rank rank, const link::Output& output) {
  const auto print = output.bytes.empty() ? schedule_.operations.size() : output.bytes.size() - 1;
  const bool is_printed =
      print < schedule_.operations.size() && output.bytes == printed_by(print) &&
      world_.places().process_of(output.source) == schedule_.operations[print].members.front();
  if (!is_printed) return violates(fmt::format("rank {} has output that no process has printed", rank));
  record_.output[{output.handle, rank}].push_back(print);
  note(rank, print, 0);
}

// ---- changes of groups

void Processes::take(Rank rank, link::GroupChange change) {
  auto& groups = record_.groups[rank];
  const auto& process = processes_[rank];
  if (!change.members.empty()) {
    if (process.left.count(change.group) != 0)
      violates(fmt::format("rank {} has left {}, and is told of its members", rank, change.group));
    groups[change.group] = std::move(change.members);
    return;
  }
  if (!is_leaving(process, change.group))
    violates(fmt::format("rank {} is no member of {} any more, and has not left", rank, change.group));
  groups.erase(change.group);
}

}  // namespace weft::schedules
