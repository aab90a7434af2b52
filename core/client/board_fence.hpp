// SPDX-License-Identifier: BSD-3-Clause
// The fence of the whole job, from the side of one rank: the board in the segment, no daemon in the path.
//
// Calls of one process are ordered by the ticket each takes at its start; a ticket's turn comes when the board
// opens its generation. So two threads in the same fence, or a blocking fence behind an open non-blocking one,
// are two consecutive fences and never mixed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <optional>

#include "core/client/connection.hpp"
#include "core/store/layout.hpp"
#include "pmix_common.h"

namespace weft::client {

/// Where this process writes in the segment besides its card.
struct Control {
  store::Board* board = nullptr;
  shm::NoticeRing* ring = nullptr;
  store::FetchCell* fetch = nullptr;
  std::atomic<std::uint64_t>* dirty = nullptr;  ///< the word that holds our bit
  std::uint64_t dirty_bit = 0;
  shm::Doorbell* doorbell = nullptr;
  Connection* connection = nullptr;

  /// Any thread. A full ring drops the kind but not the bit: the server then looks at everything of ours.
  void notify(store::NoticeKind kind, std::uint32_t arg) noexcept;

  std::mutex fetch_mutex;  ///< one question at a time (FetchCell I1)
  std::mutex ring_mutex;   ///< the ring has one writer (NoticeRing I1); threads of ours take turns
};

class BoardFence {
 public:
  using Deadline = std::optional<Connection::Clock::time_point>;

  BoardFence(Control& control, std::uint32_t me, shm::WaitPolicy policy, Connection& connection);

  /// collect: cards are to travel to other nodes; on this one they are read where they lie.
  /// Returns after all members entered, or why not: the status of the verdict, PMIX_ERR_LOST_CONNECTION when the
  /// server is gone. Cost: one compare-and-swap, one wake by the last arriver.
  pmix_status_t enter(Deadline deadline, bool collect);

  /// done(status) runs on the connection's thread.
  void enter_later(Deadline deadline, bool collect, std::function<void(pmix_status_t)> done);

  /// On the connection's thread: the server says that a generation ended, or that it is gone.
  void board_moved();

 private:
  struct Async {
    store::Generation generation;
    bool collect;
    std::function<void(pmix_status_t)> done;
    bool arrived = false;
  };
  /// What became of `generation`, nothing while it is open.
  std::optional<pmix_status_t> ended(store::Generation generation) const noexcept;
  /// Arrives if it is the generation's turn, with all that an arrival owes to others. False: not yet.
  bool arrive(store::Generation generation, bool collect) noexcept;
  std::optional<pmix_status_t> step(Async& fence);
  void ask_notice() noexcept;
  void withdraw_until_ended(store::Generation generation, Connection::Clock::time_point when);
  store::Generation take_ticket();
  /// The fence of a ticket ended; broken: without its generation.
  void give_ticket_back(bool broken);

  Control& control_;
  std::uint32_t me_;
  shm::WaitPolicy policy_;
  Connection& connection_;
  std::mutex ticket_mutex_;  // guards the three below
  store::Generation next_;
  unsigned tickets_ = 0;   ///< of fences that have not ended
  bool stale_ = false;     ///< next_ ran ahead of a board that was broken meanwhile
  std::list<Async> open_;  // the connection's thread only
};

}  // namespace weft::client
