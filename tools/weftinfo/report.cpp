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

Name read_name(const Reader& in) {
  return {in.at("weft.key").text(),  in.at(PMIX_NSPACE).text(),       in.at(PMIX_RANK).small(),
          in.at(PMIX_RANGE).small(), in.at(PMIX_PERSISTENCE).small(), in.at("weft.bytes").number()};
}

Region read_region(const Reader& in) {
  return {in.at("weft.region.name").text(), in.at("weft.used").number(), in.at("weft.bytes").number()};
}

Node read_node(const Reader& in) {
  Node out;
  out.number = in.at(PMIX_NODEID).small();
  out.host = in.at(PMIX_HOSTNAME).text();
  out.state = in.at("weft.state").text();
  out.pid = static_cast<std::int64_t>(in.at(PMIX_SERVER_PIDINFO).number());
  out.transport = in.at("weft.transport").text();
  out.age_ms = in.at("weft.age").number();
  out.ranks = read_states(in.at("weft.ranks"));
  out.counters = in.at("weft.counters").large_numbers();
  out.names = in.at("weft.published").each(read_name);
  out.all_names = in.at("weft.published.count").number();
  out.regions = in.at("weft.regions").each(read_region);
  out.server_kib = in.at("weft.memory.server").number();
  out.clients_kib = in.at("weft.memory.clients").number();
  return out;
}

Job read_job(const Reader& in) {
  const auto [parent, parent_rank] = in.at(PMIX_PARENT_ID).process();
  return {in.at(PMIX_NSPACE).text(),
          in.at(PMIX_JOB_SIZE).small(),
          in.at(PMIX_NUM_NODES).small(),
          read_states(in.at("weft.ranks")),
          in.at("weft.fences.ended").number(),
          parent,
          parent_rank,
          in.at("weft.attacher.pid").small(),
          in.at("weft.attacher.user").small(),
          in.at("weft.detached").flag()};
}

RankRun read_run(const Reader& in) {
  const auto ends = in.at("weft.ranks").numbers();
  if (ends.size() != 2) return {in.at(PMIX_NSPACE).text(), true, 0, 0};
  return {in.at(PMIX_NSPACE).text(), false, ends[0], ends[1]};
}

Group read_group(const Reader& in, const char* name) {
  return {in.at(name).text(), in.at("weft.procs").each(read_run)};
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

Collective read_collective(const Reader& in) {
  return {in.at("weft.bytes").number(), in.at("weft.algorithm").text(), in.at("weft.cost").number(),
          in.at("weft.other").text(), in.at("weft.other.cost").number()};
}

}  // namespace

const char* range_name(std::uint32_t range) noexcept {
  switch (range) {
    case PMIX_RANGE_RM:
      return "rm";
    case PMIX_RANGE_LOCAL:
      return "local";
    case PMIX_RANGE_NAMESPACE:
      return "namespace";
    case PMIX_RANGE_SESSION:
      return "session";
    case PMIX_RANGE_GLOBAL:
      return "global";
    case PMIX_RANGE_CUSTOM:
      return "custom";
    case PMIX_RANGE_PROC_LOCAL:
      return "process";
    default:
      return "";
  }
}

const char* persistence_name(std::uint32_t persistence) noexcept {
  switch (persistence) {
    case PMIX_PERSIST_INDEF:
      return "indefinite";
    case PMIX_PERSIST_FIRST_READ:
      return "first read";
    case PMIX_PERSIST_PROC:
      return "process";
    case PMIX_PERSIST_APP:
      return "application";
    case PMIX_PERSIST_SESSION:
      return "session";
    default:
      return "";
  }
}

const Node* Cluster::node(std::uint32_t number) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
}

std::string Cluster::host_of(std::uint32_t number) const {
  const auto* found = node(number);
  return found == nullptr || found->host.empty() ? fmt::format("node {}", number) : found->host;
}

const std::string& Cluster::counter_text(std::size_t at) const {
  return at < counter_texts.size() ? counter_texts[at] : counter_names[at];
}

Measure Cluster::counter_measure(std::size_t at) const {
  const auto number = at < counter_measures.size() ? counter_measures[at] : 0;
  return number <= static_cast<std::uint32_t>(Measure::bytes_now) ? static_cast<Measure>(number)
                                                                  : Measure::events;
}

std::optional<Cluster> read_cluster(const pmix_value_t& value) {
  const Reader in(&value);
  if (!in.is_list() || !in.at("weft.nodes").is_list()) return std::nullopt;
  Cluster out;
  out.nspace = in.at(PMIX_SERVER_NSPACE).text();
  out.asked = in.at(PMIX_SERVER_RANK).small();
  out.size = in.at(PMIX_NUM_NODES).small();
  out.counter_names = in.at("weft.counter.names").each([](const Reader& name) { return name.text(); });
  out.counter_texts = in.at("weft.counter.texts").each([](const Reader& text) { return text.text(); });
  out.counter_measures = in.at("weft.counter.measures").numbers();
  out.collectives = in.at("weft.choices").each(read_collective);
  out.costs = in.at("weft.costs").text();
  out.nodes = in.at("weft.nodes").each(read_node);
  out.jobs = in.at("weft.jobs").each(read_job);
  out.fences = in.at("weft.fences").each(read_fence);
  out.groups =
      in.at("weft.groups").each([](const Reader& group) { return read_group(group, PMIX_GROUP_ID); });
  out.sets = in.at("weft.sets").each([](const Reader& set) { return read_group(set, PMIX_PSET_NAME); });
  return out;
}

}  // namespace weft::weftinfo
