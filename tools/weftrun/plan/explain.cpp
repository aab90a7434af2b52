// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/explain.hpp"

#include <fmt/format.h>

#include <span>

#include "tools/job/ranges.hpp"
#include "tools/placement/mapping.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;

constexpr const char* plural(std::uint64_t n) noexcept {
  return n == 1 ? "" : "s";
}

const char* meaning_of(job::MapBy map) noexcept {
  switch (map) {
    case job::MapBy::node:
      return "one rank to each node with a free slot in turn";
    case job::MapBy::core:
    case job::MapBy::l2cache:
    case job::MapBy::l3cache:
    case job::MapBy::numa:
    case job::MapBy::socket:
      return "each node is filled before the next one is begun; on a node ranks are dealt to these in turn";
    case job::MapBy::automatic:
    case job::MapBy::slot:
      break;
  }
  return "each node is filled before the next one is begun";
}

std::string mapping_reason(const Options& options) {
  if (options.per_node)
    return fmt::format("map-by ppr:{0}:node: {0} rank{1} on each node", *options.per_node,
                       plural(*options.per_node));
  const bool is_default = options.mapping.map == job::MapBy::automatic;
  return fmt::format("map-by {}{}: {}", is_default ? "slot" : name_of(options.mapping.map),
                     is_default ? " (default)" : "", meaning_of(options.mapping.map));
}

std::string order_reason(const Plan& plan, const Options& options) {
  const bool by_node = plan.distribution.apps.front().order == placement::RankBy::node;
  return fmt::format(
      "rank-by {}{}: {}", by_node ? "node" : "slot", options.order ? "" : " (default)",
      by_node ? "consecutive ranks are on different nodes" : "consecutive ranks are on one node");
}

std::string count_reason(const Plan& plan, const Options& options) {
  if (options.apps.front().ranks != 0) return {};
  return fmt::format("ranks: -n is not given, so there are {}: {}", plan.ranks.front(),
                     options.per_node ? "so many on each node" : "one for each slot");
}

std::string binding_reason(const Options& options, const placement::Policy& policy,
                           const placement::Processors& processors, const placement::Share& share) {
  return fmt::format("bind-to {}{}: {}", name_of(policy.bind),
                     options.mapping.bind == job::BindTo::automatic &&
                             policy.reason != placement::Reason::listed && policy.cores_each == 0
                         ? " (default)"
                         : "",
                     placement::words_for(policy, share, processors.cores));
}

/// Writes the explanation from top to bottom.
class Writer {
 public:
  Writer(const Plan& plan, const Options& options, const KnownMachine& machine)
      : plan_(plan), options_(options), machine_(machine), table_(plan.distribution) {}

  std::string write(bool why) && {
    add("{} rank{} on {} node{}", table_.size(), plural(table_.size()), plan_.nodes.size(),
        plural(plan_.nodes.size()));
    if (why) reasons();
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) node(i);
    if (!plan_.unused.empty()) add("without ranks, and without a daemon: {}", fmt::join(plan_.unused, ", "));
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    text_ += fmt::format(form, std::forward<Values>(values)...) + "\n";
  }

  bool is_known(const PlannedNode& node) const noexcept {
    return machine_.is_every_node || node.here || plan_.one_machine;
  }
  /// On the machine of this node: virtual nodes share one.
  placement::Share share_on(std::uint32_t node) const noexcept {
    if (!plan_.one_machine)
      return {static_cast<std::uint32_t>(table_.ranks_on(node).size()), plan_.nodes[node].slots};
    placement::Share share{table_.size(), 0};
    for (const auto& each : plan_.nodes) share.slots += each.slots;
    return share;
  }

  void reasons() {
    for (const auto& reason : plan_.because) add("  {}", reason);
    if (const auto reason = count_reason(plan_, options_); !reason.empty()) add("  {}", reason);
    if (plan_.core_lists.empty()) {
      add("  {}", mapping_reason(options_));
      add("  {}", order_reason(plan_, options_));
    }
    add("  processors of {}: {} cores, {} hardware threads, {} NUMA node{}", machine_.from,
        machine_.processors.cores, machine_.processors.threads, machine_.processors.numa_nodes,
        plural(machine_.processors.numa_nodes));
    if (plan_.oversubscribed) add("  oversubscribed: more ranks than slots");
  }

  void node(std::uint32_t i) {
    const PlannedNode& node = plan_.nodes[i];
    const auto ranks = table_.ranks_on(i);
    add("node {} '{}', {} slot{}, {}: rank{} {}", i, node.name, node.slots, plural(node.slots),
        node.here ? "this machine" : "a daemon", plural(ranks.size()), job::ranges(ranks));
    std::vector<placement::Binding> bindings(ranks.size());
    const bool known = is_known(node);
    if (known) {
      const auto share = share_on(i);
      auto policy = placement::choose_policy(share, machine_.processors, options_.mapping);
      if (!plan_.core_lists.empty())
        policy.bind = job::BindTo::core, policy.reason = placement::Reason::listed;
      add("  {}", binding_reason(options_, policy, machine_.processors, share));
      bindings = bindings_of(ranks, policy, node.name);
    } else {
      add("  the node itself chooses processors when it knows its own");
    }
    if (plan_.one_machine) before_ += static_cast<std::uint32_t>(ranks.size());
    for (std::size_t k = 0; k < ranks.size(); ++k) rank(ranks[k], k % node.slots, bindings[k], known);
  }

  std::vector<placement::Binding> bindings_of(std::span<const Rank> ranks, const placement::Policy& policy,
                                              const std::string& host) const {
    if (plan_.core_lists.empty())
      return placement::bind_ranks(machine_.topology.get(), static_cast<std::uint32_t>(ranks.size()), policy,
                                   before_, host);
    std::vector<placement::Binding> bindings;
    for (const Rank rank : ranks)
      bindings.push_back(
          placement::bind_as_listed(machine_.topology.get(), plan_.core_lists[index(rank)], rank, host));
    return bindings;
  }

  void rank(Rank rank, std::size_t slot, const placement::Binding& binding, bool known) {
    const auto& program = options_.apps[table_.app_of(rank)].argv.front();
    if (!binding.processors.empty())
      add("  rank {} ({}): slot {}, {} (processors {})", number(rank), program, slot, binding.label,
          job::ranges(binding.processors));
    else
      add("  rank {} ({}): slot {}{}", number(rank), program, slot, known ? ", not bound" : "");
  }

  const Plan& plan_;
  const Options& options_;
  const KnownMachine& machine_;
  const placement::RankTable table_;
  std::uint32_t before_ = 0;  // ranks on virtual nodes before this one
  std::string text_;
};

}  // namespace

KnownMachine KnownMachine::of(const std::string& description, const std::vector<unsigned>& processors) {
  KnownMachine machine;
  if (description.empty()) {
    machine.topology = placement::load_topology();
    machine.from = "this machine, as far as weftrun may use them (affinity mask, cgroup)";
  } else {
    machine.topology = placement::described_topology(description);
    machine.is_every_node = true;
    machine.from = fmt::format("each node, as WEFT_TOPOLOGY describes them ({})", description);
  }
  if (!processors.empty()) {
    placement::keep_only(machine.topology.get(), processors,
                         machine.is_every_node ? "each node" : "this machine");
    machine.from += ", and --cpu-list " + job::ranges(processors);
  }
  machine.processors = placement::processors_in(machine.topology.get());
  return machine;
}

std::string describe_allocation(const Plan& plan) {
  std::uint64_t slots = 0;
  for (const auto& node : plan.allocation) slots += node.slots;
  auto text = fmt::format("{} node{}, {} slot{}\n", plan.allocation.size(), plural(plan.allocation.size()),
                          slots, plural(slots));
  for (const auto& node : plan.allocation)
    text += fmt::format("  '{}': {} slot{}{}\n", node.name, node.slots, plural(node.slots),
                        node.here ? ", this machine" : "");
  return text;
}

std::string explain(const Plan& plan, const Options& options, const KnownMachine& machine, bool why) {
  return Writer(plan, options, machine).write(why);
}

}  // namespace weft::weftrun
