// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/board_fence.hpp"

#include <algorithm>

#include "core/link/messages.hpp"

namespace weft::client {

using store::Board;
using store::NoticeKind;

void Control::notify(NoticeKind kind, std::uint32_t arg) noexcept {
  {
    const std::lock_guard lock(ring_mutex);
    (void)ring->push({static_cast<std::uint32_t>(kind), arg});
  }
  dirty->fetch_or(dirty_bit, std::memory_order_release);
  if (doorbell->ring()) (void)connection->send(link::MessageType::nudge, {});
}

BoardFence::BoardFence(Control& control, std::uint32_t me, shm::WaitPolicy policy, Connection& connection)
    : control_(control),
      me_(me),
      policy_(policy),
      connection_(connection),
      next_(control.board->open_generation()) {}

std::optional<pmix_status_t> BoardFence::ended(store::Generation generation) const noexcept {
  switch (control_.board->outcome(generation)) {
    case Board::Outcome::success:
      return PMIX_SUCCESS;
    case Board::Outcome::failed:
      return control_.board->verdict(generation).status;
    case Board::Outcome::open:
      break;
  }
  if (control_.board->broken(generation)) return control_.board->verdict(generation).status;
  return std::nullopt;
}

bool BoardFence::arrive(store::Generation generation, bool collect) noexcept {
  switch (control_.board->arrive(me_, generation, collect)) {
    case Board::Arrival::not_open:
      return false;
    case Board::Arrival::completed:
      control_.board->waiting().wake_all();
      if (control_.board->notice_wanted()) control_.notify(NoticeKind::board_ended, 0);
      return true;
    case Board::Arrival::full:
      control_.notify(NoticeKind::board_full, 0);
      return true;
    case Board::Arrival::waiting:
    case Board::Arrival::over:
    case Board::Arrival::broken:
    case Board::Arrival::closed:
      return true;
  }
  return true;
}

store::Generation BoardFence::take_ticket() {
  const std::lock_guard lock(ticket_mutex_);
  // A broken board ends fences without ending a generation. Once it is whole again (a process came back), whoever has
  // no fence open starts where everybody else does.
  if (stale_ && tickets_ == 0) {
    next_ = control_.board->open_generation();
    stale_ = false;
  }
  ++tickets_;
  return next_++;
}

void BoardFence::give_ticket_back(bool broken) {
  const std::lock_guard lock(ticket_mutex_);
  --tickets_;
  stale_ |= broken;
}

pmix_status_t BoardFence::enter(Deadline deadline, bool collect) {
  const auto mine = take_ticket();
  bool arrived = arrive(mine, collect);
  std::optional<pmix_status_t> status;  // kept: a broken board may be whole again at the next look
  const auto over = [&] {
    if (!arrived) arrived = arrive(mine, collect);
    status = ended(mine);
    return status.has_value();
  };
  const auto server_there = [&] { return connection_.alive(); };
  for (;;) {
    if (shm::wait_until(control_.board->waiting(), policy_, deadline, over, server_there)) {
      give_ticket_back(control_.board->outcome(mine) == Board::Outcome::open);
      return *status;
    }
    if (!server_there()) return PMIX_ERR_LOST_CONNECTION;
    // The server ends the generation for everybody: nobody can be left in a fence that somebody left. It cannot
    // while an earlier one is open, so this is asked for again.
    (void)connection_.send(link::MessageType::withdraw, link::encode(link::Withdraw{mine}));
    deadline = Connection::Clock::now() + std::chrono::milliseconds(100);
  }
}

void BoardFence::ask_notice() noexcept {
  // One wish stands for all open fences of this process; a second is not counted.
  if (control_.board->cell(me_).notify.load(std::memory_order_acquire) == 0) control_.board->ask_notice(me_);
}

std::optional<pmix_status_t> BoardFence::step(Async& fence) {
  if (!fence.arrived) fence.arrived = arrive(fence.generation, fence.collect);
  if (!ended(fence.generation)) {
    ask_notice();
    if (!fence.arrived)
      fence.arrived = arrive(fence.generation, fence.collect);  // it may have opened before we asked
  }
  if (const auto status = ended(fence.generation)) return status;
  if (!connection_.alive()) return PMIX_ERR_LOST_CONNECTION;
  return std::nullopt;
}

void BoardFence::enter_later(Deadline deadline, bool collect, std::function<void(pmix_status_t)> done) {
  const auto mine = take_ticket();
  connection_.run_later([this, mine, collect, done = std::move(done)]() mutable {
    // Two threads may come here in another order than they took their tickets.
    const auto later = std::find_if(open_.begin(), open_.end(), [&](const Async& other) {
      return static_cast<std::int32_t>(other.generation - mine) > 0;
    });
    open_.insert(later, {mine, collect, std::move(done)});
    board_moved();
  });
  if (deadline) withdraw_until_ended(mine, *deadline);
}

void BoardFence::withdraw_until_ended(store::Generation generation, Connection::Clock::time_point when) {
  connection_.run_at(when, [this, generation] {
    if (ended(generation) || !connection_.alive()) return;
    (void)connection_.send(link::MessageType::withdraw, link::encode(link::Withdraw{generation}));
    withdraw_until_ended(generation, Connection::Clock::now() + std::chrono::milliseconds(100));
  });
}

void BoardFence::board_moved() {
  // Only the first can end: one behind it cannot even arrive before. Looking further would let one that arrives and ends
  // meanwhile overtake the first, which ended after it was looked at.
  while (!open_.empty()) {
    const auto fence = open_.begin();
    const auto status = step(*fence);
    if (!status) return;
    // Without its server a fence ends, too, but its arrival stays counted.
    give_ticket_back(*status != PMIX_ERR_LOST_CONNECTION &&
                     control_.board->outcome(fence->generation) == Board::Outcome::open);
    // Off the list first: the callback may enter another fence, wait in it, and so come back to this function.
    const auto done = std::move(fence->done);
    open_.erase(fence);
    done(*status);
  }
}

}  // namespace weft::client
