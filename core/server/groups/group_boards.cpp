// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_boards.hpp"

#include <algorithm>

#include "core/store/layout.hpp"

namespace weft::server {
namespace {

/// The verdict of a dissolved board; no caller sees it.
constexpr pmix_status_t by_message = PMIX_ERR_RESOURCE_BUSY;

store::GroupLedger& ledger_of(store::Board& board) noexcept {
  return store::GroupLedger::at(reinterpret_cast<std::byte*>(&board) + store::group_ledger_at);
}

}  // namespace

std::optional<link::GroupMembers> GroupBoards::open(const Procs& set, const link::RankRuns& members) {
  sweep();
  const auto procs = link::procs_of(members);
  if (!procs || procs->empty() || procs->size() > store::most_group_members) return std::nullopt;
  const auto count = static_cast<std::uint32_t>(procs->size());
  auto slot = pool_.take(count, false);
  if (!slot &&
      !places_.empty()) {  // the one that was opened first: its set gets another with its next construct
    dissolve(places_.front());
    sweep();
    slot = pool_.take(count, false);
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
  places_.push_back({set, members, count, *slot, next - 1});
  return link::GroupMembers{members, *slot, pool_.incarnation(*slot), next};
}

void GroupBoards::dissolve(Place& place) {
  if (place.dissolved) return;
  auto& board = pool_.at(place.number);
  // Where no member is in an operation, closing the board is enough, and costs the members nothing.
  place.is_given_back = pool_.give_back(place.number);
  place.dissolved = place.is_given_back ? board.open_generation() : board.dissolve(by_message);
  read_records(place);
}

void GroupBoards::dissolve(const Procs& set) {
  for (auto& place : places_)
    if (!place.dissolved && is_same(place.set, set)) dissolve(place);
}

void GroupBoards::lose(const pmix_proc_t& proc) {
  for (auto& place : places_) {
    const auto procs = link::procs_of(place.members);
    if (!procs || place.is_given_back) continue;
    for (std::uint32_t cell = 0; cell < place.count; ++cell) {
      const auto& member = (*procs)[cell];
      if (link::nspace_of(member) != link::nspace_of(proc)) continue;
      if (proc.rank != PMIX_RANK_WILDCARD && proc.rank != member.rank) continue;
      dissolve(place);
      if (!place.is_given_back) pool_.at(place.number).forget_hold(cell, by_message);
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

void GroupBoards::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  for (auto& place : places_) {
    const bool is_meant = number == store::own_job_board || place.number == number;
    if (!is_meant || place.dissolved || !link::holds(place.members, member)) continue;
    // Full and still open: the last member has seen tags that differ.
    pool_.at(place.number).arrived_count() == place.count ? dissolve(place) : read_records(place);
  }
}

/// A generation before that of the dissolving has succeeded, and before it no other has failed. Damage can move the word: no more is read
/// than there are records.
void GroupBoards::read_records(Place& place) {
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
