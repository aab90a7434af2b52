// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_part.hpp"

#include <algorithm>

#include "core/link/messages.hpp"
#include "core/store/blob.hpp"

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

}  // namespace

Blob blob_of(const GroupPart& part) {
  auto out = store::begin_blob(store::BlobKind::group);
  out.raw(base::encode(part));
  return store::finish_blob(std::move(out));
}

GroupOutcome outcome_of(const std::vector<GroupPart>& parts, const link::RankRuns& members) {
  GroupOutcome out;
  const GroupPart* teller = nullptr;
  for (const auto& part : parts) {
    if (!part.first.nspace.empty() && (teller == nullptr || part.first < teller->first)) teller = &part;
    if (out.context_id == 0) out.context_id = part.context_id;
    out.tells_ends |= part.tells_ends != 0;
  }
  const bool is_by_name = teller == nullptr || teller->order.empty();
  const auto* order = is_by_name ? &members : &teller->order;
  if (!names_the_same(*order, members)) return {PMIX_ERR_BAD_PARAM, {}, 0, false};
  auto present = present_of(*order, parts);
  if (!present) return {PMIX_ERR_BAD_PARAM, {}, 0, false};
  if (present->empty()) return {PMIX_ERR_PROC_ABORTED, {}, 0, false};
  if (*present != *order) out.status = PMIX_ERR_PARTIAL_SUCCESS;
  out.members = std::move(*present);
  return out;
}

}  // namespace weft::server
