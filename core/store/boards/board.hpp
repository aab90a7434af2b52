// SPDX-License-Identifier: BSD-3-Clause
// Where the local members of a set of processes meet: arrival at a fence, by identity and generation. A whole
// job has a board of its own; other sets have boards of a pool (board_pool.hpp), which are closed and
// reopened for other sets. Here is what lies there, what the members do, and what all read; what the server
// alone does is in server_board.hpp.
//
//   | word, 1 line | waiting, 1 line | verdict, 1 line+ (server) | cells: 1 line a member |
//   word = generation:32 | history:16 | count:16
//
// I1  `word` is the only thing that all members write, by compare-and-swap. `word` names the open generation,
//     how many arrived at it, and in bit i of history whether generation - 1 - i ended without success. A
//     single CAS opens the next generation: the last arriver's, or the server's (failure; success where other
//     nodes take part).
// I2  A member arrives at generation g only while `word` says g, and stores its own cell before it counts
//     itself: a reader that counts `count` arrivals finds their names in the cells.
// I3  The verdict of a failed generation is written by the server before the CAS that sets its history bit.
// I4  `broken_from` names the first generation that cannot complete because a member is gone. A generation
//     that a member is counted in when the server learns of the loss is not left to it: one CAS ends it, the
//     server's or the last arriver's, so all members read the same end.
// I5  `cell.lost` is the server's: the status with which that member went, 0 while it is there. The board is
//     broken while one is not 0; a member that comes back starts at a generation that no member is counted
//     in.
// I6  A board of the pool has an incarnation for each set that it served, 1 or more. A member holds the board
//     (`cell.held`) from its first open fence until it has read the end of its last; the server closes a
//     board that no member holds. Member: store `held`, then load `incarnation_`; server: store "closed",
//     then load each `held`; all four seq_cst, so one of them sees the other: no fence is open on a closed
//     board, and none is begun.
// I7  reopen() changes the incarnation before the word, and goes on with the generation numbers: a member of
//     an earlier incarnation that the server gave up as lost, but whose process runs, finds another
//     incarnation or fails its CAS.
// I8  At a board of groups a member stores a tag in its cell as it arrives, before it counts itself. The last
//     arriver ends the generation if all tags are the same and all members are here; else it leaves the full
//     generation to the server. The arriver compares before its CAS: until the generation ends no member
//     stores another tag, and if it ends meanwhile the CAS fails. For the same reason the server, which
//     counts a full generation first, finds the tags of that generation.
// I9  dissolve() ends one generation without success, and none after it: "broken" is said before that CAS, so
//     a member that does not see it has arrived at a generation that a CAS of the server is still to end.
// Crash: a member that dies between cell and CAS is named as arrived but never counted; the server, which
//     sees it die, ends or breaks the open generation, so no member waits for a count that cannot be reached.
//     A member that dies after the CAS that completed the generation but before the wake: sleepers look again
//     after one slice (transport/shm/wait.hpp).
//     A member that dies holding the board keeps it from being closed until the server has called lose() for
//     it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "transport/shm/wait.hpp"

namespace weft::store {

using Generation = std::uint32_t;
using Incarnation = std::uint32_t;  ///< 31 bits; 0: the board of a whole job, which is never closed

/// The wishes that a member states with its arrival.
struct Wants {
  constexpr Wants(bool cards = false, bool told = false, bool info = false) noexcept
      : collect(cards), directives(told), generated(info) {}
  bool collect;     ///< the cards are to travel
  bool directives;  ///< for the host, on their way to the server (link::FenceDirectives)
  bool generated;   ///< what the servers alone know of their ranks is to travel
  constexpr Wants& operator|=(Wants other) noexcept {
    collect |= other.collect;
    directives |= other.directives;
    generated |= other.generated;
    return *this;
  }
};

class Board {
 public:
  enum class Arrival {
    waiting,    ///< counted; others are missing
    completed,  ///< this arrival ended the generation: wake() is owed
    full,       ///< the last local arrival, but other nodes take part: the server has to be told
    not_open,   ///< `generation` is not open yet: the one before it is still running
    over,       ///< `generation` ended without this member (another's timeout): see outcome()
    broken,     ///< it cannot complete: see broken()
    closed,     ///< the board serves another set: the server gave this member up as lost (I7)
  };
  enum class Outcome { open, success, failed };
  struct Verdict {
    std::int32_t status;
    std::uint32_t member;  ///< the member that caused it, or no_member
  };
  static constexpr std::uint32_t no_member = 0xffffffff;
  static constexpr std::uint32_t max_members = 0xffff;
  static constexpr Incarnation last_incarnation = 0x7fffffff;

  struct alignas(64) Cell {
    std::atomic<Generation> arrived{0};    ///< the last generation this member arrived at; own process only
    std::atomic<std::uint32_t> notify{0};  ///< the server is to be asked for a message when `arrived` ends
    std::atomic<std::int32_t> lost{0};     ///< I5
    std::atomic<std::uint32_t> wants{
        0};  ///< of this member's last arrival, or of one that was turned away: the bits of Wants, below
    std::atomic<std::uint64_t> held{0};  ///< incarnation:32 | 1 while the member has a fence open (I6)
    std::atomic<std::uint64_t> tag{
        0};  ///< what `arrived` is about, at a board of groups (I8); own process only
  };
  static_assert(sizeof(Cell) == 64);

  static constexpr std::uint64_t footprint(std::uint32_t members);
  static Board& at(std::byte* memory) noexcept { return *reinterpret_cast<Board*>(memory); }

  /// Member `me` (its own process only) arrives at `generation`, counted from 1.
  [[gnu::hot]] Arrival arrive(std::uint32_t me, Generation generation, Wants wants = {},
                              Incarnation incarnation = 0) noexcept;
  /// arrive() at a board of groups: the outcome is `full`, too, where the members' tags differ, or are 0.
  /// members: by the caller's own count.
  [[gnu::hot]] Arrival arrive_alike(std::uint32_t me, Generation generation, std::uint64_t tag,
                                    std::uint32_t members, Incarnation incarnation) noexcept;
  /// Board of the pool: before the first open fence of member `me`, after the end of its last. False: the
  /// board is closed, or already held as this member (by the server's stand-in for it).
  bool hold(std::uint32_t me, Incarnation incarnation) noexcept;
  void let_go(std::uint32_t me, Incarnation incarnation) noexcept;
  /// Exact for a member that asks about its newest generation, however many failed without it since; for
  /// older ones (threads that fence side by side) within the last 16.
  [[gnu::hot]] Outcome outcome(Generation generation) const noexcept;
  /// Status and blame of a generation that failed or is broken; {PMIX_ERROR, no_member} if that is not known
  /// any more.
  Verdict verdict(Generation generation) const noexcept;
  [[gnu::hot]] bool broken(Generation generation) const noexcept;

  Generation open_generation() const noexcept {
    return generation_of(word_.load(std::memory_order_acquire)) + 1;  // BD.W2 <- W1
  }
  std::uint32_t arrived_count() const noexcept {
    return count_of(word_.load(std::memory_order_acquire));  // BD.W2 <- W1
  }
  std::uint32_t members() const noexcept { return members_.load(std::memory_order_relaxed); }
  Incarnation incarnation() const noexcept { return incarnation_.load(std::memory_order_relaxed) >> 1; }
  bool remote() const noexcept { return remote_.load(std::memory_order_relaxed) != 0; }
  /// The server's host does what is between the nodes, and is to hear what the members tell of their fences.
  bool by_host() const noexcept { return remote_.load(std::memory_order_relaxed) == by_host_mark; }
  shm::WaitWord& waiting() noexcept { return waiting_; }

  /// Member `me` has asked for a message, and its server has not taken the wish yet.
  bool has_asked_notice(std::uint32_t me) const noexcept {
    return cell(me).notify.load(std::memory_order_acquire) != 0;  // BD.M2 <- M1
  }
  /// A member that cannot block asks for a message (cell.notify) before it looks at the outcome a last time.
  void ask_notice(std::uint32_t me) noexcept {
    cell(me).notify.store(1, std::memory_order_relaxed);
    async_waiters_.fetch_add(1, std::memory_order_seq_cst);  // BD.N1 -> N2
  }
  /// After the end of a generation: does a member want a message?
  bool notice_wanted() const noexcept {
    return async_waiters_.load(std::memory_order_seq_cst) != 0;  // BD.N2 <- N1
  }

 protected:
  // Generations wrap after 2^32 fences: compare by distance.
  static bool before(Generation a, Generation b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
  static Generation generation_of(std::uint64_t w) noexcept { return static_cast<Generation>(w >> 32); }
  static std::uint16_t history_of(std::uint64_t w) noexcept { return static_cast<std::uint16_t>(w >> 16); }
  static std::uint32_t count_of(std::uint64_t w) noexcept { return static_cast<std::uint16_t>(w); }
  static std::uint64_t next_word(std::uint64_t w, bool failed) noexcept;
  static constexpr std::uint64_t free_mark(Incarnation incarnation) noexcept {
    return std::uint64_t{incarnation} << 32;
  }
  static constexpr std::uint64_t held_mark(Incarnation incarnation) noexcept {
    return free_mark(incarnation) | 1;
  }
  Cell& cell(std::uint32_t member) noexcept { return cells()[member]; }
  const Cell& cell(std::uint32_t member) const noexcept { return cells()[member]; }
  /// Board of groups, once all have arrived: the tag of all; 0: they differ. members: by the reader's own
  /// count.
  std::uint64_t common_tag(std::uint32_t members) const noexcept;
  Cell* cells() noexcept { return reinterpret_cast<Cell*>(this + 1); }
  const Cell* cells() const noexcept { return reinterpret_cast<const Cell*>(this + 1); }

  /// The word changes at most once a member in a generation. A change more often than this is damage, and
  /// ends the loop.
  static constexpr std::uint32_t most_changes = 2 * max_members;

  static constexpr std::uint32_t collect_bit = 1, directives_bit = 2, generated_bit = 4;  // of Cell::wants
  static constexpr std::uint32_t by_host_mark = 2;                                        // of remote_
  static constexpr std::uint32_t closed_bit = 1;                                          // of incarnation_

  /// Generation 0 comes round every 2^32 fences, so "none" needs a bit of its own.
  static constexpr std::uint64_t known = std::uint64_t{1} << 32;

  // word_ holds generations ended, so that zeroed memory is a board whose generation 1 is open.
  alignas(64) std::atomic<std::uint64_t> word_;
  alignas(64) shm::WaitWord waiting_;
  alignas(64) std::atomic<std::uint32_t> async_waiters_;
  alignas(64) std::atomic<std::uint32_t> members_;  // this line is read by every arrival, and seldom written
  std::atomic<std::uint32_t>
      remote_;  // 0: all members are here; 1: other nodes take part, by_host_mark: through the host
  std::atomic<std::uint32_t> incarnation_;  // incarnation:31 | closed:1; server only
  std::atomic<Generation> last_good_;       // the success before the newest run of failures; server only
  std::atomic<std::uint32_t> lost_count_;   // cells whose `lost` is not 0; server only
  std::atomic<std::uint64_t> broken_from_;  // known | generation, 0: not broken
  std::atomic<std::uint64_t> broken_why_;   // member:32 | status:32
  struct Past {
    std::atomic<std::uint64_t> generation;  // known | generation
    std::atomic<std::int32_t> status;
    std::atomic<std::uint32_t> member;
  };
  std::array<Past, 16> past_;

 private:
  template <class Store, class Ends>
  Arrival arrive_with(std::uint32_t me, Generation generation, Incarnation incarnation, Store&& store,
                      Ends&& ends) noexcept;
};

constexpr std::uint64_t Board::footprint(std::uint32_t members) {
  return sizeof(Board) + std::uint64_t{members} * sizeof(Cell);
}

}  // namespace weft::store
