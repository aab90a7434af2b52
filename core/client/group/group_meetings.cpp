// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/group/group_meetings.hpp"

#include <algorithm>

#include "core/data/names/deadline.hpp"

namespace weft::client {
namespace {

/// Agrees with none, not even with itself: the board becomes the server's.
constexpr std::uint64_t no_tag = 0;

/// The cards travel with each fence of a group. On one node no member can be lost without its server.
bool is_simple(store::GroupAct act, bool is_remote, std::string_view key) noexcept {
  if (key == PMIX_TIMEOUT || key == PMIX_GROUP_LOCAL_ONLY) return true;
  if (act != store::GroupAct::fenced) return false;
  return key == PMIX_COLLECT_DATA || (key == PMIX_GROUP_FT_COLLECTIVE && !is_remote);
}

/// Nothing: directives that the server has to see, or that make no sense.
std::optional<data::Timeout> timeout_if_simple(store::GroupAct act, bool is_remote,
                                               const data::Infos& directives) {
  for (std::size_t i = 0; i < directives.size(); ++i)
    if (!is_simple(act, is_remote, data::key_of(directives.data()[i]))) return std::nullopt;
  const auto timeout = data::timeout_in(directives);
  if (!timeout) return std::nullopt;
  return std::optional<data::Timeout>(std::in_place, *timeout);
}

}  // namespace

/// The library's own thread has other work while it waits, and what a program drives by calls has no thread
/// for it.
bool GroupMeetings::may_block() const noexcept {
  return boards_.segment != nullptr && !connection_.on_thread() && !connection_.is_driven_by_calls();
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
  const auto seat = find([&](const Seat& s) { return s.array.matches(procs); });
  if (seat == nullptr) return {};
  const auto out = meet(seat, Act::made, name, directives);
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
  const auto seat = find([&](const Seat& s) { return s.members == members; });
  return seat == nullptr ? Outcome() : meet(seat, act, name, directives);
}

/// A failure at the board says nothing but that the server is to be asked.
GroupMeetings::Outcome GroupMeetings::meet(const SeatRef& seat, Act act, std::string_view name,
                                           const data::Infos& directives) {
  const auto timeout = timeout_if_simple(act, seat->is_remote, directives);
  if (!timeout) return {};
  const auto* adjusts = directives.find(PMIX_GROUP_FT_COLLECTIVE);
  auto ticket = seat->board->take_group_ticket(
      store::tag_of(act, name, adjusts != nullptr && data::is_true(adjusts->value)));
  if (!ticket) return leave(seat), Outcome();
  write_record(*seat, *ticket, act, name);
  const auto since = Connection::Clock::now();
  const auto longest = act == Act::fenced ? fence_patience : patience;
  const auto limit = *timeout && **timeout < longest ? std::chrono::milliseconds(**timeout) : longest;
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
    boards_.control->notify(store::NoticeKind::group_records, seat.board->number());
}

void GroupMeetings::take_seat(Procs procs, const link::GroupMembers& offer) {
  if (boards_.segment == nullptr) return;
  const auto me = link::place_in(offer.cells, self_);
  const auto here = link::count_of(offer.cells);
  if (!me || here > store::most_group_members) return;
  auto board = BoardFence::open(boards_,
                                {.number = offer.board,
                                 .me = static_cast<std::uint32_t>(*me),
                                 .incarnation = offer.incarnation,
                                 .next = offer.next,
                                 .alike = static_cast<std::uint32_t>(here)},
                                connection_);
  if (board == nullptr) return;
  auto* const ledger = *me == 0 ? &store::ledger_of(board->board()) : nullptr;
  const std::lock_guard lock(mutex_);
  std::erase_if(
      seats_, [&](const SeatRef& seat) { return seat->members == offer.runs || seat->array.matches(procs); });
  if (seats_.size() == most_seats) seats_.erase(seats_.begin());
  seats_.push_back(std::make_shared<Seat>(
      Seat{ProcList(procs), offer.runs, offer.cells != offer.runs, std::move(board), ledger}));
}

}  // namespace weft::client
