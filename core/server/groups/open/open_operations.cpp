// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/open_operations.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

/// Stable while it is open: the set of an operation of a group may change, its name does not.
std::size_t OpenOperations::hash_of(const OperationName& name, const Procs& set) {
  const std::hash<std::string_view> of_text;
  auto out = of_text(name.group) * 31 + static_cast<std::size_t>(name.kind);
  if (!name.group.empty()) return out;
  for (const auto& proc : set) out = (out * 31 + of_text(link::nspace_of(proc))) * 31 + proc.rank;
  return out;
}

OperationRef OpenOperations::add(Operation operation, Loop::TimePoint now) {
  operation.number = ++last_;
  operation.since = now;
  const auto out = std::make_shared<Operation>(std::move(operation));
  all_.emplace(out->number, out);
  by_hash_.emplace(hash_of(out->name, out->set), out);
  return out;
}

void OpenOperations::erase(const OperationRef& operation) {
  operation->timer.reset();
  const auto [first, last] = by_hash_.equal_range(hash_of(operation->name, operation->set));
  const auto at = std::find_if(first, last, [&](const auto& each) { return each.second == operation; });
  if (at != last) by_hash_.erase(at);
  all_.erase(operation->number);
}

std::vector<OperationRef> OpenOperations::in(OperationState state) const {
  std::vector<OperationRef> out;
  for (const auto& [number, open] : all_)
    if (open->state == state) out.push_back(open);
  return out;
}

std::vector<OperationRef> OpenOperations::between_nodes() const {
  std::vector<OperationRef> out;
  for (const auto& [number, open] : all_)
    if (is_between_nodes(open->state)) out.push_back(open);
  return out;
}

OperationRef OpenOperations::gathering(const OperationName& name, const Procs& set) const {
  const auto is_part_of = [&set](const Procs& all) {
    return std::all_of(set.begin(), set.end(),
                       [&](const pmix_proc_t& proc) { return events::covers(all, proc); });
  };
  return find_if([&](const Operation& open) {
    if (open.state != OperationState::gathering || open.name != name) return false;
    // Members here may still call a construct that others have begun again without lost nodes.
    return is_same(open.set, set) || (open.is_constructed() && is_part_of(open.set));
  });
}

OperationRef OpenOperations::under_way(const OperationName& name, const Procs& set) const {
  return find_if([&](const Operation& open) {
    return is_between_nodes(open.state) && open.name == name &&
           (is_same(open.set, set) || (open.participants && is_same(*open.participants, set)));
  });
}

bool OpenOperations::is_gathering(const Procs& set) const {
  return find_if([&](const Operation& open) {
           return open.state == OperationState::gathering && open.is_of_group() && is_same(open.set, set);
         }) != nullptr;
}

bool OpenOperations::is_with_nodes(const std::string& group, std::optional<Operation::Kind> kind) const {
  return find_if([&](const Operation& open) {
           return is_between_nodes(open.state) && open.name.group == group && (!kind || open.is(*kind));
         }) != nullptr;
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
  auto open = gathering(construct, set);
  if (!open) open = under_way(construct, set);
  if (!open) return out;
  out.goes_on_smaller = open->goes_on_smaller;
  Procs arrived, leaders;
  for (const auto& arrival : open->arrived) {
    arrived.push_back(arrival.from.proc());
    if (is_set(arrival.directives, PMIX_GROUP_LEADER)) leaders.push_back(arrival.from.proc());
    out.asks |= asks_handlers(arrival);
  }
  leaders.insert(leaders.end(), open->leaders.begin(), open->leaders.end());
  out.arrived = runs_of(arrived);
  out.leaders = runs_of(leaders);
  return out;
}

}  // namespace weft::server
