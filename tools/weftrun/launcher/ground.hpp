// SPDX-License-Identifier: BSD-3-Clause
// What the jobs of this process stand on: its node, its PMIx server and the daemons of the other nodes. What
// processes ask for goes to RunningJobs. On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <string>

#include "tools/cluster/cluster.hpp"
#include "tools/host/server.hpp"
#include "tools/node/node.hpp"
#include "tools/weftrun/launcher/running_jobs.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// As in cluster::ClusterWatcher.
class GroundWatcher {
 public:
  virtual void on_daemon_connected(std::uint32_t node) = 0;
  virtual void on_all_connected() = 0;
  virtual void on_agent_line(const std::string& line) = 0;
  virtual void on_detail(const std::string& text) = 0;
  virtual void on_unused_node_lost(const std::string& line) = 0;
  /// line: for the user. The run that keeps this one's names has gone.
  virtual void on_names_lost(const std::string& line) = 0;
  virtual void on_all_exited() = 0;

 protected:
  ~GroundWatcher() = default;
};

class Ground final : cluster::ClusterWatcher {
 public:
  /// All of these outlive this object. release: weftrun's own, "0.1.0". transport: between nodes; empty: the
  /// user's, or the best.
  struct Setup {
    asio::io_context& loop;
    const process::Spawner& spawner;
    const Plan& plan;
    RunningJobs& jobs;
    GroundWatcher& watcher;
    std::string release, transport;
    std::string names_of{};  ///< --names-of; empty: this run keeps its names itself
  };
  /// While the process has one thread: its node, if it serves one. Throws Stop.
  explicit Ground(Setup setup);

  /// The PMIx server; then what the daemons need. Throws Stop.
  void start_server();
  void prepare_daemons();
  /// Daemons leave, with what they still run, and are waited for.
  void dismiss();
  void finish();

  node::Node* node() noexcept { return node_.get(); }              ///< null: it serves no node
  host::Server& server() noexcept { return *server_; }             ///< REQUIRES: start_server()
  cluster::Cluster* cluster() noexcept { return cluster_.get(); }  ///< null: there is no other node
  /// Nothing was launched, because a node is not reached by the transport that this process chose; tcp may
  /// do.
  bool wants_tcp() const noexcept { return cluster_ && cluster_->wants_another_transport(); }

 private:
  host::Server::Events events_of_server();
  void on_daemon_connected(std::uint32_t node) override { setup_.watcher.on_daemon_connected(node); }
  void on_all_connected() override { setup_.watcher.on_all_connected(); }
  void on_agent_line(const std::string& line) override { setup_.watcher.on_agent_line(line); }
  void on_detail(const std::string& text) override { setup_.watcher.on_detail(text); }
  void on_unused_node_lost(const std::string& line) override { setup_.watcher.on_unused_node_lost(line); }
  void on_all_exited() override { setup_.watcher.on_all_exited(); }
  void on_spawn(std::uint32_t node, std::uint64_t number, const job::SpawnRequest& request) override;
  void on_control(std::uint32_t node, std::uint64_t number, const job::ControlRequest& request) override;
  void on_pull(std::uint32_t node, std::uint64_t number, const job::PullRequest& request) override;
  void on_push(std::uint32_t node, std::uint64_t number, const job::PushRequest& request) override;
  void on_connected(const std::vector<std::string>& nspaces, bool are_connected) override;
  RunningJobs::Reply answer_to(std::uint32_t node, std::uint64_t number);

  const Setup setup_;
  host::ServerIdentity identity_;
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<host::Server> server_;
  std::unique_ptr<cluster::Cluster> cluster_;
};

}  // namespace weft::weftrun
