// SPDX-License-Identifier: BSD-3-Clause
// Runs collectives between nodes: a schedule's steps over the mesh, any number of them at once.
//
// Which     A collective is (signature, generation). The signature names the set of members; each member counts its own
//           calls for it, so the first call of all is generation 1. Every message carries both: what comes for a
//           generation that has not begun here is kept until it does.
// Members   Node numbers, ascending; a member's Index is its place among them.
// Exchange  Contributions up to `most_at_once` go around at once, among few members also longer ones, as long as all of
//           that length make no more than `most_in_all`; of others the length does, and when all know all lengths they
//           go around in a second turn, by the algorithm that is right for so many bytes.
// Loss      A node that is lost ends each open collective that it is a member of, at every other member, as peer_lost
//           with its number: who notices tells the others. One that begins later with that member ends at once.
// Threads   As the mesh.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/choice.hpp"
#include "collectives/message.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/mesh/outbox.hpp"

namespace weft::collectives {

struct Outcome {
  Result<void> result;
  std::optional<NodeNumber> lost;  ///< who, if a node was lost
  /// Of an exchange that went well: by member. The bytes are valid during the call.
  const std::vector<std::vector<std::byte>>& contributions;
};
using Done = std::function<void(const Outcome&)>;

/// For who looks on: one collective that is open here.
struct OpenCollective {
  Signature signature;
  Generation generation = 0;
  Kind kind = Kind::barrier;
  std::string algorithm;
  std::vector<NodeNumber> waits_for;  ///< whose message the next step needs
};

class Engine {
 public:
  struct Options {
    std::uint16_t message_id = 1;       ///< of the mesh
    std::uint64_t most_at_once = 4096;  ///< bytes of one contribution
    std::uint64_t most_in_all = 0;      ///< bytes, of as many contributions as there are members
    std::uint64_t most_early_bytes = std::uint64_t{1}
                                     << 30;  ///< kept for collectives that have not begun here
    Rule rule{};
  };
  Engine(mesh::Mesh& mesh, NodeNumber self, const Options& options);
  /// Open collectives end as `canceled`. The mesh has ended before: what it was still sending lies here.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// done: in progress(), once. members: ascending, each known to the mesh, with oneself.
  /// Errors: invalid (members not ascending, or without oneself; a barrier with a contribution).
  Result<Generation> begin(const Signature& signature, Kind kind, std::vector<NodeNumber> members,
                           std::vector<std::byte> contribution, Done done);
  /// The next generation fails at all members, as `why`, because this one will not take part in it. Errors as begin().
  Result<Generation> refuse(const Signature& signature, std::vector<NodeNumber> members, Errc why);
  /// The generation that was begun last here; 0: none.
  Generation begun(const Signature& signature) const;
  /// Ends it here and at all other members as `why`: a deadline that has passed, a local process that died. Without
  /// effect if it has ended.
  void abort(const Signature& signature, Generation generation, Errc why);
  /// From the mesh's watcher.
  void node_lost(NodeNumber node) noexcept;

  /// After the mesh's progress(): sends what had no room, and calls done() of what has ended. Number of those.
  std::size_t progress();

  std::vector<OpenCollective> open() const;
  struct Counters {
    std::uint64_t begun = 0, ended_well = 0, failed = 0, early = 0, late = 0, malformed = 0;
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Collective;
  struct Early;
  struct EarlyMessages;
  using Key = std::pair<Signature, Generation>;

  Result<Collective*> make(const Signature& signature, Kind kind, std::vector<NodeNumber> members);
  void receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept;
  void keep_early(NodeNumber from, const MessageHeader& header, Bytes payload);
  EarlyMessages take_early(const Key& key);
  void take(Collective& collective, NodeNumber from, const MessageHeader& header, Bytes payload);
  void start_phase(Collective& collective, const Choice& choice);
  void advance(Collective& collective);
  void send_step(Collective& collective);
  void cannot_send(NodeNumber to, Bytes header_bytes, const Error& why);
  void tell_all(const Collective& collective, const MessageHeader& header);
  void end(Collective& collective, Result<void> result, std::optional<NodeNumber> lost);
  std::size_t tell_ended();

  mesh::Mesh& mesh_;
  NodeNumber self_;
  Options options_;
  std::map<Signature, Generation> generations_;  ///< begun last
  std::map<Key, std::unique_ptr<Collective>> open_;
  std::vector<std::unique_ptr<Collective>> ended_;
  std::map<Key, EarlyMessages> early_;
  std::uint64_t early_bytes_ = 0;  ///< what the messages in early_ cost
  mesh::Outbox outbox_;
  Counters counters_;
};

}  // namespace weft::collectives
