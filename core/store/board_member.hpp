// SPDX-License-Identifier: BSD-3-Clause
// A member at a board: its tickets, its arrivals, what it reads of their ends. No socket, no waiting: a client puts
// its way of waiting around it, the server steps it in place of a client that has no segment or fenced by message.
//
// Fences of one member are ordered by the ticket that each takes at its start; a ticket's turn comes when the board opens
// its generation. So two threads in the same fence, or a blocking fence behind an open non-blocking one, are two
// consecutive fences and never mixed.
#pragma once

#include <mutex>
#include <optional>

#include "core/store/board.hpp"
#include "pmix_common.h"

namespace weft::store {

class BoardMember {
 public:
  /// One open fence: from enter() to end().
  struct Entry {
    Generation generation;
    bool collect = false;
    bool arrived = false;
  };
  /// What the arrival obliges the caller to, once.
  enum class Owed {
    nothing,
    notices,  ///< the generation ended and a member wants a message: the server sends it (NoticeKind::board_ended)
    exchange,  ///< the last local arrival of a set that spans nodes: the server goes on (NoticeKind::board_full)
  };
  struct Step {
    std::optional<pmix_status_t> status;  ///< of the ended fence; nothing while it is open
    Owed owed = Owed::nothing;
  };

  /// incarnation: 0 for the board of a whole job. next: the generation of the first fence.
  BoardMember(Board& board, std::uint32_t me, Incarnation incarnation, Generation next) noexcept
      : board_(board), me_(me), incarnation_(incarnation), next_(next) {}

  /// Takes a ticket; any thread. Nothing: the board is closed, or this member's place at it is taken (Board::hold):
  /// the fence goes by message. Never nothing while an entry of this member is open.
  std::optional<Entry> enter(bool collect) noexcept;
  /// Arrives if it is the entry's turn, with the wake that an arrival owes; then looks. One thread an entry.
  Step step(Entry& entry) noexcept;
  /// What became of `generation`; nothing while it is open.
  std::optional<pmix_status_t> ended(Generation generation) const noexcept;
  /// After the status was read: gives the ticket back. Not for a fence that ended without its server.
  void end(const Entry& entry) noexcept;
  /// For a member that cannot block: asks for a message, once for all open entries. A step() after it must find the
  /// fence open before the member relies on the message.
  void ask_notice() noexcept;

  Board& board() const noexcept { return board_; }
  std::uint32_t me() const noexcept { return me_; }
  Incarnation incarnation() const noexcept { return incarnation_; }

 private:
  Owed arrive(Entry& entry) noexcept;

  Board& board_;
  const std::uint32_t me_;
  const Incarnation incarnation_;
  std::mutex mutex_;  // guards the three below
  Generation next_;
  unsigned open_ = 0;   ///< entries that have not ended
  bool stale_ = false;  ///< next_ ran ahead of a board that was broken meanwhile
};

}  // namespace weft::store
