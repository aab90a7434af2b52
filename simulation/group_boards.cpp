// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/group_boards.hpp"

#include <algorithm>
#include <utility>

#include "core/client/group/group_meetings.hpp"

namespace weft::simulation {
namespace {

using client::GroupMeetings;
using std::chrono::milliseconds;

/// As client::BoardFence: the server cannot end a generation while an earlier one is open.
constexpr milliseconds ask_again{100};
/// Agrees with none.
constexpr std::uint64_t no_tag = 0;

bool is_same_array(const server::Procs& a, const server::Procs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const pmix_proc_t& x, const pmix_proc_t& y) { return link::is_same(x, y); });
}

}  // namespace

void GroupBoards::take_seat(const store::JobView& job, const pmix_proc_t& self, server::Procs array,
                            const link::GroupMembers& offer) {
  const auto me = link::place_in(offer.cells, self);
  const auto slot = store::pool_slot(job.header(), offer.board);
  if (!me || !slot || offer.incarnation == 0) return;
  auto& board = store::Board::at(job.clients_memory().data() + slot->offset);
  const auto here = static_cast<std::uint32_t>(link::count_of(offer.cells));
  auto member = std::make_unique<store::BoardMember>(board, static_cast<std::uint32_t>(*me),
                                                     offer.incarnation, offer.next, here);
  std::erase_if(seats_, [&](const SeatRef& seat) {
    return seat->members == offer.runs || is_same_array(seat->array, array);
  });
  if (seats_.size() == GroupMeetings::most_seats) seats_.erase(seats_.begin());
  seats_.push_back(std::make_shared<Seat>(Seat{std::move(array), offer.runs, offer.board, std::move(member),
                                               *me == 0 ? &store::ledger_of(board) : nullptr}));
}

GroupBoards::SeatRef GroupBoards::of_array(const server::Procs& array) const {
  const auto seat = std::find_if(seats_.rbegin(), seats_.rend(),
                                 [&](const SeatRef& each) { return is_same_array(each->array, array); });
  return seat == seats_.rend() ? nullptr : *seat;
}

GroupBoards::SeatRef GroupBoards::of_members(const link::RankRuns& members) const {
  const auto seat = std::find_if(seats_.rbegin(), seats_.rend(),
                                 [&](const SeatRef& each) { return each->members == members; });
  return seat == seats_.rend() ? nullptr : *seat;
}

bool GroupBoards::enter(const SeatRef& seat, store::GroupAct act, const std::string& group,
                        std::optional<milliseconds> timeout, Time now, decltype(Meeting::end) end) {
  auto entry = seat->member->enter({}, store::tag_of(act, group));
  if (!entry) {
    std::erase(seats_, seat);
    return false;
  }
  if (seat->ledger != nullptr) {
    if (!seat->ledger->write(entry->generation, act, group)) entry->tag = no_tag;
    if (seat->ledger->is_reader_due(entry->generation))
      say_.note(store::NoticeKind::group_records, seat->number);
  }
  const auto patience =
      act == store::GroupAct::fenced ? GroupMeetings::fence_patience : GroupMeetings::patience;
  meetings_.push_back(
      {seat, *entry, now, now + std::min(timeout.value_or(patience), patience), std::move(end)});
  look(now);
  return true;
}

bool GroupBoards::look(Time now) {
  bool has_moved = false;
  for (std::size_t i = 0; i < meetings_.size();) {
    auto& meeting = meetings_[i];
    const auto seat = meeting.seat;
    const auto step = seat->member->step(meeting.entry);
    using Owed = store::BoardMember::Owed;
    if (step.owed == Owed::notices) say_.note(store::NoticeKind::board_ended, seat->number);
    if (step.owed == Owed::exchange) say_.note(store::NoticeKind::board_full, seat->number);
    has_moved |= step.owed != Owed::nothing;
    if (!step.status) {
      if (meeting.asks_at <= now) {
        say_.withdraw({meeting.entry.generation, seat->number});
        meeting.asks_at = now + ask_again;
        has_moved = true;
      }
      ++i;
      continue;
    }
    seat->member->end(meeting.entry);
    const bool is_well = *step.status == PMIX_SUCCESS;
    if (!is_well) std::erase(seats_, seat);
    const auto ended = std::move(meeting);
    meetings_.erase(meetings_.begin() + static_cast<std::ptrdiff_t>(i));
    ended.end(is_well, seat->members, std::chrono::duration_cast<milliseconds>(now - ended.since));
    has_moved = true;
  }
  return has_moved;
}

GroupBoards::Time GroupBoards::deadline() const {
  auto out = Time::max();
  for (const auto& meeting : meetings_) out = std::min(out, meeting.asks_at);
  return out;
}

void GroupBoards::clear() {
  meetings_.clear();
  seats_.clear();
}

}  // namespace weft::simulation
