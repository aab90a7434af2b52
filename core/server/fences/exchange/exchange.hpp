// SPDX-License-Identifier: BSD-3-Clause
// The part of a fence that is between nodes: the collective of the servers whose nodes have participants.
//
// Generation  Each attempt of a set of processes is one generation of its collective on every node that has
//             some of them, also an attempt that fails on a node before all its local participants came
//             (refuse()). So the attempts of all nodes pair up, whatever failed where.
// Deaths      A server is told of processes that died elsewhere, and asks their node about each exchange with
//             them: has your part come? Only that node decides; if its part cannot come any more it ends the
//             generation for all. No node guesses from the order in which messages arrive.
// One node    Without a way to other nodes nothing begins, nothing has been attempted, and no process of
//             another node has died.
// Threads     The server's loop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/fences/exchange/signatures.hpp"
#include "core/server/fences/fence_part.hpp"
#include "core/server/fences/participants.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

/// The request `rival`: what another node calls a collective that is to end there, and what the sender is in.
struct Rival {
  static constexpr auto wire_version = report_version;
  collectives::Signature signature;
  collectives::Generation generation = 0;
  collectives::Signature own_signature{};
  collectives::Generation own_generation = 0;
};
template <class Archive>
void fields(Archive& archive, Rival& m) {
  archive(m.signature, m.generation, m.own_signature, m.own_generation);
}

/// The reply.
struct RivalReply {
  static constexpr auto wire_version = report_version;
  enum class Outcome : std::uint8_t {
    ends,       ///< it ends, or has ended with an error
    gone_over,  ///< the node has gone over from it to another set, perhaps that of the sender
  };
  Outcome outcome = Outcome::ends;
};
template <class Archive>
void fields(Archive& archive, RivalReply& m) {
  archive(m.outcome);
}
inline bool is_valid(const RivalReply& m) {
  return m.outcome <= RivalReply::Outcome::gone_over;
}

class Exchanges {
 public:
  using Key = std::pair<collectives::Signature, collectives::Generation>;
  struct Part {
    NodeNumber node;
    Bytes bytes;
  };
  struct End {
    pmix_status_t status;
    bool is_rival = false;     ///< as withdraw(); the status is that of processes that do not agree
    std::vector<Part> others;  ///< what the other nodes contributed, valid during the call
    std::optional<collectives::Loss> lost;
    bool is_without_data;  ///< it has ended well, with a lost node, and no server has what was contributed
  };
  using Ended = std::function<void(const End&)>;
  struct Open {
    Participants procs;
    std::vector<NodeNumber> members;
    Loop::TimePoint since;
  };

  Exchanges(Loop& loop, Cluster& cluster, Jobs& jobs, Signatures& signatures);

  /// There is a way to other nodes.
  bool can_begin() const noexcept { return cluster_.is_open(); }
  /// All local participants have arrived. contribution: empty unless `collect`. ended: in Cluster::turn(),
  /// once. Errors: not_found (a participant that is not known here).
  Result<Key> begin(const Participants& procs, bool collect, Blob contribution, Ended ended);
  /// A deadline has passed: it ends for all as the servers agree, as `why` if none has ended it well before.
  void give_up(const Key& key, pmix_status_t why);
  /// The generation that has begun fails here, and so at all members. None can have finished it.
  void abort(const Key& key, pmix_status_t why);
  /// The next generation has failed here before it began: it fails at all nodes, as `why` unless another node
  /// has ended it before. ended: as of begin(), or null. Errors: canceled (no collective begins any more).
  Result<Key> refuse(const Participants& procs, pmix_status_t why, Ended ended);

  /// Nodes do not agree on the set of an operation: one of the same name and of another set waits for this
  /// node. Then both are withdrawn, and no node that learns of it takes part in either any more: it begins
  /// with the next generation.
  void end_rivals(const Key& key);
  /// It ends at all nodes as one of two rivals.
  void withdraw(const Key& key);
  /// A collective has ended as a rival, or with a lost node, and this node goes on in the one of another set.
  void go_over(const Key& key);

  /// A process of another node has died: its node is asked about every exchange with it. False: that was
  /// known.
  bool process_died(const pmix_proc_t& proc);
  bool is_dead(const pmix_proc_t& proc) const;
  /// Nodes are asked again about their participants of that exchange that have died.
  void ask_for_dead(const Key& key);
  /// Those of processes of this namespace and of others.
  std::vector<Key> open_with(std::string_view nspace) const;
  /// A fence of a group, or its end.
  bool is_of_group(const Key& key) const;
  /// The namespace has ended here; a later one may have its name.
  void forget(std::string_view nspace);

  /// The name by which all nodes call a generation of this set's collective.
  static FenceName name_of(const Participants& procs, collectives::Generation generation);
  /// Asks the server of `node` to end this generation if its part of it can not come. then: with its part;
  /// null: it knows of none, or no reply comes.
  void ask(const FenceName& name, NodeNumber node, std::function<void(const FencePart*)> then);

  /// The collective is under way. Right after begin(): no other node had refused or aborted it before.
  bool is_open(const Key& key) const { return cluster_.engine().is_open(key.first, key.second); }

  /// Generations of this set that have begun or were refused here.
  std::uint64_t attempts(const Participants& procs) const;
  const std::map<Key, Open>& open() const noexcept { return open_; }
  /// Adds to the part what the engine says of a collective that is under way.
  void describe(const Key& key, FencePart& part) const;

 private:
  static FenceName question_about(const Participants& procs, collectives::Generation generation);
  std::uint64_t attempts_of(const collectives::Signature& signature) const;
  void pass_over(const Key& key);
  void refuse_passed(const Participants& procs);

  static constexpr std::size_t most_rivals = 1024;
  Loop& loop_;
  Cluster& cluster_;
  Jobs& jobs_;
  Signatures& signatures_;
  std::map<Key, Open> open_;
  /// The newest generation that ends as a rival, by signature. This node takes part in a forgotten one when
  /// it comes to it.
  Latest<collectives::Signature, collectives::Generation, most_rivals> passed_;
  /// The node of a rival of a forgotten one ends it, and the two nodes try again.
  Latest<Key, std::monostate, most_rivals> gone_over_;
  std::set<std::pair<std::string, std::uint32_t>> dead_;  ///< processes of other nodes
};

}  // namespace weft::server
