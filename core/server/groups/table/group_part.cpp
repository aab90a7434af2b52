// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_part.hpp"

#include <algorithm>

#include "core/data/types/array.hpp"
#include "core/link/messages.hpp"
#include "core/store/cards/blob.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

bool names_the_same(const link::RankRuns& order, const link::RankRuns& members) {
  if (order == members) return true;
  auto procs = link::procs_of(order);
  return procs && link::runs_of(link::canonical(std::move(*procs))) == members;
}

/// Without those of any part, in the same order.
Result<link::RankRuns> present_of(const link::RankRuns& order, const std::vector<GroupPart>& parts) {
  link::RankRuns absent;
  for (const auto& part : parts) absent.insert(absent.end(), part.absent.begin(), part.absent.end());
  if (absent.empty()) return order;
  auto procs = link::procs_of(order);
  if (!procs) return fail(procs.error());
  std::erase_if(*procs, [&](const pmix_proc_t& proc) { return link::holds(absent, proc); });
  return link::runs_of(*procs);
}

/// The contents of PMIX_GROUP_INFO, and what stands beside it.
Result<data::Infos> given_in(const data::Infos& directives) {
  data::Infos out;
  std::optional<Error> why;
  const auto add = [&](const pmix_info_t& info) {
    auto value = data::Value::copy_of(info.value);
    if (value)
      out.add(data::key_of(info), std::move(*value));
    else
      why = value.error();
  };
  for (const auto* info = directives.data(); info != directives.data() + directives.size(); ++info) {
    const auto key = data::key_of(*info);
    if (key == PMIX_GROUP_LOCAL_CID || key == PMIX_GROUP_ENDPT_DATA) add(*info);
    if (key != PMIX_GROUP_INFO) continue;
    for (const auto& each : data::elements_of<pmix_info_t>(info->value, PMIX_INFO)) add(each);
  }
  if (why) return fail(*why);
  return out;
}

}  // namespace

Result<std::optional<MemberData>> data_of(const pmix_proc_t& member, const data::Infos& directives) {
  const auto given = given_in(directives);
  if (!given) return fail(given.error());
  if (given->size() == 0) return std::nullopt;
  data::Writer bytes;
  if (!data::encode_infos(bytes, given->data(), given->size()))
    return fail(Errc::invalid, "what a member gives to a group cannot travel");
  return MemberData{std::string(link::nspace_of(member)), member.rank, std::move(bytes).take()};
}

GroupOptions options_in(const data::Infos& directives) {
  return {is_set(directives, PMIX_GROUP_NOTIFY_TERMINATION), is_set(directives, PMIX_GROUP_FT_COLLECTIVE),
          is_set(directives, PMIX_GROUP_NOTIFY_EACH), is_set(directives, PMIX_GROUP_NOTIFY_DEPARTURE)};
}

Blob blob_of(const GroupPart& part) {
  auto out = store::begin_blob(store::BlobKind::group);
  out.raw(base::encode(part));
  return store::finish_blob(std::move(out));
}

GroupOutcome outcome_of(const std::vector<GroupPart>& parts, const link::RankRuns& members) {
  GroupOutcome out{.members = {}, .series = parts.empty() ? 0 : parts.front().series, .options = {}};
  const GroupPart* teller = nullptr;
  for (const auto& part : parts) {
    if (!part.first.nspace.empty() && (teller == nullptr || part.first < teller->first)) teller = &part;
    if (out.context_id == 0) out.context_id = part.context_id;
    out.options.add(part.options);
  }
  const bool is_by_name = teller == nullptr || teller->order.empty();
  const auto* order = is_by_name ? &members : &teller->order;
  if (!names_the_same(*order, members)) return {PMIX_ERR_BAD_PARAM, {}, 0, 0, {}};
  auto present = present_of(*order, parts);
  if (!present) return {PMIX_ERR_BAD_PARAM, {}, 0, 0, {}};
  if (present->empty()) return {PMIX_ERR_PROC_ABORTED, {}, 0, 0, {}};
  if (*present != *order) out.status = PMIX_ERR_PARTIAL_SUCCESS;
  out.members = std::move(*present);
  return out;
}

}  // namespace weft::server
