// SPDX-License-Identifier: BSD-3-Clause
// Requests of group operations to the server of any node, this one included, with other nodes or without: the
// server that coordinates an operation does not ask where its processes live. The loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/cluster/cluster.hpp"
#include "core/server/groups/table/group_table.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {

/// A request to the one server that keeps something for all. When that server is lost the request waits for a
/// view (cluster/view_room.hpp), which says what has become of it, or which server keeps it from then on.
struct KeptRequest {
  NodeNumber keeper = 0;
  bool waits_for_view = false;
  unsigned sent = 0;  ///< how often: the reply to the last counts
};

class PeerCalls {
 public:
  PeerCalls(Loop& loop, Jobs& jobs, GroupTable& table, Cluster& cluster)
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
  /// As Jobs::meet.
  void meet(const link::RankRuns& members) { note_meeting(jobs_, link::procs_or_none(members)); }
  /// Of a message about a process: `then`, when its namespace is registered here, which may be later than at
  /// the server of the process; or after registration_wait, where it is not.
  void when_known(const pmix_proc_t& proc, std::function<void()> then);
  /// The same of many, as the processes of each node; in their order.
  std::map<NodeNumber, Procs> by_node(const Procs& procs) const;

  /// The table of groups is settled before the handler is called, and before `replied`.
  void on(RequestType type, Rpc::Handler handler);
  /// The same with what the body says; one that says nothing of the kind is PMIX_ERR_BAD_PARAM.
  template <class Room, class Message>
  void on(RequestType type, Room& room, void (Room::*take)(NodeNumber, Message, const Rpc::Reply&)) {
    on(type, [&room, take](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
      auto message = base::decode<Message>(body);
      message ? (room.*take)(from, std::move(*message), reply) : reply(PMIX_ERR_BAD_PARAM, {});
    });
  }
  /// replied: once, never before this returns; null: no reply is wanted. PMIX_ERR_UNREACH: the node is lost,
  /// or has no way.
  void send(NodeNumber to, RequestType type, std::vector<std::byte> body, Rpc::Replied replied);
  /// Of a reply: then(Result<Answer>), not_found where there is none that says so.
  template <class Answer, class Then>
  static Rpc::Replied expect(Then then) {
    return [then = std::move(then)](pmix_status_t status, Bytes body) mutable {
      then(status == PMIX_SUCCESS ? base::decode<Answer>(body) : Result<Answer>(fail(Errc::not_found)));
    };
  }
  /// replied: once at most, while the request lives, and by a keeper that is there.
  void ask(const std::shared_ptr<KeptRequest>& request, NodeNumber keeper, RequestType type,
           std::vector<std::byte> body, Rpc::Replied replied);

 private:
  void call_here(RequestType type, std::vector<std::byte> body, Rpc::Replied replied);

  Loop& loop_;
  Jobs& jobs_;
  GroupTable& table_;
  Cluster& cluster_;
  std::map<RequestType, Rpc::Handler> handlers_;
};

}  // namespace weft::server
