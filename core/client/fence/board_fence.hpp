// SPDX-License-Identifier: BSD-3-Clause
// The fences of one set of processes from the side of one member: a board in the segment, no daemon in the
// path. store::BoardMember arrives and looks; here is what a client adds: waiting, deadlines, callbacks,
// notices.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "core/client/connection/control.hpp"
#include "core/store/boards/board_member.hpp"
#include "core/store/segment/board_pool.hpp"
#include "core/store/segment/job_view.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::client {

/// The boards in the memory of this process's job; empty without the segment.
struct JobBoards {
  shm::SegmentWindows* segment = nullptr;
  store::JobView job{};
  Control* control = nullptr;
};

class BoardFence : public std::enable_shared_from_this<BoardFence> {
 public:
  using Deadline = std::optional<Connection::Clock::time_point>;
  using Ticket = store::BoardMember::Entry;
  struct Place {
    store::Board* board = nullptr;
    store::BoardNumber number = store::own_job_board;
    std::uint32_t me;
    store::Incarnation incarnation = 0;
    store::Generation next;   ///< generation of the first fence
    std::uint32_t alike = 0;  ///< as in store::BoardMember
  };

  BoardFence(const Place& place, Control& control, const shm::WaitPolicy& policy, Connection& connection)
      : member_(*place.board, place.me, place.incarnation, place.next, place.alike),
        number_(place.number),
        first_(place.next),
        control_(control),
        policy_(policy),
        connection_(connection) {}

  /// A place that the server has offered, in a slot of the pool, which becomes writable when this process
  /// becomes a member, not before. Null: there is no such slot, or no memory.
  static std::shared_ptr<BoardFence> open(const JobBoards& boards, Place offered, Connection& connection);

  store::Board& board() const noexcept { return member_.board(); }
  store::BoardNumber number() const noexcept { return number_; }
  /// The host of the server carries its fences.
  bool is_by_host() const noexcept { return member_.board().by_host(); }
  /// Every fence begins here, in the caller's order. wants: what is to travel to other nodes; on this one it
  /// is read where it lies. for_host: directives, which go to the server where its host carries the fence;
  /// null: none.
  /// Nothing: the board is closed, and stays so for this object (not for the board of a job).
  std::optional<Ticket> take_ticket(store::Wants wants, data::Infos* for_host = nullptr) {
    const bool is_told = for_host != nullptr && is_by_host();
    return is_told ? take_ticket_and_tell(wants, std::move(*for_host)) : member_.enter(wants);
  }
  /// A ticket for an operation of a group at this board.
  std::optional<Ticket> take_group_ticket(std::uint64_t tag) { return member_.enter({}, tag); }
  /// Returns after all members entered, or why not: the status of the verdict, PMIX_ERR_LOST_CONNECTION when
  /// the server is gone. Cost: one compare-and-swap, one wake by the last arriver.
  [[gnu::hot]] pmix_status_t wait(Ticket ticket, Deadline deadline);
  /// done(status) runs on the connection's thread.
  void wait_later(Ticket ticket, Deadline deadline, std::function<void(pmix_status_t)> done);

  /// On the connection's thread: the server says that a generation ended, or that it is gone.
  void board_moved();

 private:
  struct Async {
    Ticket ticket;
    std::function<void(pmix_status_t)> done;
  };
  std::optional<Ticket> take_ticket_and_tell(store::Wants wants, data::Infos for_host);
  [[gnu::hot]] std::optional<pmix_status_t> step(Ticket& ticket) noexcept;
  std::optional<pmix_status_t> step(Async& fence);
  shm::WaitPolicy policy_of(store::Generation generation) const noexcept;
  void ask_to_withdraw(store::Generation generation);
  void withdraw_until_ended(store::Generation generation, Connection::Clock::time_point when);

  store::BoardMember member_;
  const store::BoardNumber number_;
  const store::Generation first_;
  Control& control_;
  const shm::WaitPolicy policy_;
  Connection& connection_;
  std::list<Async> open_;  // the connection's thread only
};

/// How a process of that job waits at that board. remote: some of its members are on other nodes; members:
/// how many are here, 0 for the job's own.
shm::WaitPolicy wait_policy(const store::JobView& job, const store::Board& board, bool remote,
                            std::uint32_t members) noexcept;

}  // namespace weft::client
