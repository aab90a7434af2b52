// SPDX-License-Identifier: BSD-3-Clause
// How the latest collectives have ended at this node: another node may have one of them open with a lost
// member, and ask.
//
// P0  Also those of collectives that have not begun here, where a view has said so: they end so when they do.
// P1  The ends of a signature since the last that was well are kept: a member that begins a later generation
//     has ended all before it.
// P2  At most most_ends, and of the latest most_with_data of these the contributions, as many as take
//     most_bytes. The price of forgetting: a collective that has ended well here, and is open elsewhere, may
//     fail there, or end well there without what was contributed.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "collectives/message.hpp"
#include "weft/result.hpp"

namespace weft::collectives {

/// The contribution of each member, in the order of the members.
using Contributions = std::vector<std::vector<std::byte>>;

/// How a collective has ended at a node.
struct End {
  Signature signature;
  Generation generation = 0;
  Why why{};  ///< of one that has failed
  std::uint8_t is_well = 0;
  NodeNumber lost = MessageHeader::no_node;   ///< the node whose loss ended it
  AfterLoss after_loss = AfterLoss::ends;     ///< of these what the survivors have agreed on
  NodeNumber first = MessageHeader::no_node;  ///< of these the lowest member that had it open when they did
};
template <class Archive>
void fields(Archive& archive, End& m) {
  archive(m.signature, m.generation, m.why, m.is_well, m.lost, m.after_loss, m.first);
}
inline bool is_valid(const End& m) {
  return m.is_well <= 1 && m.after_loss <= AfterLoss::goes_on;
}

/// One that a member has given up though its part is with the others.
struct GivenUp {
  Signature signature;
  Generation generation = 0;
  Why why{};
};
template <class Archive>
void fields(Archive& archive, GivenUp& m) {
  archive(m.signature, m.generation, m.why);
}

/// What survivors agree on: collectives with a lost node, and those that a member has given up.
struct Unsettled {
  std::vector<NodeNumber> lost{};  ///< ascending
  std::vector<GivenUp> given_up{};
};

class Past {
 public:
  static constexpr std::size_t most_ends = 1024;
  static constexpr std::size_t most_with_data = 256;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

  /// contributions: none of a barrier, and of one that has failed or has come without them. Cost: O(log
  /// most_ends).
  void add(const End& end, std::vector<NodeNumber> members, Contributions contributions);
  /// The ends of these.
  std::vector<End> of(const Unsettled& which) const;
  /// Of one that has failed. Nothing: it has not, or that is not kept.
  std::optional<Why> why_of(const std::pair<Signature, Generation>& key) const;
  /// Null: not kept.
  const Contributions* contributions_of(const Signature& signature, Generation generation) const;

 private:
  using Key = std::pair<Signature, Generation>;
  struct Entry {
    std::vector<NodeNumber> members;  ///< ascending
    Contributions contributions;
    std::uint64_t age;
    End end;
  };
  using Entries = std::map<Key, Entry>;
  Entries::iterator forget(Entries::iterator entry);
  void drop_data(Entry& entry);

  Entries entries_;
  std::map<std::uint64_t, Key> by_age_, with_data_;  ///< the second: of those whose contributions are kept
  std::uint64_t next_age_ = 0, bytes_ = 0;
};

}  // namespace weft::collectives
