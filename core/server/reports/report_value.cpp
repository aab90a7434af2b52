// SPDX-License-Identifier: BSD-3-Clause
// The report as a value of the C API: infos in arrays in infos. docs/design/report.md lists the keys.
#include <cstdlib>
#include <cstring>

#include "core/data/types/memory.hpp"
#include "core/link/messages.hpp"
#include "core/server/reports/report.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

using data::Infos;
using data::Value;

template <class T>
Value numbers(pmix_data_type_t type, const std::vector<T>& list) {
  auto* items = static_cast<T*>(data::new_elements(sizeof(T), list.size()));
  auto* array = static_cast<pmix_data_array_t*>(data::new_elements(sizeof(pmix_data_array_t), 1));
  if (items == nullptr || array == nullptr) {
    std::free(items);
    std::free(array);
    throw std::bad_alloc();
  }
  if (!list.empty()) std::memcpy(items, list.data(), sizeof(T) * list.size());
  *array = {type, list.size(), items};
  Value out;
  out.get().type = PMIX_DATA_ARRAY;
  out.get().data.darray = array;
  return out;
}

Value array(const Infos& infos) {
  auto out = store::array_of(infos);
  if (!out) throw std::bad_alloc();
  return std::move(*out);
}

Value text(const std::string& v) {
  return Value::of(std::string_view(v));
}

const char* name_of(NodeEntry::State state) noexcept {
  switch (state) {
    case NodeEntry::State::here:
      return "here";
    case NodeEntry::State::silent:
      return "silent";
    case NodeEntry::State::lost:
      return "lost";
    case NodeEntry::State::left:
      return "left";
    case NodeEntry::State::unknown:
      return "unknown";
    case NodeEntry::State::unreadable:
      return "unreadable";
  }
  return "";
}

Value to_value(const JobReport& job) {
  Infos out;
  out.add(PMIX_NSPACE, text(job.nspace));
  out.add(PMIX_JOB_SIZE, Value::of(job.ranks));
  out.add(PMIX_NUM_NODES, Value::of(job.nodes));
  out.add("weft.ranks",
          numbers(PMIX_UINT32, std::vector<std::uint32_t>(job.states.begin(), job.states.end())));
  out.add("weft.fences.ended", Value::of(job.fences));
  if (!job.parent_nspace.empty())
    out.add(PMIX_PARENT_ID, Value::of_proc(link::make_proc(job.parent_nspace, job.parent_rank)));
  if (job.attacher_pid != 0) {
    out.add("weft.attacher.pid", Value::of(job.attacher_pid));
    out.add("weft.attacher.user", Value::of(job.attacher_user));
    out.add("weft.detached", Value::of(job.is_detached));
  }
  return array(out);
}

Value to_value(const NameEntry& name) {
  Infos out;
  out.add("weft.key", text(name.key));
  out.add(PMIX_NSPACE, text(name.nspace));
  out.add(PMIX_RANK, Value::of_rank(name.rank));
  out.add(PMIX_RANGE, Value::of(std::uint32_t{name.range}));
  out.add(PMIX_PERSISTENCE, Value::of(std::uint32_t{name.persistence}));
  out.add("weft.bytes", Value::of(name.bytes));
  return array(out);
}

Value to_value(const RegionEntry& region) {
  Infos out;
  out.add("weft.region.name", text(region.name));
  out.add("weft.used", Value::of(region.used));
  out.add("weft.bytes", Value::of(region.size));
  return array(out);
}

void add_memory(const NodeReport& report, Infos& out) {
  Infos names, regions;
  for (const auto& name : report.names) names.add("weft.name", to_value(name));
  for (const auto& region : report.regions) regions.add("weft.region", to_value(region));
  out.add("weft.published", array(names));
  out.add("weft.published.count", Value::of(report.all_names));
  out.add("weft.regions", array(regions));
  out.add("weft.memory.server", Value::of(report.memory.server));
  out.add("weft.memory.clients", Value::of(report.memory.clients));
}

Value to_value(const NodeEntry& node) {
  Infos out;
  out.add(PMIX_NODEID, Value::of(std::uint32_t{node.node}));
  out.add(PMIX_HOSTNAME, text(node.host));
  out.add("weft.state", Value::of(name_of(node.state)));
  if (node.state != NodeEntry::State::here) return array(out);
  std::array<std::uint32_t, 4> states{};
  for (const auto& job : node.report.jobs)
    for (std::size_t i = 0; i < states.size(); ++i) states[i] += job.states[i];
  out.add(PMIX_SERVER_PIDINFO, Value::of_pid(node.report.pid));
  out.add("weft.transport", text(node.report.transport));
  out.add("weft.age", Value::of(node.report.age_ms));
  out.add("weft.ranks", numbers(PMIX_UINT32, std::vector<std::uint32_t>(states.begin(), states.end())));
  out.add("weft.counters", numbers(PMIX_UINT64, node.report.counters));
  add_memory(node.report, out);
  return array(out);
}

Value to_value(const RankRun& run) {
  Infos out;
  out.add(PMIX_NSPACE, text(run.nspace));
  if (run.first != PMIX_RANK_WILDCARD)
    out.add("weft.ranks", numbers(PMIX_UINT32, std::vector<std::uint32_t>{run.first, run.last}));
  return array(out);
}

Value to_value(const GroupEntry& group, const char* name_key) {
  Infos out, procs;
  for (const auto& run : group.members) procs.add("weft.procs", to_value(run));
  out.add(name_key, text(group.name));
  out.add("weft.procs", array(procs));
  return array(out);
}

Value to_value(NodeNumber node, const AbsentRank& absent) {
  Infos out;
  out.add(PMIX_NODEID, Value::of(std::uint32_t{node}));
  out.add(PMIX_NSPACE, text(absent.nspace));
  out.add(PMIX_RANK, Value::of_rank(absent.rank));
  out.add(PMIX_PROC_PID, Value::of_pid(absent.pid));
  out.add("weft.state", Value::of(std::uint32_t{absent.state}));
  return array(out);
}

Value to_value(const FenceReport& fence) {
  Infos out, procs, missing;
  for (const auto& run : fence.name.procs) procs.add("weft.procs", to_value(run));
  for (const auto& on : fence.missing)
    for (const auto& rank : on.ranks) missing.add("weft.rank", to_value(on.node, rank));
  out.add("weft.procs", array(procs));
  out.add("weft.generation", Value::of(fence.name.generation));
  if (!fence.name.operation.is_fence())
    out.add("weft.operation", text(to_text(fence.name.operation) + fence.remark));
  out.add("weft.age", Value::of(fence.age_ms));
  out.add(PMIX_COLLECT_DATA, Value::of(fence.collects));
  out.add("weft.algorithm", text(fence.algorithm));
  out.add(PMIX_NUM_NODES, Value::of(fence.nodes));
  out.add("weft.entered", Value::of(fence.entered));
  out.add("weft.expected", Value::of(fence.ranks));
  out.add("weft.arrived", Value::of(fence.arrived));
  out.add("weft.missing", array(missing));
  out.add("weft.silent", numbers(PMIX_UINT32, fence.silent));
  out.add("weft.waits_for", numbers(PMIX_UINT32, fence.waits_for));
  return array(out);
}

Value to_value(const ChoiceEntry& choice) {
  Infos out;
  out.add("weft.bytes", Value::of(choice.bytes));
  out.add("weft.algorithm", text(choice.algorithm));
  out.add("weft.cost", Value::of(choice.cost_ns));
  out.add("weft.other", text(choice.other));
  out.add("weft.other.cost", Value::of(choice.other_cost_ns));
  return array(out);
}

}  // namespace

Result<data::Value> to_value(const ClusterReport& report) {
  try {
    Infos out, nodes, jobs, fences, names, texts, groups, sets, choices;
    std::vector<std::uint32_t> measures;
    for (const auto& node : report.nodes) nodes.add("weft.node", to_value(node));
    for (const auto& job : report.jobs) jobs.add("weft.job", to_value(job));
    for (const auto& fence : report.fences) fences.add("weft.fence", to_value(fence));
    for (const auto& count : counts_of({})) {
      names.add("weft.counter", Value::of(count.name));
      texts.add("weft.counter", Value::of(count.text));
      measures.push_back(static_cast<std::uint32_t>(count.measure));
    }
    for (const auto& group : report.groups) groups.add("weft.group", to_value(group, PMIX_GROUP_ID));
    for (const auto& set : report.sets) sets.add("weft.set", to_value(set, PMIX_PSET_NAME));
    for (const auto& choice : report.choices) choices.add("weft.choice", to_value(choice));
    out.add(PMIX_SERVER_NSPACE, text(report.nspace));
    out.add(PMIX_SERVER_RANK, Value::of_rank(report.asked));
    out.add(PMIX_NUM_NODES, Value::of(report.size));
    out.add("weft.nodes", array(nodes));
    out.add("weft.jobs", array(jobs));
    out.add("weft.fences", array(fences));
    out.add("weft.groups", array(groups));
    out.add("weft.sets", array(sets));
    out.add("weft.choices", array(choices));
    out.add("weft.costs", text(report.costs));
    out.add("weft.counter.names", array(names));
    out.add("weft.counter.texts", array(texts));
    out.add("weft.counter.measures", numbers(PMIX_UINT32, measures));
    return array(out);
  } catch (const std::bad_alloc&) {
    return fail(Errc::no_memory, "the report");
  }
}

}  // namespace weft::server
