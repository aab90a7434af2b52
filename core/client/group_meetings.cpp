// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/group_meetings.hpp"

#include <xxhash.h>
#include <algorithm>

#include "core/data/deadline.hpp"

namespace weft::client {
namespace {

/// Agrees with none, not even with itself: the board becomes the server's.
constexpr std::uint64_t no_tag = 0;

std::uint64_t count_of(const link::RankRuns& members) noexcept {
  std::uint64_t out = 0;
  for (const auto& run : members) out += std::uint64_t{run.last} - run.first + 1;
  return out;
}

std::optional<std::uint32_t> group_rank_of(const link::RankRuns& members, const pmix_proc_t& proc) noexcept {
  std::uint64_t before = 0;
  for (const auto& run : members) {
    if (link::is_of(proc, run.nspace) && run.first <= proc.rank && proc.rank <= run.last)
      return static_cast<std::uint32_t>(before + proc.rank - run.first);
    before += std::uint64_t{run.last} - run.first + 1;
  }
  return std::nullopt;
}

/// On one node there is nothing to do for it.
bool is_simple(store::GroupAct act, std::string_view key) noexcept {
  if (key == PMIX_TIMEOUT || key == PMIX_GROUP_LOCAL_ONLY) return true;
  return act == store::GroupAct::fenced && (key == PMIX_COLLECT_DATA || key == PMIX_GROUP_FT_COLLECTIVE);
}

/// Nothing: directives that the server has to see, or that make no sense.
std::optional<data::Timeout> timeout_if_simple(store::GroupAct act, const data::Infos& directives) {
  for (std::size_t i = 0; i < directives.size(); ++i)
    if (!is_simple(act, data::key_of(directives.data()[i]))) return std::nullopt;
  const auto timeout = data::timeout_in(directives);
  if (!timeout) return std::nullopt;
  return std::optional<data::Timeout>(std::in_place, *timeout);
}

}  // namespace

std::uint64_t tag_of(store::GroupAct act, std::string_view name) noexcept {
  return XXH3_64bits_withSeed(name.data(), name.size(), static_cast<XXH64_hash_t>(act)) | 1;
}

void GroupMeetings::attach(shm::SegmentWindows& segment, const store::JobView& job, Control& control) {
  segment_ = &segment;
  job_ = job;
  control_ = &control;
}

/// The library's own thread has other work while it waits, and what a program drives by calls has no thread for it.
bool GroupMeetings::may_block() const noexcept {
  return segment_ != nullptr && !connection_.on_thread() && !connection_.is_driven_by_calls();
}

template <class Matches>
GroupMeetings::SeatRef GroupMeetings::find(Matches&& matches) const {
  const std::lock_guard lock(mutex_);
  const auto seat =
      std::find_if(seats_.rbegin(), seats_.rend(), [&](const SeatRef& s) { return matches(*s); });
  return seat == seats_.rend() ? nullptr : *seat;
}

void GroupMeetings::leave(const SeatRef& seat) {
  const std::lock_guard lock(mutex_);
  std::erase(seats_, seat);
}

GroupMeetings::Outcome GroupMeetings::construct(std::string_view name, Procs procs,
                                                const data::Infos& directives, link::RankRuns& members) {
  if (!may_block()) return {};
  const auto timeout = timeout_if_simple(Act::made, directives);
  const auto seat = timeout ? find([&](const Seat& s) { return s.array.matches(procs); }) : nullptr;
  if (seat == nullptr) return {};
  const auto out = meet(seat, Act::made, name, *timeout);
  if (out.has_ended) members = seat->members;
  return out;
}

GroupMeetings::Outcome GroupMeetings::destruct(std::string_view name, const link::RankRuns& members,
                                               const data::Infos& directives) {
  return meet_members(Act::ended, name, members, directives);
}

GroupMeetings::Outcome GroupMeetings::fence(std::string_view name, const link::RankRuns& members,
                                            const data::Infos& directives) {
  return meet_members(Act::fenced, name, members, directives);
}

GroupMeetings::Outcome GroupMeetings::meet_members(Act act, std::string_view name,
                                                   const link::RankRuns& members,
                                                   const data::Infos& directives) {
  if (!may_block()) return {};
  const auto timeout = timeout_if_simple(act, directives);
  const auto seat = timeout ? find([&](const Seat& s) { return s.members == members; }) : nullptr;
  return seat == nullptr ? Outcome() : meet(seat, act, name, *timeout);
}

/// A failure at the board says nothing but that the server is to be asked.
GroupMeetings::Outcome GroupMeetings::meet(const SeatRef& seat, Act act, std::string_view name,
                                           data::Timeout timeout) {
  auto ticket = seat->board->take_group_ticket(tag_of(act, name));
  if (!ticket) return leave(seat), Outcome();
  write_record(*seat, *ticket, act, name);
  const auto since = Connection::Clock::now();
  const auto longest = act == Act::fenced ? fence_patience : patience;
  const auto limit = timeout && *timeout < longest ? std::chrono::milliseconds(*timeout) : longest;
  if (seat->board->wait(*ticket, since + limit) == PMIX_SUCCESS) return {.has_ended = true};
  leave(seat);
  return {.waited = std::chrono::duration_cast<std::chrono::milliseconds>(Connection::Clock::now() - since)};
}

/// Without its record an operation must not end at the board.
void GroupMeetings::write_record(const Seat& seat, BoardFence::Ticket& ticket, Act act,
                                 std::string_view name) {
  if (seat.ledger == nullptr) return;
  if (!seat.ledger->write(ticket.generation, act, name)) ticket.tag = no_tag;
  if (seat.ledger->is_reader_due(ticket.generation))
    control_->notify(store::NoticeKind::group_records, seat.number);
}

void GroupMeetings::take_seat(Procs procs, const link::GroupMembers& offer) {
  if (offer.board == store::own_job_board || segment_ == nullptr) return;
  const auto me = group_rank_of(offer.runs, self_);
  const auto members = count_of(offer.runs);
  if (!me || members > store::most_group_members || offer.incarnation == 0) return;
  auto* const memory = writable_slot(*segment_, offer.board);
  if (memory == nullptr) return;
  auto& board = store::Board::at(memory);
  auto fence = std::make_shared<BoardFence>(
      BoardFence::Place{.board = &board,
                        .number = offer.board,
                        .me = *me,
                        .incarnation = offer.incarnation,
                        .next = offer.next,
                        .alike = static_cast<std::uint32_t>(members)},
      *control_, wait_policy(job_, board, false, static_cast<std::uint32_t>(members)), connection_);
  auto* const ledger = *me == 0 ? &store::GroupLedger::at(memory + store::group_ledger_at) : nullptr;
  const std::lock_guard lock(mutex_);
  std::erase_if(
      seats_, [&](const SeatRef& seat) { return seat->members == offer.runs || seat->array.matches(procs); });
  if (seats_.size() == most_seats) seats_.erase(seats_.begin());
  seats_.push_back(
      std::make_shared<Seat>(Seat{ProcList(procs), offer.runs, std::move(fence), offer.board, ledger}));
}

}  // namespace weft::client
