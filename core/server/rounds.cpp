// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/rounds.hpp"

#include <array>
#include <bit>

namespace weft::server {

/// True: something has happened, or may at any moment.
bool Rounds::progress(bool may_rest) {
  auto& cluster = rooms_.cluster;
  // Nothing comes. Pieces of work that end in each round would let a loop that hangs look as if it got on.
  if (!cluster.is_open()) return false;
  const LoopWatch::Work work(watch_, "what came from other nodes");
  bool has_moved = cluster.turn(may_rest);
  has_moved |= rooms_.cards.progress() != 0;
  for (const auto& lost : cluster.take_lost()) rooms_.ends.node_lost(lost);
  rooms_.fence_watch.follow_exchanges();
  return has_moved;
}

/// A doorbell a job: what a client stores there by mistake keeps the notices of its own job from waking the
/// server, of no other.
void Rounds::answer_doorbells(bool is_awake) {
  rooms_.jobs.each(
      [is_awake](Job& job) { is_awake ? job.writer->doorbell().awake() : job.writer->doorbell().asleep(); });
}

void Rounds::drain_notices() {
  rooms_.jobs.each([this](Job& job) {
    const auto words = (job.view().header().local_capacity + 63) / 64;
    for (std::uint32_t word = 0; word < words; ++word) {
      auto& dirty = job.writer->dirty(word);
      if (dirty.load(std::memory_order_relaxed) == 0) continue;
      for (auto bits = dirty.exchange(0, std::memory_order_acquire); bits != 0; bits &= bits - 1) {
        const auto local = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        if (local < job.view().local_count()) drain_ring(job, local);
      }
    }
  });
}

void Rounds::drain_ring(Job& job, std::uint32_t local) {
  const auto of = link::make_proc(job.nspace, job.rank_of(local));
  const LoopWatch::Work work(watch_, "notices", &of);
  std::array<store::BoardNumber, shm::NoticeRing::slots> boards;
  std::size_t board_count = 0;
  bool is_fetch = false, is_commit = false;
  const auto count = job.writer->ring(local).drain([&](shm::Notice notice) {
    const auto kind = static_cast<store::NoticeKind>(notice.kind);
    if (kind == store::NoticeKind::committed)
      is_commit = true;
    else if (kind == store::NoticeKind::fetch)
      is_fetch = true;
    else
      boards[board_count++] = notice.arg;
  });
  // A full ring may have dropped a notice, and the bit may have come before its notice: then everything is
  // looked at.
  const bool all = count == 0 || count == shm::NoticeRing::slots;
  if (all || is_fetch) rooms_.cards.answer_cell(job, local);
  if (all) rooms_.fences.look_at_all(job);
  if (all) rooms_.gatherings.look_at(of, store::own_job_board);
  for (std::size_t i = 0; i < board_count && !all; ++i)
    rooms_.group_boards.owns(boards[i]) ? rooms_.gatherings.look_at(of, boards[i])
                                        : rooms_.fences.look_at(job, boards[i]);
  if (all || is_commit) rooms_.gets.retry(of);
}

}  // namespace weft::server
