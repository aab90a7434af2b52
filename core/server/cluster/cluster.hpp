// SPDX-License-Identifier: BSD-3-Clause
// The other servers of this launch, one a node: their contacts, what carries requests and collectives to them, and which of them
// are lost. docs/design/nodes.md.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.hpp"
#include "core/server/cluster/fabric.hpp"
#include "core/server/cluster/rpc.hpp"
#include "core/server/cluster/views.hpp"
#include "core/server/counter.hpp"
#include "core/store/cards/record_check.hpp"
#include "pmix_common.h"

namespace weft::server {

/// What the host says of the cluster, as attributes of PMIx_server_init.
struct ClusterSpec {
  static constexpr const char* key_attribute = "weft.key";
  static constexpr const char* transport_attribute = "weft.transport";
  /// Answered only: the same, and the device that carries it, for people.
  static constexpr const char* way_attribute = "weft.transport.way";
  static constexpr const char* contact_attribute = "weft.contact";
  static constexpr const char* one_host_attribute = "weft.one_host";

  NodeNumber self = 0;
  NodeNumber nodes = 1;
  std::string host;
  std::optional<mesh::JobKey> key;  ///< without it there is no way to other nodes
  std::string transport;            ///< empty: as the environment has it
  bool is_on_one_host = false;      ///< all servers are: of one user, and no network is between them
  std::vector<std::vector<std::byte>> contacts;  ///< the first is that of a server that is reached first

  /// Errors: invalid, with what is wrong.
  static Result<ClusterSpec> parse(const pmix_info_t* infos, std::size_t count, NodeNumber self,
                                   std::string host);
  bool has_others() const noexcept { return key && nodes > 1; }
};

class Cluster final : mesh::Watcher, Views::Others {
 public:
  struct Lost {
    NodeNumber node;
    std::string why;
  };
  struct Opened {
    std::unique_ptr<Cluster> cluster;  ///< null: see note
    std::string note;                  ///< one line for the user; empty: nothing to say
  };
  static Opened open(Loop& loop, const ClusterSpec& spec);
  /// The same over a fabric that `open_fabric(cluster, incarnation)` makes, of another clock than the machine's perhaps.
  using OpenFabric = std::function<Fabric::Opened(mesh::Watcher&, mesh::NodeIncarnation self)>;
  static Opened over(const ClusterSpec& spec, std::uint64_t incarnation, const OpenFabric& open_fabric);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  NodeNumber self() const noexcept { return self_; }
  /// Of this server; that of a later one of the same number is greater.
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  NodeNumber count() const noexcept { return static_cast<NodeNumber>(entries_.size()); }
  mesh::Mesh& mesh() noexcept { return fabric_->mesh(); }
  Endpoint& endpoint() noexcept { return fabric_->endpoint(); }
  Rpc& rpc() noexcept { return *rpc_; }
  collectives::Engine& engine() noexcept { return *engine_; }
  const std::string& transport() const noexcept { return fabric_->transport(); }
  /// The same and what carries it, for people.
  std::string transport_description() const { return fabric_->description(); }
  /// What the records of this job's cards are checked under; nothing where the fabric guards what is read.
  std::optional<store::CardKey> card_key(std::string_view nspace) const;

  /// Where this server is, for the others: number, host name, contact.
  std::vector<std::byte> contact() const;
  /// A contact that contact() made. Returns why it is refused, as a line for the user; empty: it is not. A node that speaks
  /// another version counts as lost.
  std::string add(Bytes contact);
  /// "node3", or "node 3" where its name is not known.
  std::string name_of(NodeNumber node) const;
  bool is_there(NodeNumber node) const noexcept;
  bool has_left(NodeNumber node) const noexcept { return node < count() && entries_[node].has_left; }
  bool is_lost(NodeNumber node) const noexcept { return node < count() && entries_[node].is_lost; }
  /// All whose contact is known and that are not lost, without oneself.
  std::vector<NodeNumber> others() const override;

  /// As Fabric.
  bool turn(bool may_rest = true);
  /// Nodes that were lost in turn() since the last call, and had not said that they leave.
  std::vector<Lost> take_lost();
  /// As Fabric.
  mesh::TimePoint deadline() const noexcept { return fabric_->deadline(); }
  bool sleep() noexcept { return fabric_->sleep(); }
  void stay_awake() noexcept { fabric_->stay_awake(); }
  void share_cores(unsigned clients) noexcept { fabric_->share_cores(clients); }
  /// Tells a node that nothing more comes from here; nothing is sent to it any more, and its end is no loss.
  void take_leave_of(NodeNumber node);
  /// Tells those it has spoken to that it goes, and hands out what is still to be sent; bounded.
  void say_goodbye();
  /// Ends all work; open requests are answered from in here. What others exposed to the endpoint may go then, and then
  /// this.
  void stop();

 private:
  struct Entry {
    std::string host;
    bool is_known = false, is_lost = false, has_left = false;
  };
  Cluster(const ClusterSpec& spec, std::uint64_t incarnation);
  void node_lost(NodeNumber node, const char* why) noexcept override;
  void message_refused(NodeNumber sender, mesh::Refusal why, std::uint16_t version) noexcept override;

  mesh::JobKey key_;
  NodeNumber self_;
  const std::uint64_t incarnation_;
  std::string host_;
  std::vector<Entry> entries_;
  std::vector<Lost> lost_;  ///< for take_lost()
  // In this order, so that the mesh ends first: what it is still sending lies in the other two.
  std::unique_ptr<Rpc> rpc_;
  std::unique_ptr<collectives::Engine> engine_;
  std::unique_ptr<Views> views_;
  std::unique_ptr<Fabric> fabric_;
};

inline constexpr Counter<Cluster> collective_counters[] = {
    {"fences.begun", "fences, and operations of groups, that have begun between nodes",
     [](Cluster& cluster) { return cluster.engine().counters().begun; }},
    {"fences.ended_well", "of these, that ended well",
     [](Cluster& cluster) { return cluster.engine().counters().ended_well; }},
    {"fences.failed", "of these, that failed",
     [](Cluster& cluster) { return cluster.engine().counters().failed; }},
    {"fences.early", "messages for one that had not begun here",
     [](Cluster& cluster) { return cluster.engine().counters().early; }},
};

inline constexpr Counter<Cluster> message_counters[] = {
    {"mesh.messages_sent", "messages to other servers",
     [](Cluster& cluster) { return cluster.mesh().counters().messages_sent; }},
    {"mesh.bytes_sent", "their bytes", [](Cluster& cluster) { return cluster.mesh().counters().bytes_sent; }},
    {"mesh.messages_received", "messages of other servers",
     [](Cluster& cluster) { return cluster.mesh().counters().messages_received; }},
    {"mesh.bytes_received", "their bytes",
     [](Cluster& cluster) { return cluster.mesh().counters().bytes_received; }},
    {"mesh.gets", "reads of memory as the fabric saw them: longer reads in pieces",
     [](Cluster& cluster) { return cluster.mesh().counters().gets; }},
    {"mesh.bytes_got", "their bytes", [](Cluster& cluster) { return cluster.mesh().counters().bytes_got; }},
    {"mesh.stalls", "times that the endpoint had no room",
     [](Cluster& cluster) { return cluster.mesh().counters().stalls; }},
    {"mesh.refused", "messages that were not authentic, replayed or malformed",
     [](Cluster& cluster) {
       const auto& refused = cluster.mesh().counters().refused;
       return std::accumulate(refused.begin(), refused.end(), std::uint64_t{0});
     }},
    {"mesh.nodes_lost", "nodes that were lost",
     [](Cluster& cluster) { return cluster.mesh().counters().nodes_lost; }},
    {"rpc.sent", "requests to other servers, those of a report included",
     [](Cluster& cluster) { return cluster.rpc().counters().sent; }},
    {"rpc.received", "requests of other servers",
     [](Cluster& cluster) { return cluster.rpc().counters().received; }},
};

}  // namespace weft::server
