// SPDX-License-Identifier: BSD-3-Clause
// Job, first part: from the plan to running ranks.
#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/daemons/launch_message.hpp"
#include "tools/weftrun/job/job.hpp"

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

Job::Job(const process::Spawner& spawner, Options options, Plan plan, std::string release,
         std::string transport)
    : spawner_(spawner),
      options_(std::move(options)),
      plan_(std::move(plan)),
      release_(std::move(release)),
      transport_(std::move(transport)),
      table_(plan_.distribution),
      launch_(launch_message(options_, plan_, table_)),
      ranks_(table_.size()),
      nodes_to_start_(table_.nodes()),
      nodes_to_settle_(table_.nodes()) {}

void Job::make_output() {
  Output::Events events;
  events.drained = [this] { on_output_drained(); };
  events.reader_lost = [this](channel::Stream stream) { on_reader_lost(stream); };
  events.write_failed = [this](const std::string& what, int error) {
    raise(Event::output_lost, exit_status::own_failure, messages::output_lost(what, error));
  };
  output_ = std::make_unique<Output>(loop_, options_.output_directory, options_.tags, std::move(events));
  console_.emplace(*output_, options_.quiet, options_.verbose);
}

void Job::plan_own_node() {
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const Rank rank{r};
    if (!plan_.own || table_.node_of(rank) != *plan_.own) output_->make_files(rank);
  }
  if (!plan_.own) return;
  ranks::LocalRanks::Events events;
  events.ended = [this](const ranks::LocalRanks::Ended& ended) {
    input_->disconnect(ended.rank);
    on_rank_end(ended, {});
    output_->check_room(ended.rank);
  };
  events.connected_late = [this](Rank rank) { on_connected_late(rank); };
  events.abort = [this](const host::AbortRequest& request) { on_aborted(request); };
  events.settled = [this] {
    if (const auto other = local_->other_pmix(); !other.empty()) on_other_pmix(*plan_.own, other);
    on_node_settled(*plan_.own);
  };
  events.other_child = [this](pid_t pid, int status) {
    if (daemons_) daemons_->on_child_exit(pid, status);
  };
  // While there is one thread.
  local_ = std::make_unique<ranks::LocalRanks>(loop_, spawner_, launch_.nspace, *plan_.own, !plan_.alone,
                                               std::move(events));
  std::vector<std::string> notes;
  local_->plan(launch_, table_, notes);
  for (const auto& note : notes) console_->print(note);
}

void Job::start_server() {
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
  DaemonsWatcher& watcher = *this;
  daemons_ = std::make_unique<Daemons>(loop_, spawner_, identity, plan_, table_, release_,
                                       options_.on_failure == OnFailure::go_on, watcher);
}

void Job::make_input() {
  Input::Others others;
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const auto node = table_.node_of(Rank{r});
    if (launch_.input.includes(Rank{r}) && node != plan_.own) others.nodes.insert(node);
  }
  others.send = [this](std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
    daemons_->send_input(node, bytes, std::move(taken));
  };
  input_ = std::make_unique<Input>(loop_, launch_.input, table_.size(), std::move(others));
}

void Job::catch_signals() {
  signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { on_end_signal(signal); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  if (!options_.limit) return;
  limit_.expires_after(*options_.limit);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_time_up();
  });
}

void Job::start_own_ranks() {
  const auto failure = local_->start([this](Rank rank) {
    auto output = output_->connect(rank);
    return ranks::LocalRanks::Streams{input_->connect(rank), std::move(output.out), std::move(output.error)};
  });
  for (const Rank rank : local_->all()) ranks_.set_started(rank, local_->pid(rank));
  if (local_->running() != 0) announce_start();
  if (launch_.wants_bindings && !failure)
    for (const auto& line : local_->bindings()) console_->print(line);
  local_->watch();
  failure ? raise(Event::start_failed, failure->exit_code, failure->line) : on_node_runs();
}

void Job::print_environment() {
  if (!options_.verbose) return;
  console_->print_detail(
      fmt::format("job {}: {} ranks on {} nodes", launch_.nspace, table_.size(), table_.nodes()));
  if (daemons_) console_->print_detail(fmt::format("other nodes are reached by {}", daemons_->way()));
  if (local_)
    for (const auto& line : local_->description()) console_->print_detail(line);
}

}  // namespace weft::weftrun
