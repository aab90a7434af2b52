// SPDX-License-Identifier: BSD-3-Clause
// Questions from server to server, and their answers, over the mesh.
//
// Order     Between two servers letters are given to their handlers in the order in which they were sent, once. Answers
//           come when they come.
// Loss      When the addressee is lost, each open question to it is answered with PMIX_ERR_UNREACH; none stays open.
// Threads   The server's loop. Handlers and `answered` run in progress(), which may be called from inside them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "pmix_common.h"
#include "transport/mesh/mesh.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// What a letter is about: who handles it.
enum class Subject : std::uint16_t {
  event = 1,     ///< for the handlers of that server's host
  relay,         ///< an event of a client, for the clients of that node
  process_gone,  ///< a process of that node left without finalize
  fence_part,    ///< has your part in this fence come?
  card_place,    ///< where do the cards of this job lie?
  card,          ///< of this rank, as soon as there is one
  leaving,       ///< that server finalizes
  report,        ///< for who looks on: what is open at yours, and how much was done
};

class Letters {
 public:
  using Answer =
      std::function<void(pmix_status_t status, Bytes body)>;  ///< to be called once, from progress() on
  using Handler = std::function<void(NodeNumber from, Bytes body, const Answer& answer)>;
  using Answered = std::function<void(pmix_status_t status, Bytes body)>;

  explicit Letters(mesh::Mesh& mesh, std::uint16_t message_id);
  /// Open questions are forgotten. The mesh has ended before: what it was still sending lies here.
  ~Letters();
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;

  void on(Subject subject, Handler handler);
  /// answered: once, in progress(). PMIX_ERR_UNREACH: lost, or its contact was never known here.
  void send(NodeNumber to, Subject subject, std::vector<std::byte> body, Answered answered);
  /// From the mesh's watcher.
  void node_lost(NodeNumber node);

  /// After the mesh's progress(). Number of handlers and answers that ran.
  std::size_t progress();
  /// Nothing waits to be handed to the fabric.
  bool is_flushed() const noexcept { return waiting_.empty() && sending_.empty(); }

  struct Counters {
    std::uint64_t sent = 0, received = 0, malformed = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Wire;
  struct Outgoing;
  struct Incoming {
    NodeNumber from;
    std::uint64_t number;
    bool is_answer;
    std::uint16_t subject;
    pmix_status_t status;
    std::vector<std::byte> body;
  };
  /// What is known of the letters from and to one node.
  struct Post {
    std::uint64_t sent = 0;   ///< number of the last one to it
    std::uint64_t taken = 0;  ///< number of the last one of it that went to its handler
    std::map<std::uint64_t, Incoming> early;
    std::map<std::uint64_t, Answered> open;  ///< by number
    std::uint64_t life = 0;                  ///< grows when the node is lost: answers of before are void
  };

  void receive(NodeNumber from, Bytes header, Bytes payload) noexcept;
  void accept(Incoming letter);
  void post(NodeNumber to, const Wire& wire, std::vector<std::byte> body);
  bool try_send(Outgoing& outgoing);
  void handle(Incoming letter);
  void end(NodeNumber to, std::uint64_t number, pmix_status_t status, std::vector<std::byte> body);

  mesh::Mesh& mesh_;
  std::uint16_t message_id_;
  std::map<Subject, Handler> handlers_;
  std::map<NodeNumber, Post> posts_;
  std::deque<Incoming> inbox_;
  std::deque<std::unique_ptr<Outgoing>> waiting_;  ///< the mesh had no room, or knew no way yet
  std::map<const Outgoing*, std::unique_ptr<Outgoing>> sending_;
  const std::shared_ptr<Letters*> here_ = std::make_shared<Letters*>(this);  ///< answers may come after us
  Counters counters_;
};

}  // namespace weft::server
