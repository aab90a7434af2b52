// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/process_sets.hpp"

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= PMIX_MAX_NSLEN && name.find(',') == std::string::npos;
}

}  // namespace

pmix_status_t ProcessSets::define(const std::string& name, Procs members) {
  if (!is_name(name) || members.empty()) return PMIX_ERR_BAD_PARAM;
  if (sets_.count(name) != 0 || jobs_.find(name) != nullptr) return PMIX_ERR_EXISTS;
  auto runs = link::runs_of(canonical(std::move(members)));
  for (auto& run : runs) {
    const auto* job = jobs_.find(run.nspace);
    if (job == nullptr) return PMIX_ERR_NOT_FOUND;
    const auto ranks = job->view().ranks();
    if (run.first == PMIX_RANK_WILDCARD) run = {run.nspace, 0, ranks - 1};
    if (run.last >= ranks) return PMIX_ERR_NOT_FOUND;
  }
  sets_.emplace(name, std::move(runs));
  return PMIX_SUCCESS;
}

void ProcessSets::forget(std::string_view nspace) {
  for (auto& [name, runs] : sets_)
    std::erase_if(runs, [&](const link::RankRun& run) { return run.nspace == nspace; });
  std::erase_if(sets_, [](const auto& set) { return set.second.empty(); });
}

const link::RankRuns* ProcessSets::find(const std::string& name) const {
  const auto found = sets_.find(name);
  return found == sets_.end() ? nullptr : &found->second;
}

std::string ProcessSets::names() const {
  std::string out;
  for (const auto& [name, runs] : sets_) out += (out.empty() ? "" : ",") + name;
  return out;
}

}  // namespace weft::server
