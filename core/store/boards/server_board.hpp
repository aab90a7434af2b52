// SPDX-License-Identifier: BSD-3-Clause
// A board as its server has it: the same memory, and what the members may not do there. It makes the board,
// ends generations in the members' place, says which members are gone, and gives the board to another set.
// The server's loop thread only. The invariants are Board's.
#pragma once

#include "core/store/boards/board.hpp"

namespace weft::store {

class ServerBoard : public Board {
 public:
  /// memory: zeroed. remote: other nodes take part, so the server and not the last arriver completes.
  static ServerBoard& create(std::byte* memory, std::uint32_t members, bool remote) noexcept;
  /// The server's own board, or zeroed memory.
  static ServerBoard& at(std::byte* memory) noexcept { return *reinterpret_cast<ServerBoard*>(memory); }

  // What the members have said. members: by the server's own count, for clients can write the board's.
  using Board::cell;
  bool arrived(std::uint32_t member, Generation g) const noexcept {
    const auto newest = cell(member).arrived.load(std::memory_order_acquire);  // BD.A2 <- A1
    return static_cast<std::int32_t>(newest - g) >= 0;
  }
  /// When this member has arrived, or was turned away from a broken board: what it wants of that fence.
  Wants wants_of(std::uint32_t member) const noexcept;
  /// Once all have arrived: what one of them at least wants.
  Wants wanted(std::uint32_t members) const noexcept;
  /// Once all have arrived: directives of this member belong to the generation.
  bool directives_follow(std::uint32_t member) const noexcept { return wants_of(member).directives; }
  /// Board of groups, once all have arrived: the tag of all; 0: they differ.
  using Board::common_tag;
  /// Takes the wish of `member`; it is told at most once for each ask_notice().
  bool take_notice(std::uint32_t member) noexcept;

  /// Ends the open generation. False: it was not `generation`, or not full where success was asked for.
  bool complete(Generation generation) noexcept;
  bool abort(Generation generation, Verdict verdict) noexcept;
  /// `member` is gone and will not arrive again. status: not 0. True: the open generation has ended with it.
  bool lose(std::uint32_t member, std::int32_t status) noexcept;
  /// `member` is back (a new process under the same identity, or a second Init). True: as lose().
  bool rejoin(std::uint32_t member) noexcept;
  /// The host does what is between the nodes, and is to hear what the members tell of their fences.
  void hand_to_host() noexcept;

  /// Board of groups: the open generation ends with this status, and each that a member comes for later (I9).
  /// Returns that generation; all before it have succeeded.
  Generation dissolve(std::int32_t why) noexcept;
  /// A dissolved board: the process of `member` has ended, so what it holds keeps the board from nothing.
  void forget_hold(std::uint32_t member, std::int32_t why) noexcept {
    cell(member).lost.store(why, std::memory_order_relaxed);
  }

  /// Board of the pool: from here on no member begins a fence. False: a member holds it, it stays open.
  bool close(std::uint32_t members) noexcept;
  /// A closed board, or zeroed memory, serves a set of `members` from here on. incarnation: another than
  /// before, not 0.
  void reopen(std::uint32_t members, bool remote, Incarnation incarnation) noexcept;
};
static_assert(sizeof(ServerBoard) == sizeof(Board), "the cells lie behind the board");

}  // namespace weft::store
