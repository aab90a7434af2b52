// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/meeting.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"

namespace weft::server {
namespace {

struct Title {
  Meeting::Kind kind;
  std::string_view text;
};
constexpr Title titles[] = {{Meeting::Kind::construct, "construct of group "},
                            {Meeting::Kind::destruct, "destruct of group "},
                            {Meeting::Kind::fence, "fence of group "}};

}  // namespace

bool read_operation(std::string_view operation, Meeting& out) {
  for (const auto& title : titles) {
    if (!operation.starts_with(title.text)) continue;
    out.kind = title.kind;
    out.group = operation.substr(title.text.size());
    return true;
  }
  out.kind = operation == "disconnect" ? Meeting::Kind::disconnect : Meeting::Kind::connect;
  return false;
}

std::string operation_of(const Meeting& meeting) {
  for (const auto& title : titles)
    if (title.kind == meeting.kind) return std::string(title.text) + meeting.group;
  return meeting.kind == Meeting::Kind::connect ? "connect" : "disconnect";
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
