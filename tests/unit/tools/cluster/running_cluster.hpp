// SPDX-License-Identifier: BSD-3-Clause
// A cluster for tests: this process is the launcher, without a terminal, and the daemons are real ones of
// virtual nodes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/cluster/cluster.hpp"
#include "tools/host/launch_info.hpp"
#include "tools/host/server.hpp"
#include "tools/node/program/environment.hpp"
#include "tools/process/spawn.hpp"

namespace weft::cluster {

using job::Rank;
using Numbers = std::vector<std::uint32_t>;

/// One job, and all that is told of it.
struct JobRun : FarRanksWatcher {
  /// distribution: of all nodes of the cluster.
  JobRun(Cluster& cluster, std::string nspace, const std::string& distribution, std::vector<std::string> argv,
         bool continues = false)
      : table(placement::decode_distribution(distribution,
                                             static_cast<std::uint32_t>(std::stoul(distribution)), 1024)) {
    order.nspace = std::move(nspace);
    for (std::uint32_t node = 0; node < table.nodes(); ++node)
      order.hosts.push_back(fmt::format("v{}", node));
    order.distribution = distribution;
    order.apps.resize(1);
    order.apps[0].argv = std::move(argv);
    order.apps[0].ranks = table.size();
    for (char** at = environ; *at != nullptr; ++at) order.environment.emplace_back(*at);
    order.directory = "/";
    order.one_machine = true;
    order.input = {job::InputTarget::Kind::none, Rank{0}};
    far = &cluster.add({order.nspace, table, continues}, *this);
  }
  void launch(Cluster& cluster) {
    order.launch_info = host::gather_launch_info(order.nspace, order.apps, host::Servers::included);
    cluster.launch(*far, order, [] {});
  }

  void on_node_started(std::uint32_t node, const channel::report::Started& report) override {
    started.push_back(node);
    pids[node] = report.pids;
    failures += report.failure;
  }
  void on_known_everywhere() override {}
  void on_output(channel::report::Output report, channel::Reply written) override {
    output[report.rank] += report.bytes;
    written();
  }
  void on_ended(const job::RankEnd& end) override { ends.insert({end.rank, end.wait_status}); }
  void on_connected_late(Rank) override {}
  void on_aborted(const job::AbortRequest&) override {}
  void on_held(std::uint32_t, const job::Held&) override {}
  void on_input_unwanted(std::uint32_t) override {}
  void on_node_settled(std::uint32_t node) override { settled.insert(node); }
  void on_other_pmix(std::uint32_t, const std::string&) override {}
  void on_start_times(std::uint32_t node, const job::NodeStart& start) override { starts[node] = start; }
  void on_trace(std::uint32_t node, job::NodeTrace trace) override { traces[node] = std::move(trace); }
  void on_node_lost(std::uint32_t node, const std::string& line) override { lost[node] = line; }

  placement::RankTable table;
  channel::order::Launch order;
  FarRanks* far;
  Numbers started;
  std::map<std::uint32_t, std::vector<std::int32_t>> pids;  ///< by node
  std::string failures;
  std::map<Rank, std::string> output;
  std::multimap<Rank, int> ends;
  std::set<std::uint32_t> settled;
  std::map<std::uint32_t, std::string> lost;
  std::map<std::uint32_t, job::NodeStart> starts;
  std::map<std::uint32_t, job::NodeTrace> traces;
};

class RunningCluster : public ::testing::Test, ClusterWatcher {
 protected:
  RunningCluster(std::uint32_t nodes, const std::string& release) {
    ::alarm(120);
    host::ServerIdentity identity;
    identity.nspace = fmt::format("weft-test-{}-servers", ::getpid());
    identity.number = nodes;
    identity.servers = nodes + 1;
    identity.host = "launcher";
    identity.is_on_one_host = true;
    identity.key = base::Secret::random(launch::StartMessage::key_bytes);
    server = std::make_unique<host::Server>(identity);
    const auto weftd = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weftd";
    std::vector<std::string> hosts;
    for (std::uint32_t node = 0; node < nodes; ++node) hosts.push_back(fmt::format("v{}", node));
    Cluster::Setup setup{identity, std::move(hosts), 0, 0, std::nullopt, {}, release};
    setup.agent.weftd = weftd.string();
    ClusterWatcher& watcher = *this;
    cluster = std::make_unique<Cluster>(loop, spawner, std::move(setup), watcher);
    cluster->start();
    run_until([this] { return is_connected; });
  }
  ~RunningCluster() override {
    cluster->dismiss();
    cluster->finish(std::chrono::seconds(10));
    run_until([this] { return have_exited; });
    cluster.reset();
    ::alarm(0);
  }

  void on_daemon_connected(std::uint32_t node) override { connected.insert(node); }
  void on_all_connected() override { is_connected = true; }
  void on_agent_line(const std::string& line) override { lines.push_back(line); }
  void on_detail(const std::string& text) override {
    const auto at = text.find("(pid ");
    if (at == std::string::npos) return;
    const auto node =
        static_cast<std::uint32_t>(std::strtoul(text.c_str() + text.find(" v") + 2, nullptr, 10));
    daemons[node] = static_cast<pid_t>(std::strtol(text.c_str() + at + 5, nullptr, 10));
  }
  void on_unused_node_lost(const std::string& line) override { lines.push_back(line); }
  void on_all_exited() override { have_exited = true; }
  void on_spawn(std::uint32_t, std::uint64_t, const job::SpawnRequest&) override {}
  void on_control(std::uint32_t, std::uint64_t, const job::ControlRequest&) override {}
  void on_connected(const std::vector<std::string>&, bool) override {}
  void on_pull(std::uint32_t, std::uint64_t, const job::PullRequest&) override {}
  void on_push(std::uint32_t, std::uint64_t, const job::PushRequest&) override {}

  template <class Done>
  void run_until(Done&& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < limit) {
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(done());
  }
  /// From the launch until all daemons have forgotten it.
  void complete(JobRun& run) {
    run.launch(*cluster);
    run_until([&] { return run.settled.size() == connected.size(); });
    end(run);
  }
  void end(JobRun& run) {
    bool is_gone = false;
    cluster->end(*run.far, job::Ending{PMIX_SUCCESS, Rank{0}, 0}, [&] { is_gone = true; });
    run_until([&] { return is_gone; });
    cluster->remove(*run.far);
  }
  std::string name(int number) const { return fmt::format("weft-test-{}.{}", ::getpid(), number); }

  asio::io_context loop{1};
  const process::Spawner spawner;
  std::unique_ptr<host::Server> server;
  std::unique_ptr<Cluster> cluster;
  bool is_connected = false, have_exited = false;
  std::map<std::uint32_t, pid_t> daemons;
  std::set<std::uint32_t> connected;
  std::vector<std::string> lines;
};

}  // namespace weft::cluster
