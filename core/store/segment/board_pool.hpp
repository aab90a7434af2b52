// SPDX-License-Identifier: BSD-3-Clause
// The boards of sets that are not a whole job: slots of one size, of which each job's memory has all, unless
// addresses are few, and uses those of its own sets.
//
// Board numbers, as messages and notices carry them: 0 is the board of the caller's own job, n > 0 slot
// n - 1. The first slots are for the fences of sets, the last ones for their groups. A slot's memory is taken
// when its first board is used; virtual until then. A set with ranks of several jobs on this node has no
// memory in which all could meet, and fences by messages.
#pragma once

#include <optional>
#include <vector>

#include "core/store/boards/server_board.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::store {

using BoardNumber = std::uint32_t;
inline constexpr BoardNumber own_job_board = 0;

/// Where board `number` lies in the clients' memory of the job; nothing if there is no such slot.
std::optional<Area> pool_slot(const JobHeader& job, BoardNumber number) noexcept;

enum class PoolPart { fences, groups };

/// board: of groups, in its slot.
inline GroupLedger& ledger_of(Board& board) noexcept {
  return GroupLedger::at(reinterpret_cast<std::byte*>(&board) + group_ledger_at);
}

/// The server's side; its loop thread only. Counts and incarnations are private: clients can write the area.
class BoardPool {
 public:
  /// segment: formatted.
  explicit BoardPool(shm::Segment& segment, PoolPart part = PoolPart::fences) noexcept;

  /// A board for a set of so many local members, all of this job. Nothing: too many of them, no memory, or no
  /// slot is free; then the room makes space at the victim().
  std::optional<BoardNumber> take(const JobView& job, std::uint32_t members, bool remote) noexcept;
  /// False: a member has a fence open at the board, which stays. True: the board is closed, and another set
  /// may get the slot.
  bool give_back(BoardNumber number) noexcept;
  /// A board at which no generation has ended since this was last asked, one after the other. Nothing: all
  /// are in use, or there is none.
  std::optional<BoardNumber> victim() noexcept;
  /// The job of the set ends, and its memory with it: the slot is free, whatever members do at the board.
  void drop(BoardNumber number) noexcept;

  /// number: taken.
  ServerBoard& at(BoardNumber number) const noexcept { return *slots_[number - first_].board; }
  std::uint32_t members(BoardNumber number) const noexcept { return slots_[number - first_].members; }
  Incarnation incarnation(BoardNumber number) const noexcept { return slots_[number - first_].incarnation; }
  bool owns(BoardNumber number) const noexcept { return number >= first_ && number - first_ < slots_.size(); }
  bool is_taken(BoardNumber number) const noexcept { return owns(number) && members(number) != 0; }
  std::size_t capacity() const noexcept { return slots_.size(); }

 private:
  struct Slot {
    std::uint32_t members = 0;  ///< 0: free
    Incarnation incarnation = 0;
    ServerBoard* board = nullptr;  ///< of the latest set
    Generation seen = 0;           ///< open when victim() last looked
  };
  const BoardNumber first_;  // of this part
  std::vector<Slot> slots_;
  std::size_t next_victim_ = 0;
};

}  // namespace weft::store
