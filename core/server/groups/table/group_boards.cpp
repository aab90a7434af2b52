// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/group_boards.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {
namespace {

/// The verdict of a dissolved board; no caller sees it.
constexpr pmix_status_t by_message = PMIX_ERR_RESOURCE_BUSY;

}  // namespace

/// Where no slot is free, one set makes room, and gets another with its next construct.
std::optional<link::GroupMembers> GroupBoards::open(const store::JobView& job, const Procs& set,
                                                    const link::RankRuns& members,
                                                    const link::RankRuns& here) {
  sweep();
  auto procs = link::procs_of(here);
  if (!procs || procs->size() > store::most_group_members) return std::nullopt;
  const auto at = boards_.take(job, procs->size(), here != members, 1,
                               [this](const Ref& board) { return dissolve(board); });
  if (!at) return std::nullopt;
  const auto board = boards_.add(std::make_shared<GroupBoard>(*at, set, members, std::move(*procs)));
  auto& ledger = board->ledger();
  if (!shm::populate(reinterpret_cast<std::byte*>(&ledger), sizeof ledger)) {
    boards_.drop(board);
    return std::nullopt;
  }
  ledger.set_read(board->read);
  return link::GroupMembers{.runs = members,
                            .board = board->number(),
                            .incarnation = board->incarnation(),
                            .next = board->read + 1,
                            .cells = here};
}

/// False: a member still holds it. Where no member is in an operation, closing the board is enough, and costs
/// the members nothing.
bool GroupBoards::dissolve(const Ref& board) {
  if (board->dissolved) return false;
  const bool is_given_back = boards_.give_back(board);
  board->dissolved = is_given_back ? board->board().open_generation() : board->board().dissolve(by_message);
  if (!is_given_back) keep_arrivals(*board);
  read_records(*board);
  return is_given_back;
}

/// Also those that were about to be counted: they find the board dissolved, as the others.
void GroupBoards::keep_arrivals(const GroupBoard& board) {
  for (std::uint32_t cell = 0; cell < board.cells(); ++cell) {
    if (!board.board().arrived(cell, *board.dissolved)) continue;
    if (sent_away_.size() == most_sent_away) sent_away_.pop_front();
    sent_away_.push_back({board.here[cell], board.board().cell(cell).tag.load(std::memory_order_relaxed)});
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
  for (const auto& board : boards_.copy())
    if (is_same(board->set, set)) dissolve(board);
}

void GroupBoards::dissolve(const BoardTicket& ticket) {
  if (is_open(ticket)) dissolve(ticket.board);
}

/// Of a board that is dissolved the memory may be gone.
bool GroupBoards::is_open(const BoardTicket& ticket) noexcept {
  return !ticket.board->dissolved && ticket.board->board().open_generation() == ticket.generation;
}

bool GroupBoards::complete(const BoardTicket& ticket) {
  return is_open(ticket) && ticket.board->board().complete(ticket.generation);
}

void GroupBoards::lose(const pmix_proc_t& proc) {
  for (const auto& board : boards_.copy()) {
    for (std::uint32_t cell = 0; cell < board->cells(); ++cell) {
      if (!events::covers(proc, board->here[cell])) continue;
      dissolve(board);
      board->board().forget_hold(cell, by_message);
    }
    const bool goes = proc.rank == PMIX_RANK_WILDCARD && events::covers(proc, board->here.front());
    if (goes) boards_.drop(board);
  }
  std::erase_if(sent_away_, [&](const SentAway& each) { return events::covers(proc, each.member); });
}

/// Those that are open.
std::vector<GroupBoards::Ref> GroupBoards::boards_of(const pmix_proc_t& member,
                                                     store::BoardNumber number) const {
  std::vector<Ref> out;
  for (const auto& board : boards_) {
    const bool is_meant = number == store::own_job_board || board->number() == number;
    if (is_meant && !board->dissolved && link::holds(board->members, member)) out.push_back(board);
  }
  return out;
}

void GroupBoards::withdraw(const pmix_proc_t& member, store::BoardNumber number,
                           store::Generation generation) {
  for (const auto& board : boards_of(member, number)) dissolve(BoardTicket{board, generation});
}

std::vector<GroupBoards::Full> GroupBoards::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  std::vector<Full> out;
  for (const auto& board : boards_of(member, number)) {
    if (!board->is_full())
      read_records(*board);
    else if (auto full = read_full(board))
      out.push_back(std::move(*full));
  }
  return out;
}

/// Nothing: it was told of before, or the members do not agree, and become messages.
std::optional<GroupBoards::Full> GroupBoards::read_full(const Ref& board) {
  const auto generation = board->board().open_generation();
  if (board->is_remote() && board->read == generation) return std::nullopt;
  const auto tag = board->is_remote() ? board->board().common_tag(board->cells()) : 0;
  auto record = tag == 0 ? std::nullopt : board->ledger().read(generation);
  if (!record || store::tag_of(record->act, record->name) != tag) return dissolve(board), std::nullopt;
  board->read = generation;
  board->ledger().set_read(generation);
  return Full{{board, generation}, std::move(*record)};
}

/// A generation before that of the dissolving has succeeded, and before it no other has failed. Damage can
/// move the word: no more is read than there are records. Where other nodes take part the server has made
/// what is recorded.
void GroupBoards::read_records(GroupBoard& board) {
  if (board.is_remote()) return;
  const auto end = board.dissolved ? *board.dissolved : board.board().open_generation();
  const auto count = end - 1 - board.read;
  if (count == 0) return;
  for (store::Generation i = 1; i <= count && count <= store::GroupLedger::records; ++i)
    if (auto record = board.ledger().read(board.read + i)) made_[board.members].push_back(std::move(*record));
  board.read = end - 1;
  board.ledger().set_read(board.read);
}

GroupBoards::Made GroupBoards::take_records() {
  for (const auto& board : boards_)
    if (!board->dissolved) read_records(*board);
  return std::exchange(made_, {});
}

/// Dissolved boards that no member holds any more are free for other sets.
void GroupBoards::sweep() {
  for (const auto& board : boards_.copy())
    if (board->dissolved) boards_.give_back(board);
}

}  // namespace weft::server
