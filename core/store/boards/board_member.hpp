// SPDX-License-Identifier: BSD-3-Clause
// A member at a board: its tickets, its arrivals, what it reads of their ends. No socket, no waiting: a
// client puts its way of waiting around it, the server steps it in place of a client that has no segment or
// fenced by message.
//
// Fences of one member are ordered by the ticket that each takes at its start; a ticket's turn comes when the
// board opens its generation. Two threads in the same fence, or a blocking fence behind an open non-blocking
// one, are therefore two consecutive fences and never mixed.
#pragma once

#include <mutex>
#include <optional>

#include "core/store/boards/board.hpp"
#include "pmix_common.h"

namespace weft::store {

class BoardMember {
 public:
  /// An open fence: from enter() to end().
  struct Entry {
    Generation generation;
    Wants wants;
    bool arrived = false;
    std::uint64_t tag = 0;  ///< at a board of groups
  };
  /// The duty that an arrival leaves to the caller, once.
  enum class Owed {
    nothing,
    /// The generation ended and a member wants a message: the server sends it (NoticeKind::board_ended).
    notices,
    /// The last local arrival of a set that spans nodes: the server goes on (NoticeKind::board_full).
    exchange,
    /// The board of a fence that the host carries is broken: the server tells the host (link::TurnedAway).
    absence,
  };
  struct Step {
    std::optional<pmix_status_t> status;  ///< of the ended fence; nothing while it is open
    Owed owed = Owed::nothing;
  };

  /// incarnation: 0 for the board of a whole job. next: the generation of the first fence. alike: at a board
  /// of groups how many members there are, whose tags have to agree; 0: a board of fences.
  BoardMember(Board& board, std::uint32_t me, Incarnation incarnation, Generation next,
              std::uint32_t alike = 0) noexcept
      : board_(board), me_(me), alike_(alike), incarnation_(incarnation), next_(next) {}

  /// Takes a ticket; any thread. Nothing: the board is closed, or this member's place at it is taken
  /// (Board::hold): the fence goes by message. Never nothing while an entry of this member is open.
  [[gnu::hot]] std::optional<Entry> enter(Wants wants, std::uint64_t tag = 0) noexcept;
  /// Arrives if it is the entry's turn, with the wake that an arrival owes; then looks. An entry
  /// belongs to one thread.
  [[gnu::hot]] Step step(Entry& entry) noexcept;
  /// The status that `generation` ended with; nothing while it is open.
  [[gnu::hot]] std::optional<pmix_status_t> ended(Generation generation) const noexcept;
  /// After the status was read: gives the ticket back. Not for a fence that ended without its server.
  [[gnu::hot]] void end(const Entry& entry) noexcept;
  /// For a member that cannot block: asks for a message, once for all open entries. A step() after it must
  /// find the fence open before the member relies on the message.
  void ask_notice() noexcept;

  Board& board() const noexcept { return board_; }
  std::uint32_t me() const noexcept { return me_; }
  Incarnation incarnation() const noexcept { return incarnation_; }

 private:
  [[gnu::hot]] Owed arrive(Entry& entry) noexcept;

  Board& board_;
  const std::uint32_t me_;
  const std::uint32_t alike_;
  const Incarnation incarnation_;
  std::mutex mutex_;  // guards the three below
  Generation next_;
  unsigned open_ = 0;   ///< entries that have not ended
  bool stale_ = false;  ///< next_ ran ahead of a board that was broken meanwhile
};

// Inline, because every fence of every rank is these five functions; hot, so that what a fence runs lies in
// one page or two: with more ranks than cores each rank comes to its fence with an empty TLB.

inline std::optional<BoardMember::Entry> BoardMember::enter(Wants wants, std::uint64_t tag) noexcept {
  const std::lock_guard lock(mutex_);
  if (open_ == 0) {
    if (incarnation_ != 0 && !board_.hold(me_, incarnation_)) return std::nullopt;
    // A broken board ends fences without ending a generation. Once it is whole again (a process came back), a
    // member with no open fence starts where all others do.
    if (stale_) next_ = board_.open_generation();
    stale_ = false;
  }
  ++open_;
  return Entry{.generation = next_++, .wants = wants, .tag = tag};
}

inline BoardMember::Owed BoardMember::arrive(Entry& entry) noexcept {
  const auto arrival = alike_ == 0
                           ? board_.arrive(me_, entry.generation, entry.wants, incarnation_)
                           : board_.arrive_alike(me_, entry.generation, entry.tag, alike_, incarnation_);
  entry.arrived = arrival != Board::Arrival::not_open;
  if (arrival == Board::Arrival::full) return Owed::exchange;
  if (arrival == Board::Arrival::broken && board_.by_host()) return Owed::absence;
  if (arrival != Board::Arrival::completed) return Owed::nothing;
  board_.waiting().wake_all();
  return board_.notice_wanted() ? Owed::notices : Owed::nothing;
}

inline BoardMember::Step BoardMember::step(Entry& entry) noexcept {
  Step out;
  if (!entry.arrived) out.owed = arrive(entry);
  out.status = ended(entry.generation);
  return out;
}

inline std::optional<pmix_status_t> BoardMember::ended(Generation generation) const noexcept {
  // The server gave this member up and the board to another set: what stands there is not about this fence.
  if (board_.incarnation() != incarnation_) return PMIX_ERR_LOST_CONNECTION;
  switch (board_.outcome(generation)) {
    case Board::Outcome::success:
      return PMIX_SUCCESS;
    case Board::Outcome::failed:
      return board_.verdict(generation).status;
    case Board::Outcome::open:
      break;
  }
  if (board_.broken(generation)) return board_.verdict(generation).status;
  return std::nullopt;
}

inline void BoardMember::end(const Entry& entry) noexcept {
  const bool spent = board_.outcome(entry.generation) != Board::Outcome::open;
  const std::lock_guard lock(mutex_);
  stale_ |= !spent;
  if (--open_ == 0 && incarnation_ != 0) board_.let_go(me_, incarnation_);
}

}  // namespace weft::store
