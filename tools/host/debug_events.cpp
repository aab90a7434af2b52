// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/debug_events.hpp"

#include <cstring>
#include <string_view>

#include "tools/host/calls.hpp"
#include "tools/host/requests/process_names.hpp"

namespace weft::host {
namespace {

const pmix_value_t* find_value(std::span<const pmix_info_t> infos, std::string_view key) {
  for (const auto& info : infos)
    if (key == std::string_view(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN))) return &info.value;
  return nullptr;
}

std::span<const pmix_proc_t> procs_in(const pmix_value_t* value) {
  if (value == nullptr) return {};
  if (value->type == PMIX_PROC && value->data.proc != nullptr) return {value->data.proc, 1};
  const auto* const array = value->type == PMIX_DATA_ARRAY ? value->data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_PROC || array->array == nullptr) return {};
  return {static_cast<const pmix_proc_t*>(array->array), array->size};
}

const char* key_of(job::StopPoint point) noexcept {
  switch (point) {
    case job::StopPoint::exec:
      return PMIX_DEBUG_STOP_ON_EXEC;
    case job::StopPoint::init:
      return PMIX_DEBUG_STOP_IN_INIT;
    case job::StopPoint::app:
      break;
  }
  return PMIX_DEBUG_STOP_IN_APP;
}

std::vector<job::Rank> ranks_that_stop(job::StopPoint point, const std::vector<ProgramStops>& programs) {
  std::vector<job::Rank> out;
  for (const auto& program : programs) {
    const auto& stopped = program.stops.at(point);
    if (!stopped.is_any()) continue;
    for (std::uint32_t r = program.first; r < program.first + program.ranks; ++r)
      if (stopped.includes(job::Rank{r})) out.push_back(job::Rank{r});
  }
  return out;
}

}  // namespace

std::string breakpoint_in(std::span<const pmix_info_t> infos) {
  const auto* const value = find_value(infos, PMIX_BREAKPOINT);
  if (value == nullptr || value->type != PMIX_STRING || value->data.string == nullptr) return {};
  return {value->data.string, ::strnlen(value->data.string, job::longest_breakpoint)};
}

std::vector<job::ControlRequest::Target> released_by(std::span<const pmix_info_t> infos) {
  for (const char* key : {PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_AFFECTED_PROCS, PMIX_EVENT_AFFECTED_PROC})
    if (const auto procs = procs_in(find_value(infos, key)); !procs.empty()) return targets_of(procs);
  return {};
}

InfoList ready_infos(const std::string& nspace, const std::string& breakpoint) {
  InfoList infos;
  infos.add_string(PMIX_NSPACE, nspace);
  infos.add_proc(PMIX_EVENT_AFFECTED_PROC, proc_of(nspace, job::Rank{PMIX_RANK_WILDCARD}));
  if (!breakpoint.empty()) infos.add_string(PMIX_BREAKPOINT, breakpoint);
  infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
  return infos;
}

void add_stops(InfoList& infos, std::uint32_t ranks, const std::vector<ProgramStops>& programs) {
  for (const auto point : job::all_stop_points) {
    const auto stopped = ranks_that_stop(point, programs);
    if (stopped.empty()) continue;
    if (stopped.size() == ranks)
      infos.add_bool(key_of(point), true);
    else if (stopped.size() == 1)
      infos.add_rank(key_of(point), stopped.front());
    else
      infos.add_ranks(key_of(point), stopped);
  }
}

}  // namespace weft::host
