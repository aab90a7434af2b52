// SPDX-License-Identifier: BSD-3-Clause
// JobRun, first part: from the plan to running ranks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/allocation/own_addresses.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/host/namespace.hpp"
#include "tools/weftrun/launcher/job_run.hpp"
#include "tools/weftrun/plan/launch_message.hpp"

namespace weft::weftrun {

using job::Rank;

jobs::Job::Plan JobRun::plan_of(const Options& options, const Plan& plan,
                                const channel::order::Launch& launch) {
  jobs::Job::Plan out;
  if (launch.parent) out.name = launch.nspace;
  for (const auto& node : plan.nodes) out.hosts.push_back(node.name);
  for (const auto& app : launch.apps) out.programs.push_back(app.argv[0]);
  if (std::any_of(launch.apps.begin(), launch.apps.end(), [](const auto& app) { return app.stops.is_any(); }))
    for (const auto& app : launch.apps) out.stops.push_back(app.stops);
  out.goes_on = options.on_failure == OnFailure::go_on;
  out.output_directory = options.output_directory;
  out.merges_errors = launch.merges_errors;
  return out;
}

io::Output::Settings JobRun::output_settings(const Options& options, const JobName& name) const {
  io::Output::Settings out{launch_.nspace, options.output_directory, options.tags};
  out.ranks_here = plan_.own ? table_.ranks_on(*plan_.own).size() : 0;
  out.ranks = table_.size();
  out.has_terminals = options.pseudo_terminals;
  if (name.parent) out.kept = {*name.parent, options.keeps_output, options.keeps_errors};
  out.host_of = [this](Rank rank) { return plan_.nodes[table_.node_of(rank)].name; };
  return out;
}

JobRun::JobRun(const Place& place, const Options& options, const Plan& plan, const JobName& name)
    : place_(place),
      plan_(plan),
      limit_(options.limit),
      stuck_after_(options.stuck_after),
      goes_on_(options.on_failure == OnFailure::go_on),
      is_one_of_many_(name.number != 0),
      table_(plan_.distribution),
      launch_(launch_message(options, plan_, table_, place.run.surroundings(), name)),
      job_(plan_of(options, plan_, launch_), table_),
      records_({place_.run, plan_, table_, launch_, job_}),
      output_(place_.loop, {place_.run.terminal(), place_.streams.pulls()}, output_settings(options, name),
              [this](const std::string& file, int error) { on_output_lost(file, error); }),
      time_(place_.loop),
      grace_(place_.loop),
      hold_(place_.loop),
      stuck_(place_.loop) {
  for (std::uint32_t r = 0; r < table_.size(); ++r)
    if (table_.node_of(Rank{r}) != plan_.own) output_.prepare_far(Rank{r});
}

void JobRun::set_up(node::Node* node, host::Server& server, cluster::Cluster* cluster) {
  if (cluster == nullptr) launch_.node_keys.push_back(addresses());
  if (node != nullptr) plan_here(*node);
  records_.set_up(has_ranks_here() ? local_ : nullptr, cluster);
  register_with(server);
  if (cluster == nullptr) return;
  cluster_ = cluster;
  far_ = &cluster->add({launch_.nspace, table_, goes_on_, is_one_of_many_}, *this);
}

/// Of the nodes' machines: of this one, and what daemons have said of theirs.
job::NodeKey JobRun::addresses() const {
  std::vector<std::string> values;
  for (std::uint32_t node = 0; node < table_.nodes(); ++node) {
    const bool is_own = node == plan_.own;
    values.push_back(is_own ? allocation::own_addresses() : cluster_->nodes().addresses(node));
  }
  return job::node_key(job::NodeKey::address, std::move(values));
}

void JobRun::plan_here(node::Node& node) {
  node_ = &node;
  node::LocalRanks::Events events;
  events.ended = [this](const job::RankEnd& ended) { on_own_rank_ended(ended); };
  events.connected_late = [this](Rank rank) { on_connected_late(rank); };
  events.abort = [this](const job::AbortRequest& request) { on_aborted(request); };
  events.held = [this](const job::Held& held) { on_held(*plan_.own, held); };
  events.settled = [this] {
    if (const auto other = local_->other_pmix(); !other.empty()) on_other_pmix(*plan_.own, other);
    on_node_settled(*plan_.own);
  };
  local_ = &node.add(std::move(events));
  std::vector<std::string> notes;
  local_->plan(launch_, table_, notes);
  for (const auto& note : notes) place_.run.console().print(note);
}

void JobRun::register_with(host::Server& server) {
  server_ = &server;
  if (!local_) return;
  host::take_launch_info(launch_.nspace,
                         host::gather_launch_info(launch_.nspace, launch_.apps, host::Servers::left_out));
  local_->register_with(server, launch_.pmi);
}

void JobRun::begin() {
  for (const auto& note : notes_on_variables(launch_)) place_.run.console().print(note);
  make_input();
  if (limit_) time_.start(*limit_, [this] { on_time_up(*limit_); });
}

void JobRun::make_input() {
  if (launch_.input.is_pushed) {
    pushed_input_.emplace(place_.loop, launch_.input, table_.size(), push_to_others(), launch_.parent);
    place_.streams.add(launch_.nspace, *pushed_input_);
    input_.emplace(place_.loop, *pushed_input_);
    return;
  }
  io::Input::Others others;
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const auto node = table_.node_of(Rank{r});
    if (launch_.input.includes(Rank{r}) && node != plan_.own) others.nodes.insert(node);
  }
  others.send = [this](std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
    far_->send_input(node, bytes, std::move(taken));
  };
  input_.emplace(place_.loop, launch_.input, table_.size(), std::move(others), place_.run.input());
}

std::optional<std::uint32_t> JobRun::far_node_of(Rank rank) const {
  const auto node = table_.node_of(rank);
  return node == plan_.own ? std::nullopt : std::optional(node);
}

io::PushedInput::Others JobRun::push_to_others() {
  return {[this](Rank rank) { return far_node_of(rank); },
          [this](std::uint32_t node, std::vector<Rank> ranks, const std::string& bytes, bool ends,
                 std::function<void()> taken) {
            far_->push_input(node, {launch_.nspace, std::move(ranks), bytes, ends}, std::move(taken));
          }};
}

void JobRun::start(bool needs_contacts) {
  if (far_ == nullptr) {
    job_.launched();
    return start_own_ranks();
  }
  if (!is_starting()) return;
  const auto servers = needs_contacts ? host::Servers::included : host::Servers::left_out;
  launch_.launch_info = host::gather_launch_info(launch_.nspace, launch_.apps, servers);
  launch_.node_keys.push_back(addresses());  // the daemons have said hello by now
  if (auto* const account = records_.account()) account->order_goes_out();
  if (auto* const trace = records_.trace()) trace->order_goes_out();
  cluster_->launch(*far_, launch_, [this] {
    job_.launched();
    // This node has registered the job before daemons were started; the order does not wait for the rest.
    if (local_ != nullptr) host::add_node_keys(local_->map(), {launch_.node_keys.back()});
    if (has_ranks_here()) start_own_ranks();
  });
  if (auto* const account = records_.account()) account->order_bytes(far_->orders().launch_bytes());
}

void JobRun::start_own_ranks() {
  const auto failure = local_->start([this](Rank rank) {
    auto output = output_.connect(rank);
    return node::LocalRanks::Streams{input_->connect(rank), std::move(output.out), std::move(output.error)};
  });
  jobs::Job::Started report{.node = *plan_.own};
  for (const Rank rank : local_->all()) report.pids.push_back(local_->pid(rank));
  if (launch_.wants_bindings && !failure)
    for (const auto& line : local_->bindings()) place_.run.console().print(line);
  node_->watch(*local_);
  if (failure) report.exit_code = failure->exit_code, report.failure = failure->line;
  carry_out(job_.started(report));
}

}  // namespace weft::weftrun
