// SPDX-License-Identifier: BSD-3-Clause
// The header of each message between engines. The payload of an exchange is a table of lengths, then
// contributions.
#pragma once

#include <compare>
#include <cstdint>

#include "base/wire.hpp"
#include "collectives/schedules/schedule.hpp"
#include "transport/mesh/work.hpp"

namespace weft::collectives {

using mesh::NodeNumber;

struct Signature {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const Signature&) const = default;
};
template <class Archive>
constexpr void fields(Archive& archive, Signature& m) {
  archive(m.high, m.low);
}
using Generation = std::uint64_t;

enum class Kind : std::uint8_t { barrier, exchange };

/// What a member asks for where another one is lost. The survivors agree on the highest that one of them has
/// asked for, and only the caller knows what follows: the engine ends the collective in each case.
enum class AfterLoss : std::uint8_t {
  ends,     ///< nothing follows: a member that begins after the loss ends it without asking the others
  fails,    ///< it fails
  asks,     ///< the caller asks others whether it goes on
  goes_on,  ///< it begins again among those that are left
};

/// Why a collective has failed.
enum class Why : std::uint8_t {
  lost,             ///< a member
  canceled,         ///< this engine ends
  invalid,          ///< members do not agree on what it is
  corrupt,          ///< a member has sent what is none of it
  no_space,         ///< for what has come early
  no_memory,        ///< the same
  unreachable,      ///< something could not be sent
  of_callers = 16,  ///< from here on: reasons of callers, which the engine carries and does not read
};

template <class Archive>
constexpr void fields(Archive& archive, Blocks& m) {
  archive(m.first, m.count);
}

/// In front of each message; its changes raise mesh::protocol_version.
struct MessageHeader {
  enum class Type : std::uint8_t {
    data,
    abort,    ///< it has ended
    refusal,  ///< to the lowest member: the sender takes no part
    refused,  ///< from it, to that member: how it ends
  };
  static constexpr NodeNumber no_node = ~NodeNumber{0};

  Signature signature;
  Generation generation = 0;
  Blocks blocks;  ///< data: whose contributions follow
  std::uint32_t members = 0;
  NodeNumber lost = no_node;  ///< abort: because of this node
  Type type = Type::data;
  Kind kind = Kind::barrier;
  std::uint8_t phase = 0;
  Why why{};  ///< of the other types
};
template <class Archive>
constexpr void fields(Archive& archive, MessageHeader& m) {
  archive(m.signature, m.generation, m.blocks, m.members, m.lost, m.type, m.kind, m.phase, m.why);
}
static_assert(base::fixed_bytes<MessageHeader> <= mesh::Sending::max_header);
inline bool is_valid(const MessageHeader& m) {
  return m.type <= MessageHeader::Type::refused && m.kind <= Kind::exchange && m.phase <= 1;
}

}  // namespace weft::collectives
