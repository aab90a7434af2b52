// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/debugger_plan.hpp"

#include <fmt/format.h>
#include <pmix_common.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace weft::weftrun {
namespace {

using job::SpawnRequest;

/// The same request, of these programs alone.
SpawnRequest part_of(const SpawnRequest& request, std::vector<SpawnRequest::Program> programs) {
  auto out = request;
  out.programs = std::move(programs);
  return out;
}

bool names_place(const SpawnRequest::Program& program) {
  constexpr std::string_view options[] = {"--host", "--hostfile", "--map-by"};
  return std::any_of(program.words.begin(), program.words.end(), [&](const std::string& word) {
    return std::find(std::begin(options), std::end(options), word) != std::end(options);
  });
}

/// Processes of the target on that node.
std::uint32_t targets_on(std::uint32_t node, const job::ProcessName& target,
                         const placement::RankTable& table) {
  if (number(target.rank) == PMIX_RANK_WILDCARD)
    return static_cast<std::uint32_t>(table.ranks_on(node).size());
  return index(target.rank) < table.size() && table.node_of(target.rank) == node ? 1 : 0;
}

std::uint32_t daemons_for(const job::DebuggerDaemons& how, std::uint32_t targets) {
  if (targets == 0) return 0;
  return how.per_node != 0 ? how.per_node : targets * std::max(how.per_process, 1U);
}

}  // namespace

std::vector<SpawnRequest> jobs_of(const SpawnRequest& request) {
  std::vector<SpawnRequest::Program> proper, daemons;
  std::vector<SpawnRequest> apart;
  for (const auto& program : request.programs) {
    if (program.daemons.are_meant)
      daemons.push_back(program);
    else if (program.is_apart && request.programs.size() > 1)
      apart.push_back(part_of(request, {program}));
    else
      proper.push_back(program);
  }
  std::vector<SpawnRequest> out;
  if (proper.empty() && !apart.empty()) {  // then that is the job which the daemons are for
    proper = std::move(apart.front().programs);
    apart.erase(apart.begin());
  }
  if (!proper.empty()) out.push_back(part_of(request, std::move(proper)));
  if (!daemons.empty()) out.push_back(part_of(request, std::move(daemons)));
  out.insert(out.end(), apart.begin(), apart.end());
  return out;
}

bool goes_to_target(const SpawnRequest& request) {
  const auto& first = request.programs.front();
  const auto& how = first.daemons;
  return how.are_meant && (how.per_node != 0 || how.per_process != 0 || !names_place(first));
}

Plan debugger_plan(const SpawnRequest& request, const Plan& run, const std::vector<NodeNow>& now,
                   const placement::RankTable& target) {
  Plan plan = nodes_of_run(run);
  plan.distribution.nodes = run.all_nodes();
  for (const auto& program : request.programs) {
    auto& share = plan.distribution.apps.emplace_back();
    share.counts.resize(run.all_nodes());
    for (std::uint32_t node = 0; node < run.all_nodes(); ++node)
      if (!now[node].is_lost)
        share.counts[node] = daemons_for(program.daemons, targets_on(node, *program.daemons.target, target));
    plan.ranks.push_back(std::accumulate(share.counts.begin(), share.counts.end(), 0U));
    if (plan.ranks.back() == 0)
      refuse(
          fmt::format("no process of {} runs that a daemon could be beside", program.daemons.target->nspace));
    const auto most = *std::max_element(share.counts.begin(), share.counts.end());
    if (most > job::most_ranks_a_node) refuse(fmt::format("{} daemons are too many for a node", most));
  }
  return plan;
}

}  // namespace weft::weftrun
