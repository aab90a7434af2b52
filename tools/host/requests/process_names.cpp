// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/process_names.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace weft::host {

job::ProcessName name_of(const pmix_proc_t& proc) {
  return {std::string(proc.nspace, ::strnlen(proc.nspace, PMIX_MAX_NSLEN)), job::Rank{proc.rank}};
}

std::vector<job::ControlRequest::Target> targets_of(std::span<const pmix_proc_t> procs) {
  std::map<std::string, std::optional<std::vector<job::Rank>>> ranks;  // nothing: all
  for (const auto& proc : procs) {
    auto [nspace, rank] = name_of(proc);
    auto& of_job = ranks.try_emplace(std::move(nspace), std::vector<job::Rank>()).first->second;
    if (proc.rank == PMIX_RANK_WILDCARD)
      of_job.reset();
    else if (of_job)
      of_job->push_back(rank);
  }
  std::vector<job::ControlRequest::Target> out;
  for (auto& [nspace, of_job] : ranks) {
    auto list = std::move(of_job).value_or(std::vector<job::Rank>());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    out.push_back({nspace, std::move(list)});
  }
  return out;
}

}  // namespace weft::host
