// SPDX-License-Identifier: BSD-3-Clause
// Launcher, first part: from the plan to running ranks.
#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/launcher/launcher.hpp"
#include "tools/weftrun/plan/launch_message.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

base::Secret new_key() try {
  return base::Secret::random(launch::StartMessage::key_bytes);
} catch (const std::system_error& error) {
  throw Stop(exit_status::own_failure, messages::no_key(error.code().value()));
}

}  // namespace

Launcher::Launcher(const process::Spawner& spawner, Options options, Plan plan, std::string release,
                   std::string transport)
    : spawner_(spawner),
      options_(std::move(options)),
      plan_(std::move(plan)),
      release_(std::move(release)),
      transport_(std::move(transport)),
      table_(plan_.distribution),
      launch_(launch_message(options_, plan_, table_)),
      job_(plan_of_job(), table_) {}

jobs::Job::Plan Launcher::plan_of_job() {
  jobs::Job::Plan out;
  for (const auto& node : plan_.nodes) out.hosts.push_back(node.name);
  for (const auto& app : launch_.apps) out.programs.push_back(app.argv[0]);
  out.goes_on = options_.on_failure == OnFailure::go_on;
  out.output_directory = options_.output_directory;
  out.merges_errors = launch_.merges_errors;
  return out;
}

void Launcher::make_output() {
  io::TerminalWatcher& watcher = *this;  // a base that emplace may not see
  terminal_.emplace(loop_, watcher);
  const auto here = plan_.own ? table_.ranks_on(*plan_.own).size() : 0;
  output_.emplace(loop_, *terminal_,
                  io::Output::Settings{launch_.nspace, options_.output_directory, options_.tags, here},
                  [this](const std::string& file, int error) { on_output_lost(file, error); });
  console_.emplace(*output_, options_.quiet, options_.verbose);
}

void Launcher::plan_own_node() {
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const Rank rank{r};
    if (!plan_.own || table_.node_of(rank) != *plan_.own) output_->prepare_far(rank);
  }
  if (!plan_.own) return;
  node::LocalRanks::Events events;
  events.ended = [this](const job::RankEnd& ended) {
    input_->disconnect(ended.rank);
    on_ended(ended);
    output_->check_room(ended.rank);
  };
  events.connected_late = [this](Rank rank) { on_connected_late(rank); };
  events.abort = [this](const job::AbortRequest& request) { on_aborted(request); };
  events.settled = [this] {
    if (const auto other = local_->other_pmix(); !other.empty()) on_other_pmix(*plan_.own, other);
    on_node_settled(*plan_.own);
  };
  // While there is one thread.
  node_ = std::make_unique<node::Node>(loop_, spawner_, launch_.nspace, *plan_.own, !plan_.alone,
                                       [this](pid_t pid, int status) {
                                         if (cluster_) cluster_->on_child_exit(pid, status);
                                       });
  local_ = &node_->add(std::move(events));
  std::vector<std::string> notes;
  local_->plan(launch_, table_, notes);
  for (const auto& note : notes) console_->print(note);
}

void Launcher::start_server() {
  host::ServerIdentity identity;
  identity.nspace = launch_.nspace + "-weftrun";
  identity.number = plan_.alone ? 0 : plan_.launcher_number();
  identity.servers = plan_.alone ? 1 : plan_.servers();
  identity.host = plan_.own ? plan_.nodes[*plan_.own].name : allocation::OwnNames::here().host;
  identity.is_on_one_host = plan_.one_machine;
  identity.transport = transport_;
  if (!plan_.alone) identity.key = new_key();
  server_ = std::make_unique<host::Server>(identity, local_ ? local_->topology() : nullptr);
  if (local_) {
    host::take_launch_info(launch_.nspace,
                           host::gather_launch_info(launch_.nspace, launch_.apps, host::Servers::left_out));
    local_->register_with(*server_, launch_.pmi);
  }
  if (plan_.alone) return;
  cluster::Cluster::Setup setup{std::move(identity), {}, plan_.own, plan_.agent, release_};
  for (const auto& node : plan_.nodes) setup.hosts.push_back(node.name);
  cluster::ClusterWatcher& watcher = *this;  // a base that make_unique may not see
  cluster_ = std::make_unique<cluster::Cluster>(loop_, spawner_, std::move(setup), watcher);
  far_ = &cluster_->add({launch_.nspace, table_, options_.on_failure == OnFailure::go_on}, *this);
}

void Launcher::make_input() {
  io::Input::Others others;
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const auto node = table_.node_of(Rank{r});
    if (launch_.input.includes(Rank{r}) && node != plan_.own) others.nodes.insert(node);
  }
  others.send = [this](std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
    far_->send_input(node, bytes, std::move(taken));
  };
  input_ = std::make_unique<io::Input>(loop_, launch_.input, table_.size(), std::move(others));
}

void Launcher::catch_signals() {
  signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { on_end_signal(signal); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  if (!options_.limit) return;
  limit_.expires_after(*options_.limit);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_time_up();
  });
}

void Launcher::start_own_ranks() {
  const auto failure = local_->start([this](Rank rank) {
    auto output = output_->connect(rank);
    return node::LocalRanks::Streams{input_->connect(rank), std::move(output.out), std::move(output.error)};
  });
  jobs::Job::Started report{.node = *plan_.own};
  for (const Rank rank : local_->all()) report.pids.push_back(local_->pid(rank));
  if (launch_.wants_bindings && !failure)
    for (const auto& line : local_->bindings()) console_->print(line);
  node_->watch(*local_);
  if (failure) report.exit_code = failure->exit_code, report.failure = failure->line;
  carry_out(job_.started(report));
}

void Launcher::print_environment() {
  if (!options_.verbose) return;
  console_->print_detail(
      fmt::format("job {}: {} ranks on {} nodes", launch_.nspace, table_.size(), table_.nodes()));
  if (cluster_) console_->print_detail(fmt::format("other nodes are reached by {}", cluster_->way()));
  if (local_)
    for (const auto& line : local_->description()) console_->print_detail(line);
}

}  // namespace weft::weftrun
