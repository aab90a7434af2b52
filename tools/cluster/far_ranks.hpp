// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one job on nodes of a cluster, as its launcher reaches them: orders go to the daemons of
// nodes with ranks of the job, those for all of them down its tree (job_orders.hpp), and what these report of
// the job is checked and told to its watcher. Everything here runs on the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/channel/server_channel.hpp"
#include "tools/cluster/job_orders.hpp"
#include "tools/cluster/nodes.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::cluster {

/// Receives what daemons report of a job, about ranks of their own nodes. No function is called from inside
/// an order to FarRanks.
class FarRanksWatcher {
 public:
  virtual ~FarRanksWatcher() = default;
  virtual void on_node_started(std::uint32_t node, const channel::report::Started& report) = 0;
  virtual void on_known_everywhere() = 0;  ///< once: the last node without ranks of it knows the job
  virtual void on_output(channel::report::Output report, channel::Reply written) = 0;
  virtual void on_ended(const job::RankEnd& ended) = 0;
  virtual void on_connected_late(job::Rank rank) = 0;
  virtual void on_aborted(const job::AbortRequest& request) = 0;
  virtual void on_held(std::uint32_t node, const job::Held& held) = 0;
  virtual void on_input_unwanted(std::uint32_t node) = 0;
  /// Called once a node: none of its ranks runs. The node may not have been launched, or be lost.
  virtual void on_node_settled(std::uint32_t node) = 0;
  /// Before on_node_settled(): the file of another PMIx library was opened there while ranks ran.
  virtual void on_other_pmix(std::uint32_t node, const std::string& file) = 0;
  /// Before on_node_settled(), where the order has asked for it.
  virtual void on_start_times(std::uint32_t node, const job::NodeStart& start) = 0;
  /// The same.
  virtual void on_trace(std::uint32_t node, job::NodeTrace trace) = 0;
  /// Once a node, before on_node_settled(): it is lost with all its ranks. line: for the user; empty: printed
  /// with another node already.
  virtual void on_node_lost(std::uint32_t node, const std::string& line) = 0;
};

class FarRanks {
 public:
  struct Job {
    std::string nspace;
    const placement::RankTable& table;  ///< outlives this; node i is node i of the cluster
    bool continues;                     ///< it outlives lost nodes
    bool has_witnesses = false;         ///< all nodes are to know it, those without ranks of it too
  };
  FarRanks(asio::io_context& loop, const Nodes& nodes, const JobOrders::Way& way, Job job,
           FarRanksWatcher& watcher);

  const std::string& nspace() const noexcept { return job_.nspace; }

  // Orders.
  /// Down the tree, when all daemons are connected. ready: this server may start ranks of its own. Fills in
  /// the witnesses.
  void launch(channel::order::Launch launch, const std::function<void()>& ready);
  /// A node that has no ranks of the job is to know it now. launch: as for launch().
  void add_witness(std::uint32_t node, channel::order::Launch launch);
  /// For all ranks that have not ended; named: for these only. Before launch() SIGTERM and SIGKILL cancel the
  /// launch.
  void signal(int number, const std::vector<job::Rank>& named = {});
  void send_input(std::uint32_t node, const std::string& bytes, std::function<void()> taken);
  void push_input(std::uint32_t node, const channel::order::Pushed& input, std::function<void()> taken);
  void close_output(job::Stream stream);
  /// Where the ranks of each node with daemon are. done: once, not inside of this call; nodes that have not
  /// answered within `limit` have no places.
  struct NodePlaces {
    std::uint32_t node = 0;
    std::optional<job::Places> places{};
  };
  using PlacesFound = std::function<void(std::vector<NodePlaces>)>;
  void find_places(bool wants_stacks, std::chrono::milliseconds limit, PlacesFound done);
  /// See Cluster::end().
  void end(const std::optional<job::Ending>& ending, std::function<void()> gone);

  // What is known.
  bool is_canceled() const noexcept { return is_canceled_; }
  bool is_launched() const noexcept { return is_launched_; }
  std::size_t started() const noexcept { return started_; }  ///< nodes
  /// How far the job has come on a node.
  enum class State : std::uint8_t { without_ranks, planned, starting, started, settled };
  State state_on(std::uint32_t node) const;
  /// Once it is launched: all nodes know it that are to know it, or are lost.
  bool is_known_everywhere() const noexcept { return unaware_.empty(); }
  bool continues() const noexcept { return job_.continues; }
  /// The hosts of daemons that have not said that their ranks have ended.
  std::vector<std::string> unsettled() const;

  // For Cluster.
  /// Its orders for all nodes, and the numbers of their reports.
  JobOrders& orders() noexcept { return orders_; }
  /// False: the bytes are no such report; the daemon is damaged.
  bool take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes,
                   channel::Reply reply);
  /// line_of(consequence): the line for the user, about the first of these nodes.
  using LineOf = std::function<std::string(std::string_view consequence)>;
  void lose(const std::vector<std::uint32_t>& nodes, const LineOf& line_of);

 private:
  bool has_ranks_on(std::uint32_t node) const { return !job_.table.ranks_on(node).empty(); }
  struct NodeHere {
    bool is_started = false, is_settled = false;
  };
  std::vector<std::uint32_t> job_nodes() const;
  std::vector<std::uint32_t> unsettled_nodes() const;
  template <class Order>
  void give(const Order& order);
  void take_output(std::uint32_t from, channel::report::Output output, channel::Reply written);
  bool is_rank_of(job::Rank rank, std::uint32_t node) const noexcept;
  void on_started(std::uint32_t from, const channel::report::Started& started);
  void settle(std::uint32_t node);
  void take_witness(std::uint32_t node);
  void take_places(std::uint32_t from, channel::report::PlacesHere report);
  void end_places(std::uint64_t number);
  std::string consequence(const std::vector<std::uint32_t>& lost) const;

  asio::io_context& loop_;
  const Nodes& nodes_;
  channel::ServerChannel& channel_;
  const Job job_;
  JobOrders orders_;
  FarRanksWatcher& watcher_;
  std::vector<NodeHere>
      nodes_here_;  // by number; the launcher's own settles here only if nothing is launched
  std::set<std::uint32_t> witnesses_;  ///< once launched: daemons of nodes without ranks
  std::set<std::uint32_t> unaware_;    ///< of these, those that have not said that they know the job
  struct PlaceQuestion {
    std::vector<NodePlaces> nodes;
    std::size_t awaited = 0;
    asio::steady_timer limit;
    PlacesFound done;
  };
  std::map<std::uint64_t, PlaceQuestion> questions_;  ///< by number
  std::uint64_t last_question_ = 0;
  struct Early {
    channel::report::Output output;
    channel::Reply written;
  };
  std::map<std::uint32_t, std::vector<Early>> early_;  ///< by node: output that has overtaken its `started`
  asio::steady_timer straight_;
  std::size_t started_ = 0;
  bool is_launched_ = false, is_canceled_ = false;
  bool is_over_ = false;             ///< the daemons forget it: no order follows
  bool looks_after_orders_ = false;  ///< straight_ runs
};

}  // namespace weft::cluster
