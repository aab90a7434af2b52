// SPDX-License-Identifier: BSD-3-Clause
// Requests from server to server, and their replies, over the mesh.
//
// Order     Between two servers requests are given to their handlers in the order in which they were sent,
//           once. Replies come in any order. Of requests that come before their turn, most_early_bytes of a
//           node are kept: what is longer is replied to with PMIX_ERR_OUT_OF_RESOURCE in its turn.
// Replies   A protocol says what its replies mean in their bodies, with an enum of its own. The status beside
//           says whether there is one: PMIX_SUCCESS; PMIX_ERR_BAD_PARAM, the request made no sense to the
//           receiver; PMIX_ERR_NOT_SUPPORTED, the receiver does not know the request; PMIX_ERR_UNREACH; of a
//           Get it is the status for the process that waits.
// Loss      What a node sent before it was lost is still handled. Then each open request to it ends with
//           PMIX_ERR_UNREACH; none stays open, also not at the end. A reply to a node that has been lost
//           since its request goes nowhere.
// Threads   The server's loop. Handlers and `replied` run in progress(), which may be called from inside
//           them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/threads/weak_self.hpp"
#include "pmix_common.h"
#include "transport/mesh/outbox.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// What a request is about: by it the handler is found.
enum class RequestType : std::uint16_t {
  event = 1,     ///< for the handlers of that server's host
  relay,         ///< an event for the clients of all nodes, on its way down a tree (events/tree_relay.hpp)
  process_gone,  ///< a process of that node will not arrive, commit or reply any more, and has not finalized
  fence_part,    ///< the requested node's part in this fence, once it is there
  card_place,    ///< where the cards of this job lie
  card,          ///< the card of this rank, as soon as there is one
  leaving,       ///< that server finalizes
  report,        ///< for weftinfo and other tools: what is open there, and how much was done
  processes,     ///< for queries: the processes of a job that run there
  far_key,       ///< a reserved key of a rank of that node, or of the node
  group_part,    ///< as fence_part, of a group's construct or destruct
  rival,         ///< this collective cannot end well: another of its name and of another set is under way
  // Of groups, in core/server/groups:
  group_question,    ///< what a process's handlers say of this (questions.hpp)
  group_notice,      ///< an event for some clients of that node
  group_invitation,  ///< to processes of that node (invitation.hpp)
  group_answer,      ///< what an invited process has answered
  group_over,        ///< how an invitation has ended
  group_ask,         ///< a process is to leave, or to join (memberships.hpp)
  group_changed,     ///< other members than before
  group_find,        ///< does that node know this group
  group_aborted,     ///< handlers have aborted this construct
  group_unknown,     ///< the sender has callers in this construct, and knows not all of its members any more
  group_facts,       ///< what that node knows of a construct (losses.hpp)
  group_bootstrap,   ///< a process has called a construct whose members it does not know (bootstraps.hpp)
  group_names,       ///< which groups a process of that node is a member of (memberships.hpp)
  // Of published names, in core/server/published (name_messages.hpp):
  name_publish,    ///< names for their keeper
  name_look_up,    ///< keys that are looked up
  name_wait_over,  ///< a lookup waits no more
  name_forget,     ///< names have ended, or are taken back
  name_taken,      ///< a name has gone with its first read
  name_copies,     ///< what processes of that node have published of a lost keeper's keys
  syslog_record,   ///< of PMIx_Log, for the syslog of that machine (records.hpp)
  introduce,       ///< of an introducer: the contacts of all members, for that of the server (introducer.hpp)
  // Of lost nodes (views.hpp):
  view_wanted,   ///< something is undecided, and the receiver leads
  view_report,   ///< what is undecided there, and what has ended
  view_install,  ///< what has become of it
  view_result,   ///< what was contributed to a collective that has ended well
  cost_probe,    ///< no more than its bytes: how long it takes is measured (message_costs.hpp)
};

class Rpc {
 public:
  using Reply =
      std::function<void(pmix_status_t status, Bytes body)>;  ///< to be called once, from progress() on
  using Handler = std::function<void(NodeNumber from, Bytes body, const Reply& reply)>;
  using Replied = std::function<void(pmix_status_t status, Bytes body)>;

  Rpc(mesh::Mesh& mesh, std::uint16_t message_id, std::uint64_t most_early_bytes = std::uint64_t{512} << 20);
  /// The mesh has ended before: what it was still sending lies here.
  ~Rpc() = default;
  Rpc(const Rpc&) = delete;
  Rpc& operator=(const Rpc&) = delete;

  void on(RequestType type, Handler handler);
  /// replied: once, in progress(). PMIX_ERR_UNREACH: lost, or its contact was never known here.
  void send(NodeNumber to, RequestType type, std::vector<std::byte> body, Replied replied);
  /// From the mesh's watcher.
  void node_lost(NodeNumber node);

  /// After the mesh's progress(). Number of handlers and `replied` that ran.
  std::size_t progress();
  /// Nothing waits to be handed to the fabric.
  bool is_flushed() const noexcept { return outbox_.is_empty(); }
  /// The mesh is about to end, or has ended: every open request ends now, with PMIX_ERR_UNREACH, and so does
  /// each that its `replied` sends.
  void close();

  struct Counters {
    std::uint64_t sent = 0, received = 0, malformed = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Incoming {
    NodeNumber from;
    std::uint64_t life;  ///< as PeerState::life when it came
    std::uint64_t number;
    bool is_reply;
    std::uint16_t type;    ///< RequestType
    pmix_status_t status;  ///< of a request: another than PMIX_SUCCESS is its reply
    std::vector<std::byte> body;
    Replied failed{};  ///< a request of this server that never left
  };
  /// What is known of the requests from and to one node.
  struct PeerState {
    std::uint64_t sent = 0;   ///< number of the last one to it
    std::uint64_t taken = 0;  ///< number of the last one of it that went to its handler
    std::map<std::uint64_t, Incoming> early;
    std::uint64_t early_bytes = 0;                                    ///< in `early`
    std::map<std::pair<std::uint64_t, std::uint64_t>, Replied> open;  ///< by life and number
    std::uint64_t life = 0;                                           ///< grows when the node is lost
  };

  void receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept;
  void accept(Incoming incoming);
  bool keeps(NodeNumber to, Bytes header_bytes, const Error& why);
  void handle(const Incoming& incoming);
  void fail_open(NodeNumber to, std::uint64_t life, std::uint64_t number);
  std::size_t empty_inbox();

  mesh::Mesh& mesh_;
  mesh::Outbox outbox_;
  const std::uint64_t most_early_bytes_;
  bool is_closed_ = false;
  std::map<RequestType, Handler> handlers_;
  std::map<NodeNumber, PeerState> peers_;
  std::deque<Incoming> inbox_;
  const base::WeakSelf<Rpc> weak_self_{this};  ///< a handler may reply after the Rpc has gone
  Counters counters_;
};

}  // namespace weft::server
