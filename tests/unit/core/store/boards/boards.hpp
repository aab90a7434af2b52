// SPDX-License-Identifier: BSD-3-Clause
// Boards for tests, and a member that enters generation after generation as a client does.
#pragma once

#include <optional>

#include "core/store/boards/board_member.hpp"
#include "core/store/boards/server_board.hpp"
#include "pmix_common.h"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::store {

inline constexpr auto forever = std::nullopt;
inline constexpr std::int32_t died = -7;  ///< a status of a member that is lost

struct ExactBoard {
  explicit ExactBoard(std::uint32_t members, bool remote = false, Generation ended = 0)
      : block(Board::footprint(members)), board(ServerBoard::create(block.get(), members, remote)) {
    // The board looks as if that many generations were over: the word is the first thing on it.
    *reinterpret_cast<std::uint64_t*>(block.get()) = std::uint64_t{ended} << 32;
  }
  /// Members `from` .. `to`-1 arrive; what the last of them was told.
  Board::Arrival arrive(std::uint32_t from, std::uint32_t to, Generation generation) {
    auto last = Board::Arrival::waiting;
    for (std::uint32_t m = from; m < to; ++m) last = board.arrive(m, generation);
    return last;
  }
  testing::ExactBlock block;
  ServerBoard& board;
};

/// A board of the pool, in its first incarnation.
struct PoolBoard {
  explicit PoolBoard(std::uint32_t members, bool remote = false, Generation ended = 0)
      : block(Board::footprint(members)), board(ServerBoard::at(block.get())) {
    // reopen() spends one.
    *reinterpret_cast<std::uint64_t*>(block.get()) = std::uint64_t{ended - 1} << 32;
    board.reopen(members, remote, 1);
  }
  testing::ExactBlock block;
  ServerBoard& board;
};

/// The status of a failed generation whose verdict is not known any more.
inline constexpr std::int32_t forgotten = PMIX_ERROR;

/// The end of a generation as one member reads it: 0 for success, else the verdict's status.
inline std::optional<std::int32_t> end_of(const Board& board, Generation generation) {
  switch (board.outcome(generation)) {
    case Board::Outcome::success:
      return 0;
    case Board::Outcome::failed:
      return board.verdict(generation).status;
    case Board::Outcome::open:
      break;
  }
  if (board.broken(generation)) return board.verdict(generation).status;
  return std::nullopt;
}

/// Arrives and waits for the end.
inline std::int32_t enter(Board& board, std::uint32_t me, Generation generation,
                          const shm::WaitPolicy& policy) {
  const auto arrive = [&] {
    const auto arrival = board.arrive(me, generation);
    if (arrival == Board::Arrival::completed) board.waiting().wake_all();
    return arrival != Board::Arrival::not_open;
  };
  bool arrived = arrive();
  shm::wait_until(
      board.waiting(), policy, forever,
      [&] {
        if (!arrived) arrived = arrive();
        return end_of(board, generation).has_value();
      },
      [] { return true; });
  return *end_of(board, generation);
}

/// A member's whole fence; nothing: the board is closed.
inline std::optional<pmix_status_t> fence(BoardMember& member, const shm::WaitPolicy& policy) {
  auto entry = member.enter(false);
  if (!entry) return std::nullopt;
  std::optional<pmix_status_t> status;
  shm::wait_until(
      member.board().waiting(), policy, forever,
      [&] { return (status = member.step(*entry).status).has_value(); }, [] { return true; });
  member.end(*entry);
  return status;
}

}  // namespace weft::store
