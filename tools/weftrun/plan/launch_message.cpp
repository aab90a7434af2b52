// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/launch_message.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "tools/allocation/own_names.hpp"
#include "tools/job/ranges.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/program/environment.hpp"
#include "tools/weftrun/plan/node_keys.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// Open MPI cuts strings at '[', ']' and '*', and the Standard's maps at ';' and ','.
std::string namespace_for(const std::string& host) {
  std::string name = "weft-" + host + "-" + std::to_string(::getpid());
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  };
  std::replace_if(
      name.begin(), name.end(), [&](unsigned char c) { return !is_plain(c); }, '_');
  return name;
}

std::string current_directory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? "." : path.string();
}

}  // namespace

Surroundings Surroundings::own() {
  Surroundings out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) out.environment.emplace_back(*at);
  out.directory = current_directory();
  return out;
}

std::string own_namespace() {
  return namespace_for(allocation::OwnNames::here().host);
}

channel::order::Launch launch_message(const Options& options, const Plan& plan,
                                      const placement::RankTable& table, const Surroundings& surroundings,
                                      const JobName& name) {
  channel::order::Launch launch;
  launch.nspace = own_namespace();
  if (name.number != 0) launch.nspace += "." + std::to_string(name.number);
  launch.parent = name.parent;
  if (!name.parent) launch.attacher = surroundings.attacher;
  launch.target = name.target;
  for (const auto& node : plan.nodes) {
    launch.hosts.push_back(node.name);
    if (!plan.alone) launch.slots.push_back(node.slots);
    if (plan.alone || plan.one_machine) launch.all_slots += node.slots;
  }
  launch.node_keys = node_keys_of(plan);
  launch.universe = plan.universe;
  launch.distribution = encode(plan.distribution);
  launch.session = static_cast<std::uint32_t>(::getpid());
  launch.apps = options.apps;
  for (std::size_t a = 0; a < launch.apps.size(); ++a) launch.apps[a].ranks = plan.ranks[a];
  launch.environment = surroundings.environment;
  launch.directory = surroundings.directory;
  launch.mapping = options.mapping;
  launch.processors = job::ranges(options.processors);
  launch.core_lists = plan.core_lists;
  launch.sets_openmp = options.sets_openmp;
  launch.merges_errors = options.merges_errors;
  launch.pseudo_terminals = options.pseudo_terminals;
  launch.one_machine = plan.one_machine;
  launch.wants_bindings = options.report_bindings || options.verbose;
  launch.accounts = options.launch_report != LaunchReport::none && name.number == 0;
  launch.traces = !options.trace.empty() && name.number == 0;
  launch.is_recoverable = options.on_failure == OnFailure::go_on;
  launch.input = options.input;
  launch.pmi = options.pmi;
  if (launch.input.kind == job::InputTarget::Kind::one && number(launch.input.rank) >= table.size())
    throw Stop(exit_status::usage, messages::no_such_input_rank(launch.input.rank, table.size()));
  return launch;
}

std::vector<std::string> notes_on_variables(const channel::order::Launch& launch) {
  std::vector<std::string> notes;
  for (const auto& app : launch.apps) {
    std::set<std::string_view> names;
    for (const std::string_view variable : launch.environment)
      if (!node::belongs_to_another_job(variable.data()))
        names.insert(variable.substr(0, variable.find('=')));
    for (const auto& setting : app.settings) {
      if (setting.value)
        names.insert(setting.name);
      else if (names.count(setting.name) == 0)
        notes.push_back(messages::variable_not_set(setting.name));
    }
  }
  return notes;
}

}  // namespace weft::weftrun
