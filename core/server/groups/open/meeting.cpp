// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/meeting.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/server/fences/local_part.hpp"

namespace weft::server {
namespace {

constexpr std::pair<Meeting::Kind, OperationName::Kind> kinds[] = {
    {Meeting::Kind::connect, OperationName::Kind::connect},
    {Meeting::Kind::disconnect, OperationName::Kind::disconnect},
    {Meeting::Kind::construct, OperationName::Kind::construct},
    {Meeting::Kind::destruct, OperationName::Kind::destruct},
    {Meeting::Kind::fence, OperationName::Kind::group_fence}};

}  // namespace

OperationName operation_of(const Meeting& meeting) {
  const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                 [&](const auto& each) { return each.first == meeting.kind; });
  return {kind->second, meeting.group};
}

bool read_operation(const OperationName& operation, Meeting& out) {
  const auto kind = std::find_if(std::begin(kinds), std::end(kinds),
                                 [&](const auto& each) { return each.second == operation.kind; });
  if (kind == std::end(kinds)) return false;
  out.kind = kind->first;
  out.group = operation.group;
  return true;
}

bool asks_handlers(const Arrival& arrival) {
  return is_set(arrival.directives, PMIX_GROUP_LEADER) ||
         is_set(arrival.directives, PMIX_GROUP_NOTIFY_TERMINATION);
}

collectives::AfterLoss after_loss_of(const Meeting& meeting) {
  using collectives::AfterLoss;
  if (!is_of_group(meeting)) return AfterLoss::ends;
  if (meeting.goes_on_smaller) return AfterLoss::goes_on;
  const auto& arrived = meeting.arrived;
  const bool asks =
      meeting.kind == Meeting::Kind::construct && std::any_of(arrived.begin(), arrived.end(), asks_handlers);
  return asks ? AfterLoss::asks : AfterLoss::fails;
}

const Arrival* Meeting::find(const pmix_proc_t& proc) const noexcept {
  const auto found = std::find_if(arrived.begin(), arrived.end(), [&](const Arrival& arrival) {
    return link::is_same(arrival.from.proc(), proc);
  });
  return found == arrived.end() ? nullptr : &*found;
}

void answer(const Meeting& meeting, const link::Answer& answer) {
  const auto bytes = link::encode(answer);
  for (const auto& arrival : meeting.arrived) arrival.from.answer_encoded(bytes);
}

bool has_arrived(const Meeting& meeting, const Job& job, std::uint32_t local) noexcept {
  return std::any_of(meeting.arrived.begin(), meeting.arrived.end(), [&](const Arrival& arrival) {
    const auto& connection = *arrival.from.connection;
    return connection.job == &job && connection.local == local;
  });
}

FencePart part_of(const Jobs& jobs, const Meeting& meeting, std::uint64_t generation) {
  return local_part(jobs, meeting.set, {runs_of(meeting.set), generation, operation_of(meeting)},
                    [&](const Job& job, std::uint32_t local) { return has_arrived(meeting, job, local); });
}

}  // namespace weft::server
