// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/ground.hpp"

#include <asio/post.hpp>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "tools/allocation/own_names.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/plan/launch_message.hpp"

namespace weft::weftrun {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// For daemons to exit when everything is over; then they get SIGTERM and, as much later, SIGKILL.
constexpr std::chrono::seconds leaving_time{2};

base::Secret new_key() try {
  return base::Secret::random(launch::StartMessage::key_bytes);
} catch (const std::system_error& error) {
  throw Stop(exit_status::own_failure, messages::no_key(error.code().value()));
}

}  // namespace

Ground::Ground(Setup setup) : setup_(std::move(setup)) {
  // UCX prints its complaints on standard output, which is the ranks'. Jobs have copied their environment
  // before.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  const auto& plan = setup_.plan;
  if (!plan.own) return;
  node_ = std::make_unique<node::Node>(setup_.loop, setup_.spawner, own_namespace(), *plan.own, !plan.alone,
                                       [this](pid_t pid, int status) {
                                         if (cluster_) cluster_->on_child_exit(pid, status);
                                       });
}

void Ground::start_server() {
  const auto& plan = setup_.plan;
  identity_.nspace = own_namespace() + "-weftrun";
  identity_.number = plan.alone ? 0 : plan.launcher_number();
  identity_.servers = plan.alone ? 1 : plan.servers();
  identity_.first_servers = static_cast<std::uint32_t>(plan.nodes.size());
  identity_.host = plan.own ? plan.nodes[*plan.own].name : allocation::OwnNames::here().host;
  identity_.is_on_one_host = plan.one_machine;
  identity_.transport = setup_.transport;
  if (!plan.alone) identity_.key = new_key();
  const auto& names_of = setup_.names_of;
  if (!names_of.empty()) identity_.names_keeper = identity_.number;
  server_ = std::make_unique<host::Server>(identity_, events_of_server());
  if (!names_of.empty()) server_->share_names(names_of);
}

void Ground::prepare_daemons() {
  const auto& plan = setup_.plan;
  if (!plan.alone) {
    cluster::Cluster::Setup daemons{
        std::move(identity_), {}, plan.spares.size(), plan.room, plan.own, plan.agent, setup_.release};
    for (std::uint32_t i = 0; i < plan.all_nodes(); ++i) daemons.hosts.push_back(plan.node(i).name);
    cluster::ClusterWatcher& watcher = *this;  // a base that make_unique may not see
    cluster_ = std::make_unique<cluster::Cluster>(setup_.loop, setup_.spawner, std::move(daemons), watcher);
  }
  setup_.jobs.serve(*server_, node_.get(), cluster_.get());
}

host::Server::Events Ground::events_of_server() {
  auto& loop = setup_.loop;
  auto& jobs = setup_.jobs;
  host::Server::Events events;
  events.spawn = [&loop, &jobs, own = setup_.plan.own](job::SpawnRequest request, RunningJobs::Reply reply) {
    asio::post(loop, [&jobs, own, request = std::move(request), reply = std::move(reply)] {
      jobs.spawn(own, request, reply);
    });
  };
  events.control = [&loop, &jobs](job::ControlRequest request, RunningJobs::Reply reply) {
    asio::post(loop, [&jobs, request = std::move(request), reply = std::move(reply)] {
      reply(jobs.control(request));
    });
  };
  events.connected = [&loop, &jobs](std::vector<std::string> nspaces, bool are_connected) {
    asio::post(loop, [&jobs, nspaces = std::move(nspaces), are_connected] {
      jobs.on_connected(nspaces, are_connected);
    });
  };
  events.names_lost = [this] {
    asio::post(setup_.loop, [this] { setup_.watcher.on_names_lost(messages::names_lost(setup_.names_of)); });
  };
  jobs.streams().take_calls(events);
  return events;
}

/// A daemon with readers of output stays until the output is written.
void Ground::dismiss() {
  if (cluster_ && !setup_.jobs.streams().has_far_readers()) cluster_->dismiss();
}

void Ground::finish() {
  if (!cluster_) return setup_.watcher.on_all_exited();
  if (setup_.jobs.streams().has_far_readers()) cluster_->dismiss();
  cluster_->finish(leaving_time);
}

RunningJobs::Reply Ground::answer_to(std::uint32_t node, std::uint64_t number) {
  return [this, node, number](const job::Result& result) { cluster_->answer(node, number, result); };
}

void Ground::on_spawn(std::uint32_t node, std::uint64_t number, const job::SpawnRequest& request) {
  setup_.jobs.spawn(node, request, answer_to(node, number));
}

void Ground::on_control(std::uint32_t node, std::uint64_t number, const job::ControlRequest& request) {
  cluster_->answer(node, number, setup_.jobs.control(request));
}

void Ground::on_pull(std::uint32_t node, std::uint64_t number, const job::PullRequest& request) {
  setup_.jobs.streams().pull(node, request, answer_to(node, number));
}

void Ground::on_push(std::uint32_t node, std::uint64_t number, const job::PushRequest& request) {
  setup_.jobs.streams().push(node, request, answer_to(node, number));
}

void Ground::on_connected(const std::vector<std::string>& nspaces, bool are_connected) {
  setup_.jobs.on_connected(nspaces, are_connected);
}

}  // namespace weft::weftrun
