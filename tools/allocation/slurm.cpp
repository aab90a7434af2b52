// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tools/allocation/hostlist.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::allocation {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

[[noreturn]] void refuse(const std::string& what) {
  throw Stop(exit_status::usage, messages::usage(fmt::format(
                                     "the allocation's environment is not Slurm's: {}; unset SLURM_JOB_ID to "
                                     "run outside of it, or name the nodes with --host",
                                     what)));
}

/// The number that `text` begins with; it is taken away.
std::optional<std::uint32_t> take_number(std::string_view& text) noexcept {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) noexcept {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

/// One number a node, from the first of the variables that is set.
std::vector<std::uint32_t> slots_of(const Variable& variable, std::size_t nodes) {
  for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const auto text = variable(name);
    if (!text || text->empty()) continue;
    const auto counts = read_slurm_counts(*text);
    if (!counts) refuse(fmt::format("{}='{}' is no list of numbers", name, *text));
    if (counts->size() != nodes)
      refuse(fmt::format("{}='{}' speaks of {} nodes, SLURM_JOB_NODELIST of {}", name, *text, counts->size(),
                         nodes));
    return *counts;
  }
  return std::vector<std::uint32_t>(nodes, 1);
}

constexpr const char* first_group = "SLURM_JOB_NODELIST_HET_GROUP_0";

/// Whether the allocation has several groups of nodes, each with variables of its own: the usual name,
/// "_HET_GROUP_" and the group's number.
bool is_heterogeneous(const Variable& variable) {
  return variable("SLURM_HET_SIZE").value_or("1") != "1" || variable(first_group);
}

[[noreturn]] void refuse_groups(const Variable& variable) {
  throw Stop(exit_status::usage,
             messages::usage(fmt::format("Slurm's allocation is heterogeneous (SLURM_HET_SIZE={}), and "
                                         "weftrun does not choose among its groups; name "
                                         "their nodes ({} and so on) and slots with --host or --hostfile, or "
                                         "unset SLURM_JOB_ID to run on this "
                                         "machine alone",
                                         variable("SLURM_HET_SIZE").value_or(""), first_group)));
}

}  // namespace

std::optional<std::vector<std::uint32_t>> read_slurm_counts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  do {
    const auto count = take_number(text);
    std::optional<std::uint32_t> times = 1;
    if (take(text, "(x")) {
      times = take_number(text);
      if (!take(text, ")")) return std::nullopt;
    }
    if (!count || !times || *times == 0 || *times > most_hosts - counts.size()) return std::nullopt;
    counts.insert(counts.end(), *times, *count);
  } while (take(text, ","));
  return text.empty() ? std::optional(counts) : std::nullopt;
}

std::optional<Hosts> slurm_allocation(const Variable& variable) {
  const auto job = variable("SLURM_JOB_ID"), list = variable("SLURM_JOB_NODELIST");
  if (!job || job->empty()) return std::nullopt;
  // There each group has a list of its own; what SLURM_JOB_NODELIST is then, if it is set, is not documented.
  if (is_heterogeneous(variable)) refuse_groups(variable);
  if (!list || list->empty()) return std::nullopt;
  std::string complaint;
  const auto names = expand_hostlist(*list, complaint);
  if (!names) refuse(fmt::format("SLURM_JOB_NODELIST='{}': {}", *list, complaint));
  const auto slots = slots_of(variable, names->size());
  Hosts hosts;
  for (std::size_t i = 0; i < names->size(); ++i) {
    check_host_name((*names)[i], "SLURM_JOB_NODELIST");
    // An allocation may leave a node without tasks; it takes none.
    if (slots[i] != 0)
      hosts.push_back(
          {(*names)[i], std::min(slots[i], job::most_ranks_a_node), job::most_ranks_a_node, false});
  }
  if (hosts.empty()) refuse("no node has a task");
  return hosts;
}

}  // namespace weft::allocation
