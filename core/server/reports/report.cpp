// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

std::map<FenceName, std::set<NodeNumber>> tellers_of(const std::vector<NodeEntry>& nodes) {
  std::map<FenceName, std::set<NodeNumber>> out;
  for (const auto& entry : nodes)
    for (const auto& part : entry.report.fences) out[part.name].insert(entry.node);
  return out;
}

void add(FenceReport& fence, NodeNumber node, const FencePart& part) {
  fence.age_ms = std::max(fence.age_ms, part.age_ms);
  fence.collects |= part.collects;
  if (fence.remark.empty()) fence.remark = part.remark;
  if (fence.algorithm.empty()) fence.algorithm = part.algorithm;
  fence.ranks += part.ranks;
  fence.arrived += part.arrived;
  if (part.state == FencePart::State::entered)
    ++fence.entered;
  else
    fence.missing.push_back({node, part.missing});
  fence.waits_for.insert(fence.waits_for.end(), part.waits_for.begin(), part.waits_for.end());
}

void finish(FenceReport& fence) {
  // A node that waits for another node, which itself waits for its ranks, says nothing new.
  if (!fence.missing.empty() || !fence.silent.empty()) fence.waits_for.clear();
  std::sort(fence.waits_for.begin(), fence.waits_for.end());
  fence.waits_for.erase(std::unique(fence.waits_for.begin(), fence.waits_for.end()), fence.waits_for.end());
}

void add(std::vector<JobReport>& jobs, const JobReport& part) {
  auto job = std::find_if(jobs.begin(), jobs.end(), [&](const auto& j) { return j.nspace == part.nspace; });
  if (job == jobs.end()) return void(jobs.push_back(part));
  for (std::size_t i = 0; i < part.states.size(); ++i) job->states[i] += part.states[i];
  job->fences = std::max(job->fences, part.fences);
  if (job->parent_nspace.empty()) {
    job->parent_nspace = part.parent_nspace;
    job->parent_rank = part.parent_rank;
  }
  if (job->attacher_pid == 0) {
    job->attacher_pid = part.attacher_pid;
    job->attacher_user = part.attacher_user;
    job->is_detached = part.is_detached;
  }
}

/// Each node that knows a group, or a set, has all of its members.
std::vector<GroupEntry> merged_groups(const std::vector<NodeEntry>& nodes,
                                      std::vector<GroupEntry> NodeReport::*which) {
  std::map<std::string, GroupEntry> by_name;
  for (const auto& entry : nodes)
    for (const auto& group : entry.report.*which) by_name.emplace(group.name, group);
  std::vector<GroupEntry> out;
  for (auto& [name, group] : by_name) out.push_back(std::move(group));
  return out;
}

}  // namespace

std::vector<std::vector<FenceName>> unanswered(const std::vector<NodeEntry>& nodes,
                                               const MembersOf& members) {
  std::vector<std::vector<FenceName>> out(nodes.size());
  for (const auto& [name, tellers] : tellers_of(nodes))
    for (const auto member : members(name))
      if (member < nodes.size() && nodes[member].state == NodeEntry::State::here &&
          tellers.count(member) == 0)
        out[member].push_back(name);
  return out;
}

ClusterReport merged(std::string nspace, NodeNumber asked, std::vector<NodeEntry> nodes,
                     const MembersOf& members) {
  ClusterReport out{std::move(nspace), asked, static_cast<std::uint32_t>(nodes.size()), {}, {}, {}, {}, {}};
  std::map<FenceName, FenceReport> fences;
  for (auto& [name, tellers] : tellers_of(nodes)) {
    auto& fence = fences[name];
    fence.name = name;
    auto takes_part = members(name);
    if (takes_part.empty()) takes_part.assign(tellers.begin(), tellers.end());
    fence.nodes = static_cast<std::uint32_t>(takes_part.size());
    for (const auto node : takes_part)
      if (tellers.count(node) == 0) fence.silent.push_back(node);
  }
  for (const auto& entry : nodes) {
    for (const auto& job : entry.report.jobs) add(out.jobs, job);
    for (const auto& part : entry.report.fences) add(fences[part.name], entry.node, part);
  }
  for (auto& [name, fence] : fences) {
    finish(fence);
    out.fences.push_back(std::move(fence));
  }
  out.groups = merged_groups(nodes, &NodeReport::groups);
  out.sets = merged_groups(nodes, &NodeReport::sets);
  out.nodes = std::move(nodes);
  return out;
}

}  // namespace weft::server
