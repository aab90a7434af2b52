// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/range.hpp"

#include <algorithm>
#include <cstring>

namespace weft::events {

std::string_view name_of(const pmix_proc_t& proc) noexcept {
  return {proc.nspace, ::strnlen(proc.nspace, sizeof proc.nspace)};
}

bool covers(const pmix_proc_t& pattern, const pmix_proc_t& proc) noexcept {
  const bool rank_matches =
      pattern.rank == proc.rank || pattern.rank == PMIX_RANK_WILDCARD || proc.rank == PMIX_RANK_WILDCARD;
  return rank_matches && name_of(pattern) == name_of(proc);
}

bool covers(std::span<const pmix_proc_t> patterns, const pmix_proc_t& proc) noexcept {
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return covers(p, proc); });
}

Result<std::vector<pmix_proc_t>> procs_in(const pmix_value_t& value) {
  if (value.type == PMIX_PROC && value.data.proc != nullptr) return std::vector{*value.data.proc};
  const pmix_data_array_t* const array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_PROC || (array->size != 0 && array->array == nullptr)) {
    return fail(Errc::invalid, "not a list of processes");
  }
  const auto* const first = static_cast<const pmix_proc_t*>(array->array);
  return std::vector(first, first + array->size);
}

std::vector<pmix_proc_t> affected_by(const Event& event) {
  std::vector<pmix_proc_t> all;
  for (const char* key : {PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS}) {
    const pmix_info_t* const info = event.infos.find(key);
    if (info == nullptr) continue;
    if (const auto procs = procs_in(info->value)) all.insert(all.end(), procs->begin(), procs->end());
  }
  return all;
}

bool in_custom_range(const Event& event, const pmix_proc_t& proc) {
  const pmix_info_t* const info = event.infos.find(PMIX_EVENT_CUSTOM_RANGE);
  if (info == nullptr) return true;
  // A malformed range must not become the range of all processes.
  const auto procs = procs_in(info->value);
  return procs && covers(*procs, proc);
}

bool is_addressed(const Event& event, const Recipient& recipient) {
  if (!in_custom_range(event, recipient.proc)) return false;
  switch (event.range) {
    case PMIX_RANGE_RM:
      return recipient.is_host;
    case PMIX_RANGE_LOCAL:
      return recipient.same_node_as_source;
    case PMIX_RANGE_NAMESPACE:
      return name_of(event.source) == name_of(recipient.proc);
    case PMIX_RANGE_SESSION:
      return recipient.same_session;
    case PMIX_RANGE_CUSTOM:
      return event.infos.find(PMIX_EVENT_CUSTOM_RANGE) != nullptr;
    case PMIX_RANGE_PROC_LOCAL:
      return covers(event.source, recipient.proc);
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_GLOBAL:
      return true;
    default:
      return false;
  }
}

bool is_source_wanted(pmix_data_range_t range, std::span<const pmix_proc_t> custom, const pmix_proc_t& source,
                      const Identity& identity) {
  switch (range) {
    case PMIX_RANGE_RM:
      return name_of(source).empty();
    case PMIX_RANGE_LOCAL:
      return !identity.on_my_node || identity.on_my_node(source);
    case PMIX_RANGE_NAMESPACE:
      return name_of(source) == name_of(identity.self);
    case PMIX_RANGE_CUSTOM:
      return covers(custom, source);
    case PMIX_RANGE_PROC_LOCAL:
      return covers(identity.self, source);
    default:
      return true;
  }
}

}  // namespace weft::events
