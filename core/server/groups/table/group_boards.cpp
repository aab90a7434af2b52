// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_boards.hpp"

#include <algorithm>

#include "core/events/range.hpp"
#include "core/store/segment/layout.hpp"

namespace weft::server {
namespace {

/// The verdict of a dissolved board; no caller sees it.
constexpr pmix_status_t by_message = PMIX_ERR_RESOURCE_BUSY;

store::GroupLedger& ledger_of(store::Board& board) noexcept {
  return store::GroupLedger::at(reinterpret_cast<std::byte*>(&board) + store::group_ledger_at);
}

}  // namespace

std::optional<link::GroupMembers> GroupBoards::open(const store::JobView& job, const Procs& set,
                                                    const link::RankRuns& members,
                                                    const link::RankRuns& here) {
  sweep();
  auto procs = link::procs_of(here);
  if (!procs || procs->empty() || procs->size() > store::most_group_members) return std::nullopt;
  const auto count = static_cast<std::uint32_t>(procs->size());
  const bool is_remote = here != members;
  auto slot = pool_.take(job, count, is_remote);
  // The one that was opened first makes room: its set gets another with its next construct.
  if (!slot && !places_.empty()) {
    dissolve(places_.front());
    sweep();
    slot = pool_.take(job, count, is_remote);
  }
  if (!slot) return std::nullopt;
  auto& board = pool_.at(*slot);
  auto& ledger = ledger_of(board);
  const auto next = board.open_generation();
  if (!shm::populate(reinterpret_cast<std::byte*>(&ledger), sizeof ledger)) {
    static_cast<void>(pool_.give_back(*slot));
    return std::nullopt;
  }
  ledger.set_read(next - 1);
  places_.push_back({set, members, std::move(*procs), *slot, next - 1, is_remote});
  return link::GroupMembers{
      .runs = members, .board = *slot, .incarnation = pool_.incarnation(*slot), .next = next, .cells = here};
}

void GroupBoards::dissolve(Place& place) {
  if (place.dissolved) return;
  auto& board = pool_.at(place.number);
  // Where no member is in an operation, closing the board is enough, and costs the members nothing.
  place.is_given_back = pool_.give_back(place.number);
  place.dissolved = place.is_given_back ? board.open_generation() : board.dissolve(by_message);
  if (!place.is_given_back) keep_arrivals(place);
  read_records(place);
}

/// Also those that were about to be counted: they find the board dissolved, as the others.
void GroupBoards::keep_arrivals(const Place& place) {
  auto& board = pool_.at(place.number);
  for (std::uint32_t cell = 0; cell < place.here.size(); ++cell) {
    if (!board.arrived(cell, *place.dissolved)) continue;
    if (sent_away_.size() == most_sent_away) sent_away_.pop_front();
    sent_away_.push_back({place.here[cell], board.cell(cell).tag.load(std::memory_order_relaxed)});
  }
}

Procs GroupBoards::sent_away(std::uint64_t tag) const {
  Procs out;
  for (const auto& each : sent_away_)
    if (each.tag == tag) out.push_back(each.member);
  return out;
}

void GroupBoards::came(const pmix_proc_t& member, std::uint64_t tag) {
  const auto found = std::find_if(sent_away_.begin(), sent_away_.end(), [&](const SentAway& each) {
    return each.tag == tag && link::is_same(each.member, member);
  });
  if (found != sent_away_.end()) sent_away_.erase(found);
}

void GroupBoards::dissolve(const Procs& set) {
  for (auto& place : places_)
    if (!place.dissolved && is_same(place.set, set)) dissolve(place);
}

void GroupBoards::dissolve(const BoardTicket& ticket) {
  if (auto* place = find(ticket)) dissolve(*place);
}

/// It is still open, and so is that operation.
GroupBoards::Place* GroupBoards::find(const BoardTicket& ticket) {
  const auto place = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& p) { return p.number == ticket.number && !p.dissolved; });
  const bool is_open =
      place != places_.end() && pool_.at(ticket.number).open_generation() == ticket.generation;
  return is_open ? &*place : nullptr;
}

bool GroupBoards::complete(const BoardTicket& ticket) {
  return find(ticket) != nullptr && pool_.at(ticket.number).complete(ticket.generation);
}

void GroupBoards::lose(const pmix_proc_t& proc) {
  lose_at_places(proc);
  std::erase_if(sent_away_, [&](const SentAway& each) { return events::covers(proc, each.member); });
}

void GroupBoards::lose_at_places(const pmix_proc_t& proc) {
  for (auto& place : places_) {
    if (place.is_given_back) continue;
    for (std::uint32_t cell = 0; cell < place.here.size(); ++cell) {
      if (!events::covers(proc, place.here[cell])) continue;
      dissolve(place);
      if (!place.is_given_back) pool_.at(place.number).forget_hold(cell, by_message);
    }
    if (proc.rank == PMIX_RANK_WILDCARD && place.dissolved && !place.is_given_back &&
        events::covers(proc, place.here.front())) {
      pool_.drop(place.number);
      place.is_given_back = true;
    }
  }
}

void GroupBoards::withdraw(const pmix_proc_t& member, store::BoardNumber number,
                           store::Generation generation) {
  for (auto& place : places_)
    if (place.number == number && !place.dissolved && link::holds(place.members, member) &&
        pool_.at(number).open_generation() == generation)
      dissolve(place);
}

std::vector<GroupBoards::Full> GroupBoards::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  std::vector<Full> out;
  for (auto& place : places_) {
    const bool is_meant = number == store::own_job_board || place.number == number;
    if (!is_meant || place.dissolved || !link::holds(place.members, member)) continue;
    if (pool_.at(place.number).arrived_count() != place.here.size())
      read_records(place);
    else if (auto full = read_full(place))
      out.push_back(std::move(*full));
  }
  return out;
}

/// Nothing: it was told of before, or the members do not agree, and become messages.
std::optional<GroupBoards::Full> GroupBoards::read_full(Place& place) {
  auto& board = pool_.at(place.number);
  const auto generation = board.open_generation();
  if (place.is_remote && place.read == generation) return std::nullopt;
  const auto tag = place.is_remote ? board.common_tag(static_cast<std::uint32_t>(place.here.size())) : 0;
  auto& ledger = ledger_of(board);
  auto record = tag == 0 ? std::nullopt : ledger.read(generation);
  if (!record || store::tag_of(record->act, record->name) != tag) return dissolve(place), std::nullopt;
  place.read = generation;
  ledger.set_read(generation);
  return Full{place.set, place.members, place.here, std::move(*record), {place.number, generation}};
}

/// A generation before that of the dissolving has succeeded, and before it no other has failed. Damage can
/// move the word: no more is read than there are records. Where other nodes take part the server has made
/// what is recorded.
void GroupBoards::read_records(Place& place) {
  if (place.is_remote) return;
  auto& board = pool_.at(place.number);
  const auto end = place.dissolved ? *place.dissolved : board.open_generation();
  const auto count = end - 1 - place.read;
  if (count == 0) return;
  auto& ledger = ledger_of(board);
  for (store::Generation i = 1; i <= count && count <= store::GroupLedger::records; ++i)
    if (auto record = ledger.read(place.read + i)) place.records.push_back(std::move(*record));
  place.read = end - 1;
  ledger.set_read(place.read);
}

std::vector<GroupBoards::Made> GroupBoards::take_records() {
  std::vector<Made> out;
  for (auto& place : places_) {
    if (!place.dissolved) read_records(place);
    if (!place.records.empty()) out.push_back({place.members, std::exchange(place.records, {})});
  }
  return out;
}

/// Dissolved boards that no member holds any more are free for other sets.
void GroupBoards::sweep() {
  for (auto& place : places_)
    if (place.dissolved && !place.is_given_back) place.is_given_back = pool_.give_back(place.number);
  std::erase_if(places_, [](const Place& place) { return place.is_given_back && place.records.empty(); });
}

}  // namespace weft::server
