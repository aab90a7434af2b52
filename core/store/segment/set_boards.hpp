// SPDX-License-Identifier: BSD-3-Clause
// The boards of sets of processes, as a room of the server keeps them: those at which sets fence, or those at
// which they make, end and fence their groups. Here the boards get their places in the segment, and lose
// them; what comes to a board, and how it ends, is the room's. The server's loop thread only.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/store/segment/board_pool.hpp"

namespace weft::store {

/// The board of one set of processes.
class SetBoard {
 public:
  /// cells: how many members are on this node. is_remote: others are elsewhere.
  SetBoard(ServerBoard& board, BoardNumber number, Incarnation incarnation, std::size_t cells,
           bool is_remote) noexcept
      : board_(board),
        number_(number),
        incarnation_(incarnation),
        cells_(static_cast<std::uint32_t>(cells)),
        is_remote_(is_remote) {}

  ServerBoard& board() const noexcept { return board_; }
  BoardNumber number() const noexcept { return number_; }
  /// 0: of a board that is no slot of the pool.
  Incarnation incarnation() const noexcept { return incarnation_; }
  std::uint32_t cells() const noexcept { return cells_; }
  bool is_remote() const noexcept { return is_remote_; }
  bool is_pooled() const noexcept { return number_ != own_job_board; }
  bool is_full() const noexcept { return board_.arrived_count() == cells_; }

 private:
  ServerBoard& board_;
  const BoardNumber number_;
  const Incarnation incarnation_;
  const std::uint32_t cells_;
  const bool is_remote_;
};

/// Of one room. Board: a SetBoard, and what the room knows of that set.
template <class Board>
class SetBoards {
 public:
  using Ref = std::shared_ptr<Board>;

  SetBoards(shm::Segment& segment, PoolPart part) : pool_(segment, part) {}

  /// The numbers of this room's slots, taken or not.
  bool owns(BoardNumber number) const noexcept { return pool_.owns(number); }
  std::size_t capacity() const noexcept { return pool_.capacity(); }
  // By age.
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  /// For a loop that may end boards, or open some.
  std::vector<Ref> copy() const { return all_; }
  template <class Is>
  Ref find_if(Is&& is) const {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Ref& each) { return is(*each); });
    return found == all_.end() ? nullptr : *found;
  }
  Ref find(BoardNumber number) const {
    return find_if([&](const Board& each) { return each.number() == number; });
  }

  /// A slot for so many members of this job. Where none is free, make_room(board) is called for boards that
  /// have not been used for long, at most `victims`, until it has given one back. Nothing: none is to be had.
  template <class MakeRoom>
  std::optional<SetBoard> take(const JobView& job, std::size_t cells, bool is_remote, std::size_t victims,
                               MakeRoom&& make_room) {
    if (cells == 0 || cells > most_pool_members) return std::nullopt;
    const auto members = static_cast<std::uint32_t>(cells);
    auto slot = pool_.take(job, members, is_remote);
    for (; !slot && victims != 0; --victims) {
      const auto victim = pool_.victim();
      const auto owner = victim ? find(*victim) : nullptr;
      if (owner && make_room(owner)) slot = pool_.take(job, members, is_remote);
    }
    if (!slot) return std::nullopt;
    return SetBoard(pool_.at(*slot), *slot, pool_.incarnation(*slot), cells, is_remote);
  }
  Ref add(Ref board) { return all_.emplace_back(std::move(board)); }
  /// False: a member holds its slot, which stays.
  bool give_back(const Ref& board) {
    if (board->is_pooled() && !pool_.give_back(board->number())) return false;
    std::erase(all_, Ref(board));
    return true;
  }
  /// The memory goes, whatever members do there.
  void drop(const Ref& board) {
    if (board->is_pooled()) pool_.drop(board->number());
    std::erase(all_, Ref(board));
  }

 private:
  BoardPool pool_;
  std::vector<Ref> all_;
};

}  // namespace weft::store
