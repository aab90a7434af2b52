// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/name.hpp"

#include <algorithm>

#include "core/data/types/array.hpp"
#include "core/events/range.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

bool is_range(pmix_data_range_t range) noexcept {
  return range >= PMIX_RANGE_RM && range <= PMIX_RANGE_PROC_LOCAL;
}

bool is_publisher(const Publication& by, const pmix_proc_t& proc) {
  return by.rank == proc.rank && by.nspace == link::nspace_of(proc);
}

/// The process, or its namespace as a whole.
bool names(const link::RankRuns& runs, const pmix_proc_t& proc) {
  return link::holds(runs, proc) ||
         link::holds(runs, link::make_proc(link::nspace_of(proc), PMIX_RANK_WILDCARD));
}

/// The publisher is where the process looks.
bool looks_at(const Looker& looker, const Publication& by) {
  switch (looker.range) {
    case PMIX_RANGE_RM:
      return false;  // what the host has published: no host of these servers does
    case PMIX_RANGE_LOCAL:
      return by.origin == looker.node;
    case PMIX_RANGE_NAMESPACE:
      return by.nspace == link::nspace_of(looker.proc);
    case PMIX_RANGE_CUSTOM:
      return names(looker.custom, by.publisher());
    case PMIX_RANGE_PROC_LOCAL:
      return is_publisher(by, looker.proc);
    default:
      return true;
  }
}

/// The process is where the publisher has meant.
bool is_meant(const Publication& by, const Looker& looker) {
  switch (by.range) {
    case PMIX_RANGE_RM:
      return false;  // for the host alone
    case PMIX_RANGE_LOCAL:
      return by.origin == looker.node;
    case PMIX_RANGE_NAMESPACE:
      return by.nspace == link::nspace_of(looker.proc);
    case PMIX_RANGE_CUSTOM:
      return names(by.custom, looker.proc);
    case PMIX_RANGE_PROC_LOCAL:
      return is_publisher(by, looker.proc);
    default:
      return true;
  }
}

using Numbers = std::optional<std::vector<std::uint32_t>>;

bool allows(const Numbers& allowed, std::uint32_t number) {
  return !allowed || std::find(allowed->begin(), allowed->end(), number) != allowed->end();
}

/// False: no array of numbers of users.
bool read_numbers(const pmix_value_t& value, Numbers& out) {
  const auto* array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || (array->size != 0 && array->array == nullptr)) return false;
  if (array->type != PMIX_UINT32 && array->type != PMIX_INT32 && array->type != PMIX_INT &&
      array->type != PMIX_UINT)
    return false;
  if (!out) out.emplace();
  const auto* first = static_cast<const std::uint32_t*>(array->array);
  out->insert(out->end(), first, first + array->size);
  return true;
}

bool read_access(std::span<const pmix_info_t> infos, Publication& out) {
  for (const auto& info : infos) {
    const auto key = data::key_of(info);
    if (key == PMIX_ACCESS_USERIDS && !read_numbers(info.value, out.users)) return false;
    if (key == PMIX_ACCESS_GRPIDS && !read_numbers(info.value, out.groups)) return false;
  }
  return true;
}

/// An enumerator of one byte, in its own type or as any number. False: neither.
bool read_byte(const pmix_value_t& value, pmix_data_type_t type, std::uint8_t& out) {
  if (value.type == type) {
    out = type == PMIX_PERSIST ? value.data.persist : value.data.range;
    return true;
  }
  const auto number = data::as_unsigned(value);
  if (!number || *number > UINT8_MAX) return false;
  out = static_cast<std::uint8_t>(*number);
  return true;
}

/// "Not set" is the default.
pmix_status_t read_persistence(const data::Infos& infos, pmix_persistence_t& out) {
  const auto* info = infos.find(PMIX_PERSISTENCE);
  std::uint8_t said = PMIX_PERSIST_INVALID;
  if (info != nullptr && !read_byte(info->value, PMIX_PERSIST, said)) return PMIX_ERR_BAD_PARAM;
  if (said == PMIX_PERSIST_INVALID) return PMIX_SUCCESS;
  if (said > PMIX_PERSIST_SESSION) return PMIX_ERR_BAD_PARAM;
  out = said;
  return PMIX_SUCCESS;
}

}  // namespace

pmix_proc_t Publication::publisher() const {
  return link::make_proc(nspace, rank);
}

bool Publication::ends_with_process() const noexcept {
  return persistence == PMIX_PERSIST_PROC || range == PMIX_RANGE_PROC_LOCAL;
}

bool Publication::ends_with_namespace() const noexcept {
  return ends_with_process() || persistence == PMIX_PERSIST_APP || range == PMIX_RANGE_NAMESPACE;
}

bool is_valid(const Publication& by) noexcept {
  return by.nspace.size() <= PMIX_MAX_NSLEN && is_range(by.range) && by.persistence <= PMIX_PERSIST_SESSION;
}

bool is_valid(const Looker& looker) noexcept {
  return is_range(looker.range);
}

bool has_access(const Publication& by, std::uint32_t uid, std::uint32_t gid) noexcept {
  return allows(by.users, uid) && allows(by.groups, gid);
}

Sight sight_of(const Publication& by, const Looker& looker) {
  if (looker.node == Looker::of_other_run && !by.is_of_runs()) return Sight::none;
  if (!looks_at(looker, by) || !is_meant(by, looker)) return Sight::none;
  return has_access(by, looker.uid, looker.gid) ? Sight::seen : Sight::hidden;
}

bool is_same_space(const Publication& a, const Publication& b) {
  if (a.range != b.range) return false;
  switch (a.range) {
    case PMIX_RANGE_LOCAL:
      return a.origin == b.origin;
    case PMIX_RANGE_NAMESPACE:
      return a.nspace == b.nspace;
    case PMIX_RANGE_CUSTOM:
      return a.custom == b.custom;
    case PMIX_RANGE_PROC_LOCAL:
      return a.rank == b.rank && a.nspace == b.nspace;
    default:
      return true;
  }
}

bool is_narrower(const Publication& a, const Publication& b) noexcept {
  static constexpr pmix_data_range_t by_width[] = {PMIX_RANGE_PROC_LOCAL, PMIX_RANGE_CUSTOM,
                                                   PMIX_RANGE_LOCAL,      PMIX_RANGE_NAMESPACE,
                                                   PMIX_RANGE_SESSION,    PMIX_RANGE_GLOBAL};
  const auto width = [](const Publication& by) {
    return std::find(std::begin(by_width), std::end(by_width), by.range);
  };
  return width(a) < width(b);
}

pmix_status_t read_range(const data::Infos& infos, pmix_data_range_t& range, link::RankRuns& custom,
                         bool* is_given) {
  const auto* info = infos.find(PMIX_RANGE);
  std::uint8_t said = PMIX_RANGE_UNDEF;
  if (info != nullptr && !read_byte(info->value, PMIX_DATA_RANGE, said)) return PMIX_ERR_BAD_PARAM;
  const bool is_set = said != PMIX_RANGE_UNDEF && said != PMIX_RANGE_INVALID;
  if (is_given != nullptr) *is_given = is_set;
  if (!is_set) return PMIX_SUCCESS;
  if (!is_range(said)) return PMIX_ERR_BAD_PARAM;
  range = said;
  if (range != PMIX_RANGE_CUSTOM) return PMIX_SUCCESS;
  const auto* list = infos.find(PMIX_EVENT_CUSTOM_RANGE);
  if (list == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto procs = events::procs_in(list->value);
  if (!procs || procs->empty()) return PMIX_ERR_BAD_PARAM;
  custom = link::runs_of(link::canonical(*procs));
  return PMIX_SUCCESS;
}

pmix_status_t read_publication(const data::Infos& infos, Publication& out) {
  if (const auto status = read_range(infos, out.range, out.custom); status != PMIX_SUCCESS) return status;
  if (const auto status = read_persistence(infos, out.persistence); status != PMIX_SUCCESS) return status;
  if (!read_access({infos.data(), infos.size()}, out)) return PMIX_ERR_BAD_PARAM;
  const auto* permissions = infos.find(PMIX_ACCESS_PERMISSIONS);
  if (permissions == nullptr) return PMIX_SUCCESS;
  const bool is_list = permissions->value.type == PMIX_DATA_ARRAY &&
                       permissions->value.data.darray != nullptr &&
                       permissions->value.data.darray->type == PMIX_INFO;
  const auto list = data::elements_of<pmix_info_t>(permissions->value, PMIX_INFO);
  return is_list && read_access(list, out) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_range(const data::Infos& infos, Looker& looker) {
  const auto* info = infos.find(PMIX_RANGE);
  std::uint8_t said = PMIX_RANGE_UNDEF;
  const bool has_no_name =
      info != nullptr && read_byte(info->value, PMIX_DATA_RANGE, said) && !is_range(said);
  return has_no_name ? PMIX_SUCCESS : read_range(infos, looker.range, looker.custom);
}

}  // namespace weft::server
