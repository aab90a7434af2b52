// SPDX-License-Identifier: BSD-3-Clause
// Runs collectives between nodes: a schedule's steps over the mesh, any number of them at once.
//
// Which     A collective is (signature, generation). The signature names the set of members; each member
//           counts its own calls for it, so the first call of all is generation 1. Every message carries
//           both; a message for a generation that has not begun here is kept until it begins, within bounds
//           (early.hpp).
// Members   Node numbers, ascending; a member's Index is its place among them.
// Exchange  Eager: a contribution of at most max(most_at_once, most_in_all / members) bytes is sent in phase
//           0, with an algorithm that is good for so many bytes and for none. Longer ones send only their
//           length in phase 0; phase 1 then exchanges them with the algorithm chosen for the total size.
// Refusal   A member that takes no part in a collective refuses it. The lowest member says how it ends: as
//           the first refusal that comes there, so that all members hear the same of several that refuse.
//
//             member 3: refuse(why) -- refusal, why --> lowest member: where it has begun there it ends at
//                 |                                        all members; else the end is kept, and answered
//                 |<------------------ refused, end ------------|
//                 |-- abort, end --> all members
//
// Giving up A member whose part is with the others may not end it by itself, as one of them may have ended it
//           well: a time-out suspends it, as a loss does. The other members suspend it, too, where they hear
//           of that (give_up()), also before they have begun it.
// Loss      Of a collective with a lost member another one may have had the last part, and ended it well. So
//           at a node that knows of the loss it is suspended: no message ends it any more, settle() does,
//           with what its survivors have agreed on (account(), result_of()). A collective that
//           begins later with the lost member cannot have ended well without this node's part: it ends at
//           once where nothing follows from that (AfterLoss::ends), else as the survivors have agreed, or
//           agree now.
// Threads   As the mesh.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collective.hpp"
#include "collectives/early.hpp"
#include "collectives/generations.hpp"
#include "collectives/past.hpp"
#include "collectives/rule.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/mesh/outbox.hpp"

namespace weft::collectives {

/// For observers: one collective that is open here.
struct OpenCollective {
  Signature signature;
  Generation generation = 0;
  Kind kind = Kind::barrier;
  std::string algorithm;
  std::vector<NodeNumber> waits_for;  ///< the members whose messages the next step needs
};

class Engine {
 public:
  struct Options {
    std::uint16_t message_id = 1;       ///< of the mesh
    std::uint64_t most_at_once = 4096;  ///< bytes of one contribution
    std::uint64_t most_in_all = 0;      ///< bytes, of as many contributions as there are members
    /// Bytes of contributions in one message, if it has several: less than the mesh takes at once.
    std::uint64_t most_in_a_message = std::uint64_t{128} << 20;
    std::uint64_t most_early_bytes = std::uint64_t{4} << 30;  ///< of messages that this node is not ready for
    /// All nodes have the same before they begin a collective.
    std::shared_ptr<const Rule> rule = std::make_shared<Rule>();

    /// Bytes of a contribution that is sent in phase 0.
    std::uint64_t most_eager(std::uint32_t members) const noexcept {
      return std::max(most_at_once, most_in_all / members);
    }
  };
  static constexpr std::size_t most_given_up = 65536;
  Engine(mesh::Mesh& mesh, NodeNumber self, const Options& options);
  /// Open collectives end as `canceled`. The mesh is destroyed before the engine, which owns what it was
  /// still sending.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// done: in progress(), once. members: ascending, each known to the mesh, this node among them. after_loss:
  /// what this node asks for. Errors: invalid (members not ascending, or without this node; a barrier with a
  /// contribution), canceled after close().
  Result<Generation> begin(const Signature& signature, Kind kind, std::vector<NodeNumber> members,
                           std::vector<std::byte> contribution, Done done,
                           AfterLoss after_loss = AfterLoss::ends);
  /// Fails the next generation at all members, as `why`: this node does not take part in it. done: as of
  /// begin(), with how it has ended: another member may have ended it before, or the survivors of a loss.
  /// Errors as begin().
  Result<Generation> refuse(const Signature& signature, std::vector<NodeNumber> members, Why why, Done done,
                            AfterLoss after_loss = AfterLoss::ends);
  /// Which signatures are counted for how long is the caller's to say.
  Generations& generations() noexcept { return generations_; }
  /// The collective has begun here and not ended. Right after begin(): no other member had ended it before.
  bool is_open(const Signature& signature, Generation generation) const {
    return open_.find({signature, generation}) != open_.end();
  }
  /// Ends a collective at all members as `why`, where none can have ended it well. No effect if it has ended.
  void abort(const Signature& signature, Generation generation, Why why);

  using Key = Collective::Key;
  /// A member has given it up: it is suspended, here too, until settle(). No effect if it has ended.
  void give_up(const GivenUp& what);
  /// Of these what is open here.
  std::vector<GivenUp> given_up() const;
  /// The node is lost: what is open with it is suspended from here on. Again: no effect.
  void suspend(NodeNumber lost) noexcept;
  /// A collective is suspended, and waits for settle().
  bool has_undecided() const noexcept;
  /// Since the last call one has begun that is suspended: with a member that was lost before, or given up.
  bool take_begun_undecided() noexcept { return std::exchange(has_begun_undecided_, false); }
  struct Account {
    std::vector<End>
        undecided;           ///< those that are suspended: as failed with the first lost member, or given up
    std::vector<End> ended;  ///< the latest ends (past.hpp)
  };
  /// What has been given up, has not begun here, and is not among these, is forgotten.
  Account account(const Unsettled& of);
  /// The contributions to a collective that has ended well, as long as they are kept; null: they are not.
  const Contributions* result_of(const Key& key) const {
    return past_.contributions_of(key.first, key.second);
  }
  /// Whether one that is suspended brings data.
  bool has_data(const Key& key) const;
  /// Ends a suspended collective as its survivors have agreed: done() runs in progress(). contributions: of
  /// one that has ended well elsewhere; null: they are not to be had. What has come of one that has not begun
  /// here is of no more use. No effect on any other.
  void settle(const End& end, Contributions* contributions);

  /// The mesh is about to end: nothing is sent from here on, and nothing begins (canceled). Open collectives
  /// end with the engine.
  void close() noexcept { outbox_.close(); }

  /// Call after the mesh's progress(): sends what had no room, and calls done() of each collective that has
  /// ended. Returns their number.
  std::size_t progress();

  /// A collective that has not begun here.
  struct Rival {
    Key key;
    NodeNumber node;  ///< that is in it, and is there; this one: it has failed, and none is to be asked
  };
  /// Those of signatures with the same upper half.
  std::vector<Rival> rivals_of(const Signature& signature) const;
  /// How one that has not begun here has failed elsewhere.
  std::optional<Why> early_end_of(const Key& key) const { return early_.end_of(key); }
  std::vector<OpenCollective> open() const;
  struct Counters {
    std::uint64_t begun = 0, ended_well = 0, failed = 0, early = 0, late = 0, malformed = 0;
    std::uint64_t early_bytes = 0;    ///< now: of messages for which this node is not ready
    std::uint64_t awaited_bytes = 0;  ///< of these, of collectives that have not failed elsewhere
  };
  Counters counters() const;

 private:
  Result<Collective*> make(const Signature& signature, Kind kind, std::vector<NodeNumber> members, Done done,
                           AfterLoss after_loss);
  void receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept;
  void take(Collective& collective, NodeNumber from, const MessageHeader& header, Bytes payload);
  std::optional<NodeNumber> lost_member_of(const Collective& collective) const;
  bool waits_for_view(Collective& collective);
  bool is_given_up(const Key& key) const { return given_up_.count(key) != 0; }
  void send_end(NodeNumber to, MessageHeader header, MessageHeader::Type type, Why why);
  void take_refusal(NodeNumber from, const MessageHeader& header);
  void take_refused(const MessageHeader& header);
  std::optional<Why> why_of(const Key& key) const;
  void start_phase(Collective& collective, const Choice& choice);
  void advance(Collective& collective);
  void send_step(Collective& collective);
  void cannot_send(NodeNumber to, Bytes header_bytes, const Error& why);
  void end_at_all(Collective& collective, Why why, std::optional<NodeNumber> lost);
  void settle_early(const End& how);
  void end(Collective& collective, std::optional<Why> why, std::optional<Loss> lost);
  std::size_t tell_ended();

  mesh::Mesh& mesh_;
  NodeNumber self_;
  Options options_;
  Generations generations_;
  std::map<Key, std::unique_ptr<Collective>> open_;
  std::vector<std::unique_ptr<Collective>> ended_;  ///< done() has still to be called
  Past past_;
  EarlyMessages early_;
  mesh::Outbox outbox_;
  bool has_begun_undecided_ = false;
  std::map<Key, Why> given_up_;  ///< open, or not begun here
  Counters counters_;
};

}  // namespace weft::collectives
