// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/report.hpp"

#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>

#include "tools/weftinfo/reader.hpp"

namespace weft::weftinfo {
namespace {

States read_states(const Reader& in) {
  States out{};
  const auto list = in.numbers();
  std::copy_n(list.begin(), std::min(list.size(), out.size()), out.begin());
  return out;
}

Node read_node(const Reader& in) {
  return {in.at(PMIX_NODEID).small(),       in.at(PMIX_HOSTNAME).text(),
          in.at("weft.state").text(),       static_cast<std::int64_t>(in.at(PMIX_SERVER_PIDINFO).number()),
          in.at("weft.transport").text(),   in.at("weft.age").number(),
          read_states(in.at("weft.ranks")), in.at("weft.counters").large_numbers()};
}

Job read_job(const Reader& in) {
  return {in.at(PMIX_NSPACE).text(), in.at(PMIX_JOB_SIZE).small(), in.at(PMIX_NUM_NODES).small(),
          read_states(in.at("weft.ranks")), in.at("weft.fences.ended").number()};
}

RankRun read_run(const Reader& in) {
  const auto ends = in.at("weft.ranks").numbers();
  if (ends.size() != 2) return {in.at(PMIX_NSPACE).text(), true, 0, 0};
  return {in.at(PMIX_NSPACE).text(), false, ends[0], ends[1]};
}

MissingRank read_missing(const Reader& in) {
  return {in.at(PMIX_NODEID).small(), in.at(PMIX_NSPACE).text(), in.at(PMIX_RANK).small(),
          static_cast<std::int64_t>(in.at(PMIX_PROC_PID).number()), in.at("weft.state").small()};
}

Fence read_fence(const Reader& in) {
  Fence out;
  out.operation = in.at("weft.operation").text();
  out.procs = in.at("weft.procs").each(read_run);
  out.generation = in.at("weft.generation").number();
  out.age_ms = in.at("weft.age").number();
  out.collects = in.at(PMIX_COLLECT_DATA).flag();
  out.algorithm = in.at("weft.algorithm").text();
  out.nodes = in.at(PMIX_NUM_NODES).small();
  out.entered = in.at("weft.entered").small();
  out.ranks = in.at("weft.expected").number();
  out.arrived = in.at("weft.arrived").number();
  out.missing = in.at("weft.missing").each(read_missing);
  out.silent = in.at("weft.silent").numbers();
  out.waits_for = in.at("weft.waits_for").numbers();
  return out;
}

}  // namespace

const Node* Cluster::node(std::uint32_t number) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
}

std::string Cluster::host_of(std::uint32_t number) const {
  const auto* found = node(number);
  return found == nullptr || found->host.empty() ? fmt::format("node {}", number) : found->host;
}

std::optional<Cluster> read_cluster(const pmix_value_t& value) {
  const Reader in(&value);
  if (!in.is_list() || !in.at("weft.nodes").is_list()) return std::nullopt;
  Cluster out;
  out.nspace = in.at(PMIX_SERVER_NSPACE).text();
  out.asked = in.at(PMIX_SERVER_RANK).small();
  out.size = in.at(PMIX_NUM_NODES).small();
  out.counter_names = in.at("weft.counter.names").each([](const Reader& name) { return name.text(); });
  out.nodes = in.at("weft.nodes").each(read_node);
  out.jobs = in.at("weft.jobs").each(read_job);
  out.fences = in.at("weft.fences").each(read_fence);
  return out;
}

}  // namespace weft::weftinfo
