// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/fence/board_fence.hpp"

#include <algorithm>

#include "core/link/messages.hpp"

namespace weft::client {

using store::BoardMember;
using store::NoticeKind;

namespace {

// The server cannot end a generation while an earlier one is open, so a withdrawal is asked for again.
constexpr std::chrono::milliseconds withdraw_again{100};

}  // namespace

/// The arrival says that they come: whatever the server sees first, it begins nothing without them.
std::optional<BoardFence::Ticket> BoardFence::take_ticket_and_tell(store::Wants wants, data::Infos for_host) {
  wants.directives = true;
  const auto ticket = member_.enter(wants);
  if (ticket)
    (void)connection_.send(
        link::MessageType::fence_directives,
        link::encode(link::FenceDirectives{ticket->generation, number_, std::move(for_host)}));
  return ticket;
}

std::optional<pmix_status_t> BoardFence::step(Ticket& ticket) noexcept {
  const auto now = member_.step(ticket);
  if (now.owed == BoardMember::Owed::notices) control_.notify(NoticeKind::board_ended, number_);
  if (now.owed == BoardMember::Owed::exchange) control_.notify(NoticeKind::board_full, number_);
  if (now.owed == BoardMember::Owed::absence)
    (void)connection_.send(link::MessageType::turned_away,
                           link::encode(link::TurnedAway{ticket.generation, number_}));
  return now.status;
}

void BoardFence::ask_to_withdraw(store::Generation generation) {
  (void)connection_.send(link::MessageType::withdraw, link::encode(link::Withdraw{generation, number_}));
}

/// The first fence of a job waits for ranks that are still being started, which takes longer than any look is
/// worth, on cores that they need.
shm::WaitPolicy BoardFence::policy_of(store::Generation generation) const noexcept {
  return number_ == store::own_job_board && generation == first_ ? shm::WaitPolicy::at_once() : policy_;
}

pmix_status_t BoardFence::wait(Ticket ticket, Deadline deadline) {
  std::optional<pmix_status_t> status;  // kept: a broken board may be whole again at the next look
  const auto over = [&] {
    status = step(ticket);
    return status.has_value();
  };
  const auto server_there = [&] { return connection_.alive(); };
  const auto policy = policy_of(ticket.generation);
  for (;;) {
    if (shm::wait_until(member_.board().waiting(), policy, deadline, over, server_there)) {
      member_.end(ticket);
      return *status;
    }
    if (!server_there()) return PMIX_ERR_LOST_CONNECTION;
    // The server ends the generation for all members: none can be left in a fence that another left.
    ask_to_withdraw(ticket.generation);
    deadline = Connection::Clock::now() + withdraw_again;
  }
}

std::optional<pmix_status_t> BoardFence::step(Async& fence) {
  if (const auto status = step(fence.ticket)) return status;
  member_.ask_notice();
  if (const auto status = step(fence.ticket)) return status;  // it may have moved before the wish was there
  if (!connection_.alive()) return PMIX_ERR_LOST_CONNECTION;
  return std::nullopt;
}

void BoardFence::wait_later(Ticket ticket, Deadline deadline, std::function<void(pmix_status_t)> done) {
  connection_.run_later([self = shared_from_this(), ticket, done = std::move(done)]() mutable {
    // Two threads may come here in another order than they took their tickets.
    const auto later = std::find_if(self->open_.begin(), self->open_.end(), [&](const Async& other) {
      return static_cast<std::int32_t>(other.ticket.generation - ticket.generation) > 0;
    });
    self->open_.insert(later, {ticket, std::move(done)});
    self->board_moved();
  });
  if (deadline) withdraw_until_ended(ticket.generation, *deadline);
}

void BoardFence::withdraw_until_ended(store::Generation generation, Connection::Clock::time_point when) {
  connection_.run_at(when, [weak = weak_from_this(), generation] {
    const auto self = weak.lock();
    if (self == nullptr || self->member_.ended(generation) || !self->connection_.alive()) return;
    self->ask_to_withdraw(generation);
    self->withdraw_until_ended(generation, Connection::Clock::now() + withdraw_again);
  });
}

void BoardFence::board_moved() {
  // Only the first can end: one behind it cannot even arrive before. Looking further would let one that
  // arrives and ends meanwhile overtake the first, which ended after it was looked at.
  while (!open_.empty()) {
    const auto fence = open_.begin();
    const auto status = step(*fence);
    if (!status) return;
    // Without its server a fence ends, too, but its arrival stays counted, and so the ticket taken.
    if (*status != PMIX_ERR_LOST_CONNECTION) member_.end(fence->ticket);
    // Off the list first: the callback may enter another fence, wait in it, and so come back to this
    // function.
    const auto done = std::move(fence->done);
    open_.erase(fence);
    done(*status);
  }
}

std::shared_ptr<BoardFence> BoardFence::open(const JobBoards& boards, Place offered, Connection& connection) {
  const auto& [segment, job, control] = boards;
  const auto slot = store::pool_slot(job.header(), offered.number);
  const bool is_sound = slot && offered.incarnation != 0 && offered.me < store::most_pool_members;
  if (!is_sound || !segment->clients.make_writable(slot->offset, slot->bytes)) return nullptr;
  auto& board = store::Board::at(segment->clients.base() + slot->offset);
  offered.board = &board;
  return std::make_shared<BoardFence>(offered, *control,
                                      wait_policy(job, board, board.remote(), board.members()), connection);
}

shm::WaitPolicy wait_policy(const store::JobView& job, const store::Board& board, bool remote,
                            std::uint32_t members) noexcept {
  if (board.by_host()) return shm::WaitPolicy::at_once();
  const auto waiters = std::max(job.local_count(), members);
  const auto cores = job.header().cores;
  if (remote) return shm::WaitPolicy::for_other_nodes(waiters + 1, cores);
  auto policy = shm::WaitPolicy::for_waiters(waiters, cores);
  // The members of a small set may have a core each while the other ranks sleep. A short spin finds a partner
  // that is running, and costs no more than a switch of processes where it is not.
  constexpr std::chrono::microseconds short_spin{5};
  if (members != 0 && members <= cores) policy.spin = std::max(policy.spin, short_spin);
  return policy;
}

}  // namespace weft::client
