// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/allocation/slurm.hpp"
#include "tools/launch/agent_words.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/placement.hpp"
#include "tools/placement/processors.hpp"
#include "tools/placement/rank_file.hpp"
#include "tools/weftrun/plan/node_keys.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// A smaller arity means four levels for ten thousand nodes, a larger one more ssh at once than sshd's
/// MaxStartups.
constexpr std::uint32_t usual_arity = 32;

/// Nodes may be added to a run that has daemons: numbers alone cost little.
constexpr std::uint32_t usual_room = 16;

/// Where a job may run.
struct Choice {
  allocation::Hosts hosts;
  std::string from;  ///< as words for the user
  bool may_oversubscribe = false;
  bool is_virtual = false;
};

std::uint64_t ranks_asked_for(const Options& options) {
  std::uint64_t ranks = 0;
  for (const auto& app : options.apps) ranks += app.ranks;
  return ranks;
}

/// Ranks that this machine has room for.
std::uint32_t own_slots(const Options& options, const PlanContext& context) {
  const auto each = options.mapping.cores_each;
  if (each == 0) return std::min(context.cores, job::most_ranks_a_node);
  const auto units = options.mapping.bind == job::BindTo::hwthread ? context.threads : context.cores;
  return std::clamp(units / each, 1U, job::most_ranks_a_node);
}

/// Slots of each virtual node where the user gives no number: the job's ranks in equal parts, the machine's
/// cores if their number is not given either.
std::uint32_t enough_slots(const Options& options, const PlanContext& context, std::uint32_t nodes) {
  const auto asked = ranks_asked_for(options);
  const std::uint64_t ranks = asked != 0 ? asked : std::max(own_slots(options, context), nodes);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>((ranks + nodes - 1) / nodes, job::most_ranks_a_node));
}

Choice virtual_choice(const Options& options, const PlanContext& context) {
  const auto [nodes, slots] = *options.virtual_nodes;
  const auto each = slots != 0 ? slots : enough_slots(options, context, nodes);
  Choice choice;
  for (std::uint32_t i = 0; i < nodes; ++i)
    choice.hosts.push_back({fmt::format("{}-v{}", context.host, i), each, job::most_ranks_a_node, false});
  choice.from = fmt::format("--virtual-nodes: {} on this machine", nodes);
  choice.may_oversubscribe = choice.is_virtual = true;
  return choice;
}

std::optional<placement::RankFile> rank_file_of(const Options& options, const PlanContext& context) {
  if (options.rank_file.empty()) return std::nullopt;
  auto file = placement::read_rank_file(options.rank_file);
  for (auto& place : file.places)
    if (context.is_here(place.host)) place.host = context.host;
  return file;
}

Choice choose_hosts(const Options& options, const PlanContext& context,
                    const std::optional<placement::RankFile>& file) {
  if (options.virtual_nodes) return virtual_choice(options, context);
  Choice choice;
  choice.may_oversubscribe = options.oversubscribe;
  if (!options.hosts.empty()) {
    choice.hosts = allocation::read_host_option(options.hosts);
    choice.from = "--host";
  } else if (!options.hostfile.empty()) {
    choice.hosts = allocation::read_hostfile(options.hostfile);
    choice.from = fmt::format("--hostfile {}", options.hostfile);
  } else if (auto allocated = allocation::slurm_allocation(context.variable)) {
    choice.hosts = *std::move(allocated);
    choice.from = fmt::format("Slurm's allocation {}", *context.variable("SLURM_JOB_ID"));
  } else if (file) {
    choice.hosts = hosts_of(*file);
    choice.from = "those of the rank file";
  } else {
    choice.hosts = {{context.host, own_slots(options, context), job::most_ranks_a_node, true}};
    choice.from =
        options.mapping.cores_each == 0
            ? "no host list: this machine, a slot a core, more ranks are always allowed"
            : fmt::format("no host list: this machine, a slot for each {} cores", options.mapping.cores_each);
    choice.may_oversubscribe = true;
    return choice;
  }
  choice.hosts = allocation::with_own_name(choice.hosts, context.host, context.is_here);
  return choice;
}

std::string daemon_path(const Options& options, const PlanContext& context) {
  std::string path = options.weftd;
  if (path.empty()) path = context.variable("WEFT_WEFTD").value_or("");
  if (path.empty()) return context.program_directory + "/weftd";
  // On the other node another directory is current. A bare name is searched in the PATH there.
  return path.find('/') == std::string::npos ? path : std::filesystem::absolute(path).string();
}

std::vector<std::string> agent_words(const char* from, const std::string& text) {
  auto words = launch::split_words(text);
  if (!words) refuse(fmt::format("{} '{}' has a quote that does not end", from, text));
  if (words->empty()) refuse(fmt::format("{} is empty", from));
  return *std::move(words);
}

/// The nodes that need a daemon are all part of Slurm's allocation.
bool slurm_has_all(const Plan& plan, const PlanContext& context) {
  const auto allocated = allocation::slurm_allocation(context.variable);
  if (!allocated) return false;
  std::unordered_set<std::string> names;
  for (const auto& host : *allocated) names.insert(host.name);
  return std::all_of(plan.nodes.begin(), plan.nodes.end(), [&](const PlannedNode& planned) {
    return planned.here || names.count(planned.name) != 0;
  });
}

launch::Agent remote_agent(std::vector<std::string> words, const Options& options) {
  // A command with bindings to fill in may well exist on this machine only.
  const bool is_template = std::any_of(words.begin(), words.end(), [](const auto& word) {
    return word.find("{command}") != std::string::npos;
  });
  return {launch::Agent::Kind::remote,
          std::move(words),
          options.arity.value_or(is_template ? 0 : usual_arity),
          {}};
}

launch::Agent usual_ssh(const Options& options, const PlanContext& context) {
  if (const auto ssh = context.variable("WEFT_SSH"); ssh && !ssh->empty())
    return remote_agent(agent_words("WEFT_SSH", *ssh), options);
  // BatchMode: ssh must not ask for a password, which a run without a terminal would wait for.
  return remote_agent({"ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"}, options);
}

launch::Agent choose_agent(Plan& plan, const Options& options, const PlanContext& context, bool is_virtual) {
  if (is_virtual && !options.agent.empty())
    refuse("--agent has no meaning with --virtual-nodes, which need none");
  if (is_virtual) {
    plan.because.push_back("daemons: processes of this machine");
    return {launch::Agent::Kind::fork, {}, 0, {}};
  }
  bool in_allocation = false;
  if (options.agent.empty() || options.agent == "slurm") {
    try {
      in_allocation = slurm_has_all(plan, context);
    } catch (const Stop&) {
      if (options.agent == "slurm") throw;
      // The nodes come from the command line, which is what the refusal advises.
    }
  }
  if (options.agent == "slurm" && !in_allocation)
    refuse(
        "--agent slurm: not all of these nodes are in an allocation of Slurm's; run weftrun under salloc or "
        "sbatch");
  if (options.agent == "slurm" || (options.agent.empty() && in_allocation)) {
    plan.because.push_back("daemons: one srun, since Slurm's allocation has these nodes");
    return {launch::Agent::Kind::slurm, {"srun"}, 0, {}};
  }
  const bool is_own = !options.agent.empty() && options.agent != "ssh";
  launch::Agent agent =
      is_own ? remote_agent(agent_words("--agent", options.agent), options) : usual_ssh(options, context);
  plan.because.push_back(
      fmt::format("daemons: agent '{}'{}", fmt::join(agent.words, " "),
                  agent.arity == 0 ? "" : fmt::format(", in a tree of arity {}", agent.arity)));
  return agent;
}

placement::PlacementRules rules_of(const Options& options) {
  placement::PlacementRules rules;
  rules.map = options.mapping.map == job::MapBy::automatic ? job::MapBy::slot : options.mapping.map;
  rules.per_node = options.per_node;
  rules.order = options.order;
  return rules;
}

/// Adds the nodes that have ranks to the plan, and numbers them.
void take_used_nodes(Plan& plan, const allocation::Hosts& hosts, const placement::Distribution& all) {
  std::vector<std::uint32_t> new_number(hosts.size());
  std::vector<bool> is_used(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::uint64_t ranks = 0;
    for (const auto& app : all.apps) ranks += app.counts[i];
    is_used[i] = ranks != 0;
    if (ranks == 0) {
      plan.unused.push_back(hosts[i].name);
      if (!hosts[i].here) plan.spares.push_back({hosts[i].name, hosts[i].slots, false});
      continue;
    }
    new_number[i] = static_cast<std::uint32_t>(plan.nodes.size());
    if (hosts[i].here) plan.own = new_number[i];
    plan.oversubscribed = plan.oversubscribed || ranks > hosts[i].slots;
    plan.nodes.push_back({hosts[i].name, hosts[i].slots, hosts[i].here});
  }
  for (const auto& host : hosts) plan.allocation.push_back({host.name, host.slots, host.here});
  plan.distribution.nodes = static_cast<std::uint32_t>(plan.nodes.size());
  for (const auto& app : all.apps) {
    placement::Distribution::AppShare share{app.order, new_number[app.first_node], {}};
    for (const auto node : app.listed) share.listed.push_back(new_number[node]);
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (is_used[i]) share.counts.push_back(app.counts[i]);
    plan.distribution.apps.push_back(std::move(share));
  }
}

/// The job's nodes for all programs but those that have some of their own.
std::vector<placement::Pool> pools_of(const Options& options, const PlanContext& context, Choice choice) {
  std::vector<placement::Pool> pools(1);
  pools.front() = {std::move(choice.hosts), choice.may_oversubscribe, {}};
  for (std::size_t program = 0; program < options.apps.size(); ++program) {
    if (program >= options.own_hosts.size() || options.own_hosts[program].empty()) {
      pools.front().programs.push_back(program);
      continue;
    }
    auto hosts = allocation::read_host_option(options.own_hosts[program]);
    pools.push_back(
        {allocation::with_own_name(hosts, context.host, context.is_here), options.oversubscribe, {program}});
  }
  if (pools.front().programs.empty()) pools.erase(pools.begin());
  return pools;
}

/// Places each rank on a node, into the plan.
void place_ranks(Plan& plan, const Options& options, const PlanContext& context, Choice choice,
                 const std::optional<placement::RankFile>& file) {
  std::vector<std::uint32_t> asked;
  for (const auto& app : options.apps) asked.push_back(app.ranks);
  if (file) {
    plan.because.push_back(fmt::format("ranks: --rankfile {}", file->name));
    for (const auto& place : file->places) plan.core_lists.push_back(place.cores);
    return take_used_nodes(plan, choice.hosts, place_as_listed(*file, asked, choice.hosts));
  }
  for (std::size_t program = 1; program < options.own_hosts.size(); ++program)
    if (!options.own_hosts[program].empty())
      plan.because.push_back(
          fmt::format("nodes of '{}': its own --host", options.apps[program].argv.front()));
  const auto placed =
      placement::place_in_pools(asked, pools_of(options, context, std::move(choice)), rules_of(options));
  take_used_nodes(plan, placed.hosts, placed.distribution);
}

/// Nodes are placed by name and slots; their keys are theirs whatever job runs there.
void take_node_keys(Plan& plan, const Options& options, const Choice& choice) {
  plan.node_keys = options.node_keys;
  std::unordered_map<std::string_view, const job::KeyValues*> keys;
  for (const auto& host : choice.hosts)
    if (!host.keys.empty()) keys.emplace(host.name, &host.keys);
  for (auto* const nodes : {&plan.nodes, &plan.spares})
    for (auto& node : *nodes)
      if (const auto at = keys.find(node.name); at != keys.end()) node.keys = *at->second;
  check_node_keys(plan);
}

/// What follows from the nodes, and how daemons get there.
void complete(Plan& plan, const Options& options, const PlanContext& context, const Choice& choice) {
  take_node_keys(plan, options, choice);
  for (std::uint32_t i = 0; i < plan.all_nodes(); ++i) plan.universe += plan.node(i).slots;
  plan.one_machine = choice.is_virtual;
  plan.may_oversubscribe = choice.may_oversubscribe || options.oversubscribe;
  const bool is_small = plan.nodes.size() == 1 && plan.own && plan.spares.empty();
  plan.room = options.growth.value_or(is_small ? 0 : usual_room);
  plan.alone = is_small && plan.room == 0;
  if (plan.alone) return;
  plan.agent = choose_agent(plan, options, context, choice.is_virtual);
  plan.agent.weftd = daemon_path(options, context);
}

}  // namespace

PlanContext PlanContext::real(const std::vector<unsigned>& processors) {
  PlanContext context;
  context.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const allocation::OwnNames names = allocation::OwnNames::here();
  context.host = names.host;
  const auto counted = placement::count_processors(processors);
  context.cores = counted.cores;
  context.threads = counted.threads;
  std::error_code error;
  context.program_directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
  context.is_here = [names](const std::string& name) { return names.matches(name); };
  return context;
}

void add_nodes(Plan& plan, const allocation::Hosts& hosts, const std::function<bool(std::uint32_t)>& is_lost,
               const std::function<bool(const std::string&)>& is_here) {
  for (const auto& host : hosts) {
    bool is_there = false;
    for (std::uint32_t node = 0; node < plan.all_nodes() && !is_there; ++node)
      is_there = plan.node(node).name == host.name && !is_lost(node);
    if (is_there) continue;
    if (!plan.one_machine && is_here(host.name))
      refuse(
          fmt::format("'{}' is weftrun's own machine, which is served from the start or not at all: name it "
                      "in --host",
                      host.name));
    if (plan.room == 0)
      refuse(
          fmt::format("no room for another node, '{}': say at the start of weftrun how many may come, with "
                      "--grow N",
                      host.name));
    plan.spares.push_back({host.name, host.slots, false, host.keys});
    plan.universe += host.slots;
    --plan.room;
  }
  check_node_keys(plan);
}

Plan make_plan(const Options& options, const PlanContext& context) {
  if (!options.added_hosts.empty())
    refuse("--add-host and --add-hostfile go with --attach; --host names the nodes of a start");
  Plan plan;
  const auto file = rank_file_of(options, context);
  const Choice choice = choose_hosts(options, context, file);
  plan.because.push_back("nodes: " + choice.from);
  place_ranks(plan, options, context, choice, file);
  for (const auto& app : plan.distribution.apps)
    plan.ranks.push_back(std::accumulate(app.counts.begin(), app.counts.end(), 0U));
  complete(plan, options, context, choice);
  return plan;
}

Plan make_service_plan(const Options& options, const PlanContext& context) {
  Plan plan;
  const Choice choice = choose_hosts(options, context, std::nullopt);
  plan.because.push_back("nodes: " + choice.from);
  for (const auto& host : choice.hosts) {
    if (host.here) plan.own = static_cast<std::uint32_t>(plan.nodes.size());
    plan.nodes.push_back({host.name, host.slots, host.here});
  }
  plan.allocation = plan.nodes;
  plan.distribution.nodes = plan.all_nodes();
  complete(plan, options, context, choice);
  return plan;
}

}  // namespace weft::weftrun
