// SPDX-License-Identifier: BSD-3-Clause
// What the mesh keeps of one incarnation of one node. A node that is reached and idle takes no more than
// this, its contact, its keys and what the transport keeps of a peer.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "transport/mesh/assemblies.hpp"
#include "transport/mesh/replay_window.hpp"
#include "transport/mesh/work.hpp"

namespace weft::mesh {

using TimePoint = std::chrono::steady_clock::time_point;

enum class NodeState : std::uint8_t {
  expected,  ///< its messages are accepted; nothing of it is known
  heard,     ///< it has sent a message; its contact is not known
  known,     ///< its contact is known
  reached,   ///< the mesh has connected to it, and watches it
  lost,      ///< this incarnation has ended
};

struct Node {
  explicit Node(NodeNumber number_) : number(number_) {}

  NodeNumber number;
  NodeState state = NodeState::expected;
  bool is_stalled = false;    ///< in stalled_: the endpoint had no room
  bool is_reported = false;   ///< a refused message in its name has been reported
  bool is_postponed = false;  ///< known, but nothing was left here to reach it with
  bool is_gone = false;       ///< known, but nothing listens there
  std::uint32_t open_work = 0, in_flight = 0;
  std::uint64_t incarnation = 0;   ///< 0: none yet; expected: it has to be later than this
  std::vector<std::byte> contact;  ///< packed, because it is rarely read
  std::unique_ptr<Peer> peer;
  std::vector<std::unique_ptr<RemoteKey>> keys;  ///< those of its contact are imported when first used
  ReplayWindow window;
  std::unique_ptr<Assemblies> assemblies;
  std::uint64_t last_sequence = 0, last_number = 0;
  TimePoint heard{};                       ///< while it is postponed: or when that began
  Work *first = nullptr, *last = nullptr;  ///< waiting to be begun
  Operation *first_open = nullptr,
            *last_open = nullptr;  ///< messages, in the order of their sequence numbers
  Operation* sealed = nullptr;     ///< begun, and refused by the endpoint: it goes next
  Error end{Errc::peer_lost};      ///< lost: what its work ends as
};
static_assert(sizeof(Node) <= 320);

}  // namespace weft::mesh
