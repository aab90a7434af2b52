// SPDX-License-Identifier: BSD-3-Clause
// The servers of this launch, one a node: their contacts, what carries requests and collectives to them, and
// which of them are lost. Every server has a cluster, which begins as one of a single node, without a fabric.
// docs/design/nodes.md.
//
// Opening   open() makes it the cluster of all nodes, once, before the rooms are there or after: handlers of
//           requests wait for that, and so does what is given to when_open(). In a cluster of one there are
//           no others, no request leaves, and a turn does nothing.
// End       stop() ends all work while the rooms are there to hear of it; then what they have exposed to the
//           endpoint goes, then the endpoint.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "collectives/engine.hpp"
#include "core/server/cluster/contacts.hpp"
#include "core/server/cluster/fabric.hpp"
#include "core/server/cluster/machine.hpp"
#include "core/server/cluster/message_costs.hpp"
#include "core/server/cluster/rpc.hpp"
#include "core/server/cluster/server_table.hpp"
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
  static constexpr const char* first_nodes_attribute = "weft.first_nodes";
  static constexpr const char* names_keeper_attribute = "weft.names_keeper";

  NodeNumber self = 0;
  NodeNumber nodes = 1;
  NodeNumber first_nodes = 0;              ///< those below it have a server from the start; 0: all
  std::optional<NodeNumber> names_keeper;  ///< as ServerTable
  std::optional<mesh::JobKey> key;         ///< without it there is no way to other nodes
  std::string transport;                   ///< empty: as the environment has it
  bool is_on_one_host = false;             ///< all servers are: of one user, and no network is between them
  std::vector<std::vector<std::byte>> contacts;  ///< the first is that of a server that is reached first

  /// Errors: invalid, with what is wrong.
  static Result<ClusterSpec> parse(const pmix_info_t* infos, std::size_t count, NodeNumber self);
  bool has_others() const noexcept { return key && nodes > 1; }
};

class Cluster final : mesh::Watcher {
 public:
  struct Lost {
    NodeNumber node;
    std::string why;
    bool has_left;  ///< it had said so: its end is no news, but nothing comes from there any more
  };
  /// Of one node: node 0, whatever number the host has given to this server.
  Cluster(Loop& loop, std::string host, std::uint64_t machine = machine_number());
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  struct Opened {
    bool is_open;      ///< false: the cluster is as it was; see note
    std::string note;  ///< one line for the user; empty: nothing to say
  };
  using OpenFabric = std::function<Fabric::Opened(mesh::Watcher&, mesh::NodeIncarnation self)>;
  /// What carries a cluster in place of the machine's fabric, of another clock perhaps.
  struct Carrier {
    std::uint64_t incarnation;
    OpenFabric open_fabric;
  };
  Opened open(const ClusterSpec& spec, const std::optional<Carrier>& carrier = std::nullopt);
  /// There is a way to other nodes.
  bool is_open() const noexcept { return way_ != nullptr; }
  /// Runs `act` once there is a way to other nodes: now, or in open().
  void when_open(std::function<void()> act);

  NodeNumber self() const noexcept { return servers_.self(); }
  /// The servers, this one among them, and which of them are there.
  const ServerTable& servers() const noexcept { return servers_; }

  /// Handles requests of other servers.
  void on(RequestType type, Rpc::Handler handler);
  /// Before the cluster opens, in the same order at all servers: what this room has open with a lost node
  /// is decided by views.
  void add_view_room(ViewRoom& room) { view_rooms_.push_back(&room); }
  /// Such a room has come to wait for a lost node.
  void want_view() noexcept {
    if (way_) way_->views.want();
  }
  /// As Rpc::send(). In a cluster of one: PMIX_ERR_UNREACH, not before this returns.
  void send(NodeNumber to, RequestType type, std::vector<std::byte> body, Rpc::Replied replied);

  // REQUIRES: is_open().
  Contacts& contacts() noexcept { return way_->contacts; }
  Fabric& fabric() const noexcept { return *way_->fabric; }
  collectives::Engine& engine() noexcept { return way_->engine; }
  MessageCosts& costs() noexcept { return way_->costs; }
  const Rpc::Counters& request_counters() const noexcept { return way_->rpc.counters(); }

  /// A key for one purpose, the same at all servers of the cluster; nothing where there is no way to others.
  std::optional<std::array<std::uint8_t, mesh::JobKey::bytes>> key_for(std::string_view purpose) const;

  /// As Fabric.
  bool turn(bool may_rest = true);
  /// Nodes that were lost in turn() since the last call.
  std::vector<Lost> take_lost();
  /// Tells a node that nothing more comes from here; nothing is sent to it any more, and its end is no loss.
  void take_leave_of(NodeNumber node);
  /// Tells those it has spoken to that it goes, and hands out what is still to be sent, for so long at most.
  void say_goodbye(std::chrono::milliseconds limit = std::chrono::seconds(1));
  /// Ends all work; open requests are answered from in here. Then `release` frees what was exposed to the
  /// endpoint, and the endpoint ends: there is no way to other nodes any more. release: may be null.
  void stop(const std::function<void()>& release);

 private:
  /// To the other nodes. In this order, so that the mesh ends first: what it is still sending lies in the
  /// others.
  struct Way {
    Way(Loop& loop, std::unique_ptr<Fabric> opened, const ClusterSpec& spec, ServerTable& servers,
        const std::vector<ViewRoom*>& rooms, const std::shared_ptr<collectives::Rule>& rule);
    Rpc rpc;
    MessageCosts costs;
    collectives::Engine engine;
    Views views;
    Contacts contacts;
    std::unique_ptr<Fabric> fabric;
  };
  Opened open_over(const ClusterSpec& spec, const Carrier& carrier);
  Carrier carrier_of_machine(const ClusterSpec& spec);
  std::string enter(const ClusterSpec& spec, std::uint64_t incarnation);
  void be_alone();
  void node_lost(NodeNumber node, const char* why) noexcept override;
  void message_refused(NodeNumber sender, mesh::Refusal why, std::uint16_t version) noexcept override;

  Loop& loop_;
  ServerTable servers_;
  std::optional<mesh::JobKey> key_;
  std::vector<Lost> lost_;  ///< for take_lost()
  std::map<RequestType, Rpc::Handler> handlers_;
  std::vector<ViewRoom*> view_rooms_;
  std::vector<std::function<void()>> when_open_;  ///< not run yet
  std::unique_ptr<Way> way_;                      ///< null: there is none
};

/// How the loop sleeps beside the fabric.
inline Pace pace_of(const Cluster& cluster) noexcept {
  return Pace(cluster.is_open() ? &cluster.fabric() : nullptr);
}

/// Of the collectives of all clusters.
collectives::Engine::Options engine_options(std::shared_ptr<const collectives::Rule> rule);

/// What the records of this job's cards are checked under; nothing where no other node reads them, or where
/// the fabric guards what is read.
std::optional<store::CardKey> card_key(Cluster& cluster, std::string_view nspace);

/// As open(), and its note goes to the log: what all servers would say is said by the first. Errors:
/// unreachable.
Result<void> open_and_log(Cluster& cluster, const ClusterSpec& spec);

// Of one that is open:
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
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().messages_sent; }},
    {"mesh.bytes_sent", "their bytes",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().bytes_sent; }, Measure::bytes},
    {"mesh.messages_received", "messages of other servers",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().messages_received; }},
    {"mesh.bytes_received", "their bytes",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().bytes_received; }, Measure::bytes},
    {"mesh.gets", "reads of memory as the fabric saw them: longer reads in pieces",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().gets; }},
    {"mesh.bytes_got", "their bytes",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().bytes_got; }, Measure::bytes},
    {"mesh.stalls", "times that the endpoint had no room",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().stalls; }},
    {"mesh.refused", "messages that were not authentic, replayed or malformed",
     [](Cluster& cluster) {
       const auto& refused = cluster.fabric().mesh().counters().refused;
       return std::accumulate(refused.begin(), refused.end(), std::uint64_t{0});
     }},
    {"mesh.nodes_lost", "nodes that were lost",
     [](Cluster& cluster) { return cluster.fabric().mesh().counters().nodes_lost; }},
    {"rpc.sent", "requests to other servers, those of a report included",
     [](Cluster& cluster) { return cluster.request_counters().sent; }},
    {"rpc.received", "requests of other servers",
     [](Cluster& cluster) { return cluster.request_counters().received; }},
};

}  // namespace weft::server
