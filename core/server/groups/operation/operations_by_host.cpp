// SPDX-License-Identifier: BSD-3-Clause
// Operations: where the host connects processes, or makes groups. The servers do not meet then.
#include <utility>

#include "core/server/groups/operation/operations.hpp"

namespace weft::server {

/// A group's fence is the servers' own.
bool Operations::is_by_host(const Operation& operation) const noexcept {
  if (operation.is(Operation::Kind::group_fence)) return false;
  return operation.is_of_group() ? rooms_.host.does_groups() : rooms_.host.does_connect();
}

void Operations::call_host(const OperationRef& operation) {
  operation->timer.reset();
  Blob value;
  if (operation->is_constructed()) {
    auto members = rooms_.groups.by_rank(operation->arrived.front().procs);
    const bool fences_by_host = rooms_.groups.fences_by_host(members);
    value = link::encode(link::GroupMembers{std::move(members), fences_by_host});
  }
  call_host(*operation, [this, operation, value = std::move(value)](pmix_status_t status, data::Infos infos) {
    Cause cause{.status = status, .infos = std::move(infos)};
    if (!value.empty()) cause.value = data::Value::of_bytes(value);
    step(operation, OperationEvent::replied, std::move(cause));
  });
}

/// Participants of other nodes wait for this one.
void Operations::tell_host(Operation& operation, pmix_status_t why) {
  operation.arrived.front().directives.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(why));
  call_host(operation, [](pmix_status_t, data::Infos) {});
}

/// With the arguments of the first participant.
void Operations::call_host(Operation& operation, Replied replied) {
  auto& host = rooms_.host;
  auto& [from, procs, directives, waited] = operation.arrived.front();
  auto without_infos = [&] {
    return [replied = std::move(replied)](pmix_status_t status) { replied(status, {}); };
  };
  const auto& group = operation.name.group;
  switch (operation.name.kind) {
    case Operation::Kind::connect:
      return host.connect({std::move(procs), std::move(directives)}, without_infos());
    case Operation::Kind::disconnect:
      return host.disconnect({std::move(procs), std::move(directives)}, without_infos());
    case Operation::Kind::construct:
      return host.group(PMIX_GROUP_CONSTRUCT, {group, procs, std::move(directives)},
                        [this, group, members = rooms_.groups.by_rank(procs), replied = std::move(replied)](
                            pmix_status_t status, data::Infos infos) {
                          if (status == PMIX_SUCCESS)
                            rooms_.groups.table().add(group, {.members = members, .options = {}});
                          replied(status, std::move(infos));
                        });
    case Operation::Kind::destruct:
      return host.group(PMIX_GROUP_DESTRUCT, {group, std::move(procs), std::move(directives)},
                        [this, group, replied = std::move(replied)](pmix_status_t status, data::Infos infos) {
                          if (status == PMIX_SUCCESS) rooms_.groups.table().erase(group);
                          replied(status, std::move(infos));
                        });
    default:
      return;
  }
}

}  // namespace weft::server
