// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/allocation/slurm.hpp"
#include "tools/launch/agent_words.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/placement.hpp"
#include "tools/placement/processors.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// A smaller arity means four levels for ten thousand nodes, a larger one more ssh at once than sshd's
/// MaxStartups.
constexpr std::uint32_t usual_arity = 32;

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

/// Slots of each virtual node where the user gives no number: the job's ranks in equal parts, the machine's
/// cores if their number is not given either.
std::uint32_t enough_slots(const Options& options, const PlanContext& context, std::uint32_t nodes) {
  const auto asked = ranks_asked_for(options);
  const std::uint64_t ranks = asked != 0 ? asked : std::max(context.cores, nodes);
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

Choice choose_hosts(const Options& options, const PlanContext& context) {
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
  } else {
    choice.hosts = {
        {context.host, std::min(context.cores, job::most_ranks_a_node), job::most_ranks_a_node, true}};
    choice.from = "no host list: this machine, a slot a core, more ranks are always allowed";
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

placement::PlacementRules rules_of(const Options& options, bool may_oversubscribe) {
  placement::PlacementRules rules;
  rules.map = options.map == job::MapBy::automatic ? job::MapBy::slot : options.map;
  rules.per_node = options.per_node;
  rules.order = options.order;
  rules.may_oversubscribe = may_oversubscribe;
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
      continue;
    }
    new_number[i] = static_cast<std::uint32_t>(plan.nodes.size());
    if (hosts[i].here) plan.own = new_number[i];
    plan.oversubscribed = plan.oversubscribed || ranks > hosts[i].slots;
    plan.nodes.push_back({hosts[i].name, hosts[i].slots, hosts[i].here});
  }
  plan.distribution.nodes = static_cast<std::uint32_t>(plan.nodes.size());
  for (const auto& app : all.apps) {
    placement::Distribution::AppShare share{app.order, new_number[app.first_node], {}};
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (is_used[i]) share.counts.push_back(app.counts[i]);
    plan.distribution.apps.push_back(std::move(share));
  }
}

}  // namespace

PlanContext PlanContext::real() {
  PlanContext context;
  context.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const allocation::OwnNames names = allocation::OwnNames::here();
  context.host = names.host;
  context.cores = placement::count_processors().cores;
  std::error_code error;
  context.program_directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
  context.is_here = [names](const std::string& name) { return names.matches(name); };
  return context;
}

Plan make_plan(const Options& options, const PlanContext& context) {
  Plan plan;
  const Choice choice = choose_hosts(options, context);
  plan.because.push_back("nodes: " + choice.from);
  const placement::PlacementRules rules = rules_of(options, choice.may_oversubscribe);
  std::vector<std::uint32_t> asked;
  for (const auto& app : options.apps) asked.push_back(app.ranks);
  take_used_nodes(plan, choice.hosts, place(asked, choice.hosts, rules));
  for (const auto& app : plan.distribution.apps)
    plan.ranks.push_back(std::accumulate(app.counts.begin(), app.counts.end(), 0U));
  plan.one_machine = choice.is_virtual;
  plan.alone = plan.nodes.size() == 1 && plan.own;
  if (plan.alone) return plan;
  plan.agent = choose_agent(plan, options, context, choice.is_virtual);
  plan.agent.weftd = daemon_path(options, context);
  return plan;
}

}  // namespace weft::weftrun
