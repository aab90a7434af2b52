// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/spawn_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tools/allocation/hosts.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/placement.hpp"

namespace weft::weftrun {
namespace {

/// The options of one program, as if it stood alone on a command line.
Options options_of(const job::SpawnRequest& request, const job::SpawnRequest::Program& program) {
  auto words = request.words;
  words.insert(words.end(), program.words.begin(), program.words.end());
  words.insert(words.end(), {"-n", std::to_string(program.ranks), "--", "program"});
  return parse_options(words);
}

/// The nodes that a program names, in --host or in a file.
std::vector<std::string> mentions_in(Options& options) {
  auto out = std::exchange(options.hosts, {});
  if (options.hostfile.empty()) return out;
  for (const auto& host : allocation::read_hostfile(std::exchange(options.hostfile, {})))
    out.push_back(host.name);
  return out;
}

/// Nodes that some programs may go to, in the order of the run's. mentions: those that are named; empty: all.
allocation::Hosts hosts_of(const std::vector<std::string>& mentions, const Plan& run,
                           const std::vector<NodeNow>& now, const std::vector<std::uint32_t>& slots) {
  std::map<std::string, bool> named;
  for (const auto& host : allocation::read_host_option(mentions)) named.emplace(host.name, false);
  allocation::Hosts out;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto& node = run.node(i);
    const auto mention = named.find(node.name);
    if (now[i].is_lost || (!named.empty() && mention == named.end())) continue;
    if (mention != named.end()) mention->second = true;
    out.push_back({node.name, slots[i], job::most_ranks_a_node, node.here});
  }
  for (const auto& [name, is_there] : named)
    if (!is_there) refuse(fmt::format("node '{}' is none of this run, or is lost", name));
  return out;
}

/// Free slots of each node; where that is too little and may be, all of them.
std::vector<std::uint32_t> slots_of(const Options& options, const Plan& run,
                                    const std::vector<NodeNow>& now) {
  std::vector<std::uint32_t> out;
  std::uint64_t free = 0, asked = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto slots = run.node(i).slots;
    out.push_back(slots - std::min(slots, now[i].ranks));
    if (!now[i].is_lost) free += out.back();
  }
  for (const auto& app : options.apps) asked += app.ranks;
  if (free < asked && options.oversubscribe)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(run.node(i).slots, 1U);
  return out;
}

/// Placed counts by the numbers of the run's nodes.
placement::Distribution by_numbers_of(const Plan& run, const placement::Placed& placed) {
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < run.all_nodes(); ++i) numbers.emplace(run.node(i).name, i);
  placement::Distribution out{{}, run.all_nodes()};
  for (const auto& app : placed.distribution.apps) {
    auto& share = out.apps.emplace_back();
    share.order = app.order;
    share.first_node = numbers.at(placed.hosts[app.first_node].name);
    share.counts.resize(run.all_nodes());
    for (std::size_t i = 0; i < placed.hosts.size(); ++i)
      share.counts[numbers.at(placed.hosts[i].name)] = app.counts[i];
  }
  return out;
}

}  // namespace

Options spawn_options(const job::SpawnRequest& request, const SpawningRun& run,
                      const std::vector<job::EnvironmentSetting>& inherited) {
  const auto& of_run = run.options;
  Options out;
  for (const auto& program : request.programs) {
    auto one = options_of(request, program);
    const bool is_first = out.apps.empty();
    auto app = std::move(one.apps.front());
    app.argv = program.argv;
    if (program.daemons.are_meant) app.stops = {};
    app.settings = inherited;
    app.settings.insert(app.settings.end(), program.settings.begin(), program.settings.end());
    auto hosts = mentions_in(one);
    auto added = std::exchange(one.added_hosts, {});
    if (is_first) out = std::move(one), out.apps.clear(), out.own_hosts.clear();
    out.added_hosts.insert(out.added_hosts.end(), added.begin(), added.end());
    out.apps.push_back(std::move(app));
    out.own_hosts.push_back(std::move(hosts));
  }
  if (!out.rank_file.empty() || out.virtual_nodes) refuse("a spawned job has no nodes of its own");
  out.oversubscribe = request.may_oversubscribe.value_or(run.plan.may_oversubscribe || of_run.oversubscribe);
  if (!out.input.is_pushed) out.input.kind = job::InputTarget::Kind::none;
  out.keeps_output = request.keeps_output;
  out.keeps_errors = request.keeps_errors;
  out.pmi = of_run.pmi;
  // Ranks of the parent's job have the first cores.
  if (out.mapping.bind == job::BindTo::automatic) out.mapping.bind = job::BindTo::none;
  if (out.processors.empty()) out.processors = of_run.processors;
  out.tags.rank |= of_run.tags.rank;
  out.tags.time |= of_run.tags.time;
  out.tags.host |= of_run.tags.host;
  out.quiet = of_run.quiet;
  out.verbose = of_run.verbose;
  return out;
}

Plan nodes_of_run(const Plan& run) {
  Plan plan;
  plan.nodes = run.nodes;
  plan.nodes.insert(plan.nodes.end(), run.spares.begin(), run.spares.end());
  plan.own = run.own;
  plan.alone = run.alone;
  plan.one_machine = run.one_machine;
  plan.universe = run.universe;
  plan.node_keys = run.node_keys;
  return plan;
}

Plan spawn_plan(const Options& options, const Plan& run, const std::vector<NodeNow>& now) {
  Plan plan = nodes_of_run(run);
  const auto slots = slots_of(options, run, now);
  std::vector<std::uint32_t> asked;
  std::vector<placement::Pool> pools;
  for (std::size_t i = 0; i < options.apps.size(); ++i) {
    asked.push_back(options.apps[i].ranks);
    if (i != 0 && options.own_hosts[i] == options.own_hosts[i - 1])
      pools.back().programs.push_back(i);
    else
      pools.push_back({hosts_of(options.own_hosts[i], run, now, slots), options.oversubscribe, {i}});
  }
  placement::PlacementRules rules;
  rules.map = options.mapping.map == job::MapBy::automatic ? job::MapBy::slot : options.mapping.map;
  rules.per_node = options.per_node;
  rules.order = options.order;
  for (const auto& pool : pools)
    if (pool.hosts.empty()) refuse("no node of this run is left");
  const auto placed = placement::place_in_pools(asked, pools, rules);
  plan.distribution = by_numbers_of(run, placed);
  for (const auto& app : plan.distribution.apps)
    plan.ranks.push_back(std::accumulate(app.counts.begin(), app.counts.end(), 0U));
  return plan;
}

}  // namespace weft::weftrun
