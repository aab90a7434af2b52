// SPDX-License-Identifier: BSD-3-Clause
// One collective that has begun here: where in its schedule it is, and what has come of it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/choice.hpp"
#include "collectives/past.hpp"
#include "weft/result.hpp"

namespace weft::collectives {

/// The most that one member contributes: below this the sum over all members cannot overflow.
inline constexpr std::uint64_t most_contribution = std::uint64_t{1} << 40;

/// Of one that a lost node has ended.
struct Loss {
  NodeNumber node;
  AfterLoss agreed = AfterLoss::ends;
  NodeNumber first =
      MessageHeader::no_node;  ///< the lowest member that had it open when the survivors agreed
};
struct Outcome {
  std::optional<Why> why;  ///< it has failed; nothing: it has ended well
  std::optional<Loss> lost;
  /// Of an exchange that went well. The bytes are valid during the call.
  const Contributions& contributions;
  bool is_without_data = false;  ///< it went well, and what the others contributed has not come
};
using Done = std::function<void(const Outcome&)>;

struct Collective {
  using Key = std::pair<Signature, Generation>;

  Signature signature;
  Generation generation = 0;
  Kind kind = Kind::barrier;
  std::vector<NodeNumber> members;
  Index me{};
  Done done;
  AfterLoss after_loss = AfterLoss::ends;  ///< as this member has asked

  Choice choice;
  std::uint8_t phase = 0;
  Schedule schedule;
  std::vector<std::vector<char>> arrived;  ///< by step and receive
  std::size_t step = 0;
  bool step_is_sent = false;
  std::vector<std::vector<std::byte>> contributions;  ///< by member
  std::vector<std::uint64_t> lengths;  ///< of the postponed ones; 0: not postponed, or not known yet

  bool is_refused = false;    ///< this member takes no part: it fails, as the lowest member says
  bool is_suspended = false;  ///< a member is lost: settle() ends it, and nothing else
  bool is_without_data = false;
  bool is_over = false;    ///< then it is in ended_, until progress() calls done()
  std::optional<Why> why;  ///< it has failed
  std::optional<Loss> lost;

  std::uint32_t n() const { return static_cast<std::uint32_t>(members.size()); }
  Key key() const { return {signature, generation}; }
  /// How a collective has ended. REQUIRES: is_over.
  End how() const {
    const auto loss = lost.value_or(Loss{MessageHeader::no_node});
    return {signature, generation, why.value_or(Why{}), !why, loss.node, loss.agreed, loss.first};
  }
  MessageHeader header() const {
    return {.signature = signature,
            .generation = generation,
            .blocks = {},
            .members = n(),
            .kind = kind,
            .phase = phase};
  }
  std::optional<Index> index_of(NodeNumber node) const {
    const auto at = std::lower_bound(members.begin(), members.end(), node);
    if (at == members.end() || *at != node) return std::nullopt;
    return Index(static_cast<std::uint32_t>(at - members.begin()));
  }
  std::uint32_t block(const Blocks& blocks, std::uint32_t i) const {
    return static_cast<std::uint32_t>((std::uint64_t{number(blocks.first)} + i) % n());
  }
  bool goes_in_this_phase(std::uint32_t block) const {
    return phase == 1 ? lengths[block] != 0 : lengths[block] == 0;
  }

  std::vector<std::byte> pack(const Blocks& blocks) const;
  bool unpack(const Blocks& blocks, Bytes payload);
  bool mark(Index from, const Blocks& blocks);
  bool step_has_arrived() const;
};

}  // namespace weft::collectives
