// SPDX-License-Identifier: BSD-3-Clause
// Requests of group operations to the server of any node, this one included, with other nodes or without: the
// server that coordinates an operation does not ask where its processes live. The loop's thread only.
#pragma once

#include <map>
#include <optional>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/cluster/cluster.hpp"
#include "core/server/groups/table/group_table.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class PeerCalls {
 public:
  PeerCalls(Loop& loop, const Jobs& jobs, GroupTable& table, Cluster& cluster)
      : loop_(loop), jobs_(jobs), table_(table), cluster_(cluster) {}
  PeerCalls(const PeerCalls&) = delete;
  PeerCalls& operator=(const PeerCalls&) = delete;

  NodeNumber self() const noexcept { return cluster_.self(); }
  /// This node and those that can be reached.
  std::vector<NodeNumber> nodes() const;
  /// Its server is lost, and its processes with it.
  bool is_lost(NodeNumber node) const { return cluster_.servers().is_lost(node); }
  /// It is lost, or has left in good order: no word comes from there any more.
  bool is_gone(NodeNumber node) const {
    return cluster_.servers().is_lost(node) || cluster_.servers().has_left(node);
  }
  /// As Cluster.
  void add_view_room(ViewRoom& room) { cluster_.add_view_room(room); }
  void want_view() { cluster_.want_view(); }
  /// Where the server of that process is. Nothing: the process is not known here, or lives where no way
  /// leads.
  std::optional<NodeNumber> node_of(const pmix_proc_t& proc) const;
  /// The same of many, as the processes of each node; in their order.
  std::map<NodeNumber, Procs> by_node(const Procs& procs) const;

  /// The table of groups is settled before the handler is called, and before `replied`.
  void on(RequestType type, Rpc::Handler handler);
  /// replied: once, never before this returns; null: no reply is wanted. PMIX_ERR_UNREACH: the node is lost,
  /// or has no way.
  void send(NodeNumber to, RequestType type, std::vector<std::byte> body, Rpc::Replied replied);

 private:
  void call_here(RequestType type, std::vector<std::byte> body, Rpc::Replied replied);

  Loop& loop_;
  const Jobs& jobs_;
  GroupTable& table_;
  Cluster& cluster_;
  std::map<RequestType, Rpc::Handler> handlers_;
};

}  // namespace weft::server
