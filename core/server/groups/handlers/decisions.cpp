// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/handlers/decisions.hpp"

#include "core/data/types/array.hpp"

namespace weft::server {
namespace {

using By = link::GroupVerdict::By;

bool declares_itself(const link::GroupVerdict& verdict) {
  const auto* leader = verdict.results.find(PMIX_GROUP_LEADER);
  return leader != nullptr && data::is_true(leader->value);
}

}  // namespace

Decision decision_of(const link::GroupVerdict& verdict) {
  if (verdict.by == By::no_process) return {Decision::Kind::gone};
  if (verdict.by == By::no_handler) return {Decision::Kind::unheard};
  if (verdict.status == PMIX_GROUP_CONSTRUCT_ABORT) return {Decision::Kind::aborted};
  const auto* added = verdict.results.find(PMIX_GROUP_ADD_MEMBERS);
  const auto procs = added == nullptr ? std::span<const pmix_proc_t>()
                                      : data::elements_of<pmix_proc_t>(added->value, PMIX_PROC);
  if (procs.empty()) return {Decision::Kind::left_out};
  return {Decision::Kind::replaced, Procs(procs.begin(), procs.end())};
}

Decision decision_of(const std::vector<Questions::Vote>& votes) {
  Decision out{Decision::Kind::gone};
  for (const auto& vote : votes) {
    auto decision = decision_of(vote.verdict);
    if (decision.kind == Decision::Kind::replaced) decision = {Decision::Kind::left_out};
    if (decision.kind > out.kind) out = std::move(decision);
  }
  return out;
}

Election election_of(const std::vector<Questions::Vote>& votes) {
  Election out;
  for (const auto& vote : votes) {
    if (vote.verdict.by != By::handlers) continue;
    out.is_aborted |= vote.verdict.status == PMIX_GROUP_CONSTRUCT_ABORT;
    if (declares_itself(vote.verdict)) out.leaders.push_back(vote.proc);
  }
  return out;
}

pmix_status_t approval_of(const std::vector<Questions::Vote>& votes) {
  for (const auto& vote : votes)
    if (vote.verdict.status != PMIX_SUCCESS) return vote.verdict.status;
  return PMIX_SUCCESS;
}

}  // namespace weft::server
