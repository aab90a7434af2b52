// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/board_member.hpp"

namespace weft::store {

std::optional<BoardMember::Entry> BoardMember::enter(bool collect) noexcept {
  const std::lock_guard lock(mutex_);
  if (open_ == 0) {
    if (incarnation_ != 0 && !board_.hold(me_, incarnation_)) return std::nullopt;
    // A broken board ends fences without ending a generation. Once it is whole again (a process came back), a member
    // with no open fence starts where all others do.
    if (stale_) next_ = board_.open_generation();
    stale_ = false;
  }
  ++open_;
  return Entry{next_++, collect};
}

BoardMember::Owed BoardMember::arrive(Entry& entry) noexcept {
  const auto arrival = board_.arrive(me_, entry.generation, entry.collect, incarnation_);
  entry.arrived = arrival != Board::Arrival::not_open;
  if (arrival == Board::Arrival::full) return Owed::exchange;
  if (arrival != Board::Arrival::completed) return Owed::nothing;
  board_.waiting().wake_all();
  return board_.notice_wanted() ? Owed::notices : Owed::nothing;
}

BoardMember::Step BoardMember::step(Entry& entry) noexcept {
  Step out;
  if (!entry.arrived) out.owed = arrive(entry);
  out.status = ended(entry.generation);
  return out;
}

std::optional<pmix_status_t> BoardMember::ended(Generation generation) const noexcept {
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

void BoardMember::end(const Entry& entry) noexcept {
  const bool spent = board_.outcome(entry.generation) != Board::Outcome::open;
  const std::lock_guard lock(mutex_);
  stale_ |= !spent;
  if (--open_ == 0 && incarnation_ != 0) board_.let_go(me_, incarnation_);
}

void BoardMember::ask_notice() noexcept {
  // One wish stands for all open fences of this member; a second is not counted.
  const auto wished = board_.cell(me_).notify.load(std::memory_order_acquire);  // BD.M2 <- M1
  if (wished == 0) board_.ask_notice(me_);
}

}  // namespace weft::store
