// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/json.hpp"

#include <algorithm>

#include "tools/weftinfo/text.hpp"

namespace weft::weftinfo {
namespace {

using weft::messages::Json;

void write(Json& out, const States& states) {
  out.key("ranks").object();
  for (std::size_t i = 0; i < states.size(); ++i) out.field(state_names[i], states[i]);
  out.end();
}

void write(Json& out, const Name& name) {
  out.object().field("key", name.key).field("namespace", name.nspace).field("rank", name.rank);
  out.field("range", range_name(name.range)).field("persistence", persistence_name(name.persistence));
  out.field("bytes", name.bytes).end();
}

void write_memory(Json& out, const Node& node) {
  out.key("memory").object().field("server_kib", node.server_kib).field("clients_kib", node.clients_kib);
  out.key("segment").array();
  for (const auto& region : node.regions)
    out.object().field("region", region.name).field("used", region.used).field("size", region.size).end();
  out.end().end();
}

void write(Json& out, const std::vector<RankRun>& procs) {
  out.array();
  for (const auto& run : procs) {
    out.object().field("namespace", run.nspace);
    if (!run.is_all) out.field("first", run.first).field("last", run.last);
    out.end();
  }
  out.end();
}

void write(Json& out, const Group& group) {
  out.object().field("name", group.name);
  write(out.key("procs"), group.members);
  out.end();
}

void write(Json& out, const Cluster& cluster, const Node& node) {
  out.object().field("node", node.number).field("host", node.host).field("state", node.state);
  if (node.state == "here") {
    out.field("server_pid", node.pid).field("transport", node.transport).field("age_ms", node.age_ms);
    write(out, node.ranks);
    out.key("counters").object();
    for (std::size_t i = 0; i < std::min(cluster.counter_names.size(), node.counters.size()); ++i)
      out.field(cluster.counter_names[i], node.counters[i]);
    out.end().key("published").array();
    for (const auto& name : node.names) write(out, name);
    out.end().field("published_count", node.all_names);
    write_memory(out, node);
  }
  out.end();
}

void write(Json& out, const Job& job) {
  out.object().field("namespace", job.nspace).field("size", job.ranks).field("nodes", job.nodes);
  write(out, job.states);
  out.field("fences_ended", job.fences);
  if (!job.parent.empty())
    out.key("parent").object().field("namespace", job.parent).field("rank", job.parent_rank).end();
  if (job.attacher != 0) {
    out.key("attacher").object().field("pid", job.attacher).field("user", job.attacher_user);
    out.field("detached", job.is_detached).end();
  }
  out.end();
}

void write(Json& out, const std::vector<std::uint32_t>& nodes) {
  out.array();
  for (const auto node : nodes) out.value(node);
  out.end();
}

void write(Json& out, const Cluster& cluster, const Fence& fence) {
  write(out.object().key("procs"), fence.procs);
  out.field("operation", fence.operation).field("generation", fence.generation).field("age_ms", fence.age_ms);
  out.field("collects", fence.collects).field("algorithm", fence.algorithm);
  out.field("nodes", fence.nodes).field("nodes_entered", fence.entered);
  out.field("ranks", fence.ranks).field("ranks_arrived", fence.arrived).key("missing").array();
  for (const auto& rank : fence.missing) {
    out.object().field("namespace", rank.nspace).field("rank", rank.rank).field("pid", rank.pid);
    out.field("node", rank.node).field("host", cluster.host_of(rank.node));
    out.field("state", state_names[rank.state % state_names.size()]).end();
  }
  out.end();
  write(out.key("silent"), fence.silent);
  write(out.key("waits_for"), fence.waits_for);
  out.end();
}

void write_collectives(Json& out, const Cluster& cluster) {
  out.key("collectives").object().field("costs", cluster.costs).key("choices").array();
  for (const auto& one : cluster.collectives) {
    out.object()
        .field("bytes_a_node", one.bytes)
        .field("algorithm", one.algorithm)
        .field("cost_ns", one.cost_ns);
    out.field("other", one.other).field("other_cost_ns", one.other_cost_ns).end();
  }
  out.end().end();
}

void write(Json& out, const Cluster& cluster) {
  out.object().field("cluster", cluster.nspace).field("asked", cluster.asked).field("size", cluster.size);
  out.key("nodes").array();
  for (const auto& node : cluster.nodes) write(out, cluster, node);
  out.end().key("jobs").array();
  for (const auto& job : cluster.jobs) write(out, job);
  out.end().key("fences").array();
  for (const auto& fence : cluster.fences) write(out, cluster, fence);
  out.end().key("groups").array();
  for (const auto& group : cluster.groups) write(out, group);
  out.end().key("sets").array();
  for (const auto& set : cluster.sets) write(out, set);
  out.end();
  write_collectives(out, cluster);
  out.end();
}

}  // namespace

std::string json_of(const Cluster& cluster) {
  Json out;
  write(out, cluster);
  return std::move(out).take();
}

std::string json_of(const std::vector<Listed>& clusters) {
  Json out;
  out.object().key("clusters").array();
  for (const auto& [pid, rank, cluster] : clusters) {
    out.object().field("pid", pid).field("node", rank).key("report");
    write(out, cluster);
    out.end();
  }
  out.end().end();
  return std::move(out).take();
}

}  // namespace weft::weftinfo
