// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/text.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <map>

#include "tools/job/ranges.hpp"
#include "tools/weftinfo/printable.hpp"

namespace weft::weftinfo {
namespace {

// Pids for the first few: enough to attach a debugger to one, without a screenful at full scale.
constexpr std::size_t with_pid = 8;
constexpr std::size_t most_names = 20;  // published names that are printed

const char* plural(std::uint64_t count) {
  return count == 1 ? "" : "s";
}

std::string list(const std::string& before, const std::string& item) {
  return before.empty() ? item : before + ", " + item;
}

/// "3 in the job, 1 gone without PMIx_Finalize"
std::string text_of(const States& states) {
  constexpr std::array<const char*, 4> names{"not in PMIx_Init yet", "connected", "finalized",
                                             "gone without PMIx_Finalize"};
  std::string out;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i] != 0) out = list(out, fmt::format("{} {}", states[i], names[i]));
  return out.empty() ? "no ranks here" : out;
}

std::string text_of(const Node& node) {
  if (node.state != "here") return fmt::format("  {:>5}  {:<20} {}\n", node.number, node.host, node.state);
  return fmt::format("  {:>5}  {:<20} server pid {}, {}{}\n", node.number, node.host, node.pid,
                     node.transport.empty() ? "" : fmt::format("transport {}, ", node.transport),
                     text_of(node.ranks));
}

std::string name_of_user(std::uint32_t number) {
  std::array<char, 4096> buffer;
  passwd entry{}, *found = nullptr;
  const int status = ::getpwuid_r(number, &entry, buffer.data(), buffer.size(), &found);
  return status == 0 && found != nullptr ? printable(found->pw_name) : fmt::format("user {}", number);
}

std::string attacher_of(const Job& job) {
  if (job.attacher == 0) return {};
  return fmt::format(", {} by process {} of {}", job.is_detached ? "detached" : "attached", job.attacher,
                     name_of_user(job.attacher_user));
}

/// Those that a process of this job has spawned stand behind it.
std::string text_of(const Job& job) {
  const auto parent = job.parent.empty()
                          ? std::string()
                          : fmt::format(", spawned by rank {} of {}", job.parent_rank, job.parent);
  return fmt::format("job {}: {} rank{} on {} node{}{}{}: {}; {} fence{} of all ranks ended\n", job.nspace,
                     job.ranks, plural(job.ranks), job.nodes, plural(job.nodes), parent, attacher_of(job),
                     text_of(job.states), job.fences, plural(job.fences));
}

/// "wide", "wide ranks 0,4-5"
std::string text_of(const std::vector<RankRun>& procs) {
  std::map<std::string, std::string> ranks;
  for (const auto& run : procs) {
    auto& text = ranks[run.nspace];
    if (run.is_all) continue;
    if (!text.empty()) text += ',';
    text += run.first == run.last ? fmt::format("{}", run.first) : fmt::format("{}-{}", run.first, run.last);
  }
  std::string out;
  for (const auto& [nspace, text] : ranks)
    out = list(out, text.empty() ? nspace : fmt::format("{} ranks {}", nspace, text));
  return out;
}

std::string text_of(const char* what, const Group& group) {
  return fmt::format("{} {}: {}\n", what, group.name, text_of(group.members));
}

std::string text_of(const Name& name) {
  return fmt::format("  {} by rank {} of {}: {} byte{}, range {}, persistence {}\n", name.key, name.rank,
                     name.nspace, name.bytes, plural(name.bytes), range_name(name.range),
                     persistence_name(name.persistence));
}

/// By key, as far as they are printed.
std::string names_of(const Cluster& cluster) {
  std::vector<const Name*> names;
  std::uint64_t all = 0;
  for (const auto& node : cluster.nodes) {
    all += node.all_names;
    for (const auto& name : node.names) names.push_back(&name);
  }
  std::sort(names.begin(), names.end(), [](const Name* a, const Name* b) { return a->key < b->key; });
  if (names.size() > most_names) names.resize(most_names);
  if (all == 0) return {};
  auto out = fmt::format("{} published name{}:\n", all, plural(all));
  for (const auto* name : names) out += text_of(*name);
  if (names.size() < all) out += fmt::format("  and {} more\n", all - names.size());
  return out;
}

/// "12 B", "3.5 KiB", "1.2 MiB"
std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string text_of(const MissingRank& rank) {
  constexpr std::array<const char*, 4> why{"", "", " finalized", " gone"};
  if (rank.pid == 0) return fmt::format("rank {} not in PMIx_Init yet", rank.rank);
  return fmt::format("rank {} pid {}{}", rank.rank, rank.pid, why[rank.state % why.size()]);
}

/// One line for each node: "  missing on host2: 4-5 (rank 4 pid 17, rank 5 pid 18)"
std::string missing_of(const Cluster& cluster, const Fence& fence) {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<const MissingRank*>> places;
  for (const auto& rank : fence.missing) places[{rank.node, rank.nspace}].push_back(&rank);
  const bool is_one_job = std::all_of(fence.procs.begin(), fence.procs.end(), [&](const RankRun& run) {
    return run.nspace == fence.procs[0].nspace;
  });
  std::string out;
  for (const auto& [place, ranks] : places) {
    std::vector<std::uint32_t> numbers;
    std::string details;
    for (const auto* rank : ranks) {
      numbers.push_back(rank->rank);
      if (numbers.size() <= with_pid) details = list(details, text_of(*rank));
    }
    if (numbers.size() > with_pid) details += ", ...";
    out += fmt::format("  missing on {}: {}{} ({})\n", cluster.host_of(place.first),
                       is_one_job ? "" : place.second + " ", job::ranges(numbers), details);
  }
  return out;
}

std::string hosts_of(const Cluster& cluster, const std::vector<std::uint32_t>& nodes) {
  std::string out;
  for (const auto node : nodes) out = list(out, cluster.host_of(node));
  return out;
}

std::string text_of(const Cluster& cluster, const Fence& fence) {
  const auto how = fence.algorithm.empty()
                       ? ""
                       : fmt::format(", {} by {}", fence.collects ? "exchange" : "barrier", fence.algorithm);
  const auto what = fence.operation.empty() ? fmt::format("fence {}", fence.generation) : fence.operation;
  auto out = fmt::format("{} of {}{}: open for at least {}; {} of {} ranks are in it", what,
                         text_of(fence.procs), how, duration(fence.age_ms), fence.arrived, fence.ranks);
  if (fence.nodes > 1)
    out += fmt::format(", with all their ranks {} of {} nodes", fence.entered, fence.nodes);
  out += '\n';
  out += missing_of(cluster, fence);
  if (!fence.silent.empty())
    out += fmt::format("  nothing is known of the ranks on {}\n", hosts_of(cluster, fence.silent));
  if (!fence.waits_for.empty())
    out += fmt::format("  all ranks are in it; messages are awaited from {}\n",
                       hosts_of(cluster, fence.waits_for));
  return out;
}

}  // namespace

std::string duration(std::uint64_t milliseconds) {
  const auto seconds = milliseconds / 1000;
  if (seconds == 0) return fmt::format("{} ms", milliseconds);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string text_of(const std::vector<Listed>& clusters) {
  std::string out = fmt::format("{:>8}  {:<10} {:<6} {}\n", "PID", "AGE", "NODES", "JOBS");
  for (const auto& [pid, rank, cluster] : clusters) {
    std::string jobs;
    for (const auto& job : cluster.jobs)
      jobs = list(jobs, fmt::format("{} ({} rank{})", job.nspace, job.ranks, plural(job.ranks)));
    const auto age = cluster.nodes.empty() ? 0 : cluster.nodes[0].age_ms;
    out += fmt::format("{:>8}  {:<10} {:<6} {}\n", pid, duration(age), cluster.size,
                       jobs.empty() ? "none" : jobs);
  }
  return out;
}

std::string text_of(const Cluster& cluster) {
  const auto* asked = cluster.node(cluster.asked);
  auto out = fmt::format("cluster {}: {} node{}, up for {}\n", cluster.nspace, cluster.size,
                         plural(cluster.size), duration(asked == nullptr ? 0 : asked->age_ms));
  for (const auto& node : cluster.nodes) out += text_of(node);
  for (const auto& job : cluster.jobs) out += text_of(job);
  if (cluster.jobs.empty()) out += "no job is registered\n";
  for (const auto& fence : cluster.fences) out += text_of(cluster, fence);
  if (cluster.fences.empty()) out += "no process waits in a fence\n";
  for (const auto& group : cluster.groups) out += text_of("group", group);
  for (const auto& set : cluster.sets) out += text_of("process set", set);
  return out + names_of(cluster);
}

std::string memory_of(const Cluster& cluster) {
  std::string out;
  for (const auto& node : cluster.nodes) {
    if (node.regions.empty()) continue;
    out += fmt::format("  {}: server {}, ranks {}; of the segment:\n", cluster.host_of(node.number),
                       bytes_text(node.server_kib * 1024), bytes_text(node.clients_kib * 1024));
    for (const auto& region : node.regions)
      out += fmt::format("    {:<22} {:>10} of {}\n", region.name, bytes_text(region.used),
                         bytes_text(region.size));
  }
  return out.empty() ? out : "memory now, of the segment what is used of its addresses:\n" + out;
}

std::string collectives_of(const Cluster& cluster) {
  if (cluster.collectives.empty())
    return fmt::format("cluster {} has one node: nothing is exchanged between nodes\n", cluster.nspace);
  auto out = fmt::format("collectives of the {} nodes of cluster {}, by the costs of messages: {}\n",
                         cluster.size, cluster.nspace, cluster.costs);
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  for (const auto& one : cluster.collectives)
    out += fmt::format("  {:<20} {:<16} {:>10.1f} us; {} would take {:.1f} us\n",
                       one.bytes == 0 ? "barrier" : bytes_text(one.bytes) + " a node", one.algorithm,
                       us(one.cost_ns), one.other, us(one.other_cost_ns));
  return out;
}

std::string counters_of(const Cluster& cluster) {
  std::string out;
  for (std::size_t i = 0; i < cluster.counter_names.size(); ++i) {
    std::uint64_t total = 0, nodes = 0;
    const Node *least = nullptr, *most = nullptr;
    for (const auto& node : cluster.nodes) {
      if (i >= node.counters.size()) continue;
      ++nodes;
      total += node.counters[i];
      if (least == nullptr || node.counters[i] < least->counters[i]) least = &node;
      if (most == nullptr || node.counters[i] > most->counters[i]) most = &node;
    }
    out += fmt::format("  {:<24} {:>14}", cluster.counter_names[i], total);
    if (nodes > 1 && least->counters[i] == most->counters[i])
      out += fmt::format("   {} on each", least->counters[i]);
    else if (nodes > 1)
      out += fmt::format("   {} on {} to {} on {}", least->counters[i], cluster.host_of(least->number),
                         most->counters[i], cluster.host_of(most->number));
    out += '\n';
  }
  return out.empty() ? out : "counters since the servers' start, all nodes together:\n" + out;
}

}  // namespace weft::weftinfo
