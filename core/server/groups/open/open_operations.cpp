// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/open_operations.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

// ---- those that gather

OpenGatherings::Open OpenGatherings::add(Gathering gathering) {
  const auto at = all_.insert(all_.end(), std::move(gathering));
  by_number_.emplace(at->number, at);
  by_hash_.emplace(at->hash, at);
  return at;
}

void OpenGatherings::erase(Open at) {
  by_number_.erase(at->number);
  const auto [first, last] = by_hash_.equal_range(at->hash);
  for (auto each = first; each != last; ++each)
    if (each->second == at) {
      by_hash_.erase(each);
      break;
    }
  all_.erase(at);
}

OpenGatherings::Open OpenGatherings::by_number(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? all_.end() : found->second;
}

// ---- all

const Gathering* OpenOperations::find(const OperationName& operation, const Procs& set) const {
  const auto is_part_of = [&set](const Procs& all) {
    return std::all_of(set.begin(), set.end(),
                       [&](const pmix_proc_t& proc) { return events::covers(all, proc); });
  };
  const auto open = std::find_if(gathering.begin(), gathering.end(), [&](const Gathering& each) {
    if (operation_of(each.meeting) != operation) return false;
    // Members here may still call a construct that others have begun again without lost nodes.
    return is_same(each.meeting.set, set) ||
           (each.meeting.kind == Meeting::Kind::construct && is_part_of(each.meeting.set));
  });
  return open == gathering.end() ? nullptr : &*open;
}

const Meeting* OpenOperations::under_way(const OperationName& operation, const Procs& set) const {
  const auto is_it = [&](const OperationRef& open) {
    return open->participants.operation() == operation &&
           (is_same(open->meeting.set, set) || is_same(open->participants, set));
  };
  for (const auto& [key, open] : with_nodes)
    if (is_it(open)) return &open->meeting;
  const auto open = std::find_if(asking.begin(), asking.end(), is_it);
  return open == asking.end() ? nullptr : &(*open)->meeting;
}

bool OpenOperations::is_gathering(const Procs& set) const {
  return std::any_of(gathering.begin(), gathering.end(), [&](const Gathering& each) {
    return is_of_group(each.meeting) && is_same(each.meeting.set, set);
  });
}

bool OpenOperations::is_constructing(const std::string& group, const Procs& set) const {
  const OperationName construct{OperationName::Kind::construct, group};
  const bool gathers = std::any_of(gathering.begin(), gathering.end(), [&](const Gathering& each) {
    return operation_of(each.meeting) == construct && is_same(each.meeting.set, set);
  });
  return gathers || under_way(construct, set) != nullptr;
}

bool OpenOperations::is_with_nodes(const std::string& group, std::optional<Meeting::Kind> kind) const {
  const auto is_it = [&](const OperationRef& each) {
    return each->meeting.group == group && (!kind || each->meeting.kind == *kind);
  };
  return std::any_of(with_nodes.begin(), with_nodes.end(),
                     [&](const auto& each) { return is_it(each.second); }) ||
         std::any_of(asking.begin(), asking.end(), is_it);
}

// ---- what handlers are asked about

void ConstructFacts::add(const ConstructFacts& other) {
  asks |= other.asks;
  goes_on_smaller |= other.goes_on_smaller;
  arrived.insert(arrived.end(), other.arrived.begin(), other.arrived.end());
  leaders.insert(leaders.end(), other.leaders.begin(), other.leaders.end());
}

ConstructFacts OpenOperations::facts_of(const OperationName& construct, const Procs& set) const {
  ConstructFacts out;
  const auto* open = find(construct, set);
  const auto* meeting = open != nullptr ? &open->meeting : under_way(construct, set);
  if (meeting == nullptr) return out;
  out.goes_on_smaller = meeting->goes_on_smaller;
  Procs arrived, leaders;
  for (const auto& arrival : meeting->arrived) {
    arrived.push_back(arrival.from.proc());
    if (is_set(arrival.directives, PMIX_GROUP_LEADER)) leaders.push_back(arrival.from.proc());
    out.asks |= asks_handlers(arrival);
  }
  if (open != nullptr) leaders.insert(leaders.end(), open->leaders.begin(), open->leaders.end());
  out.arrived = runs_of(arrived);
  out.leaders = runs_of(leaders);
  return out;
}

}  // namespace weft::server
