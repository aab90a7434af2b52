// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/server_board.hpp"

#include <new>

namespace weft::store {

ServerBoard& ServerBoard::create(std::byte* memory, std::uint32_t members, bool remote) noexcept {
  auto& board = *new (memory) ServerBoard{};
  board.members_.store(members, std::memory_order_relaxed);
  board.remote_.store(remote ? 1 : 0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < members; ++i) new (&board.cells()[i]) Cell{};
  return board;
}

Wants ServerBoard::wants_of(std::uint32_t member) const noexcept {
  const auto bits = cells()[member].wants.load(std::memory_order_relaxed);
  return {(bits & collect_bit) != 0, (bits & directives_bit) != 0, (bits & generated_bit) != 0};
}

Wants ServerBoard::wanted(std::uint32_t members) const noexcept {
  Wants out;
  for (std::uint32_t i = 0; i < members; ++i) out |= wants_of(i);
  return out;
}

bool ServerBoard::take_notice(std::uint32_t member) noexcept {
  if (cell(member).notify.exchange(0, std::memory_order_acq_rel) == 0) return false;  // BD.M1 -> M2
  async_waiters_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void ServerBoard::hand_to_host() noexcept {
  remote_.store(by_host_mark, std::memory_order_relaxed);
}

bool ServerBoard::complete(Generation generation) noexcept {
  auto w = word_.load(std::memory_order_acquire);  // BD.W2 <- W1
  for (auto changes = most_changes;
       changes != 0 && generation_of(w) + 1 == generation && count_of(w) == members(); --changes)
    if (word_.compare_exchange_weak(w, next_word(w, false), std::memory_order_seq_cst)) {  // BD.W1 -> W2
      waiting_.wake_all();
      return true;
    }
  return false;
}

bool ServerBoard::abort(Generation generation, Verdict verdict) noexcept {
  auto& past = past_[generation % past_.size()];
  past.generation.store(0, std::memory_order_relaxed);
  past.status.store(verdict.status, std::memory_order_release);          // BD.V3 -> V4: the 0 above first
  past.member.store(verdict.member, std::memory_order_release);          // BD.V3 -> V4
  past.generation.store(known | generation, std::memory_order_release);  // BD.V1 -> V2, before the CAS (I3)
  auto w = word_.load(std::memory_order_acquire);                        // BD.W2 <- W1
  for (auto changes = most_changes; changes != 0 && generation_of(w) + 1 == generation; --changes) {
    if ((history_of(w) & 1) == 0)
      last_good_.store(generation_of(w), std::memory_order_relaxed);  // the CAS publishes it
    if (word_.compare_exchange_weak(w, next_word(w, true), std::memory_order_seq_cst)) {  // BD.W1 -> W2
      waiting_.wake_all();
      return true;
    }
  }
  return false;
}

Generation ServerBoard::dissolve(std::int32_t why) noexcept {
  broken_why_.store(std::uint64_t{no_member} << 32 | static_cast<std::uint32_t>(why),
                    std::memory_order_release);  // BD.Q1 -> Q2
  // Where a last arriver ends it meanwhile, members that have not seen "broken" may be at the next, and at
  // none behind that. More turns than that are damage.
  for (unsigned turns = 4;; --turns) {
    const auto open = open_generation();
    broken_from_.store(known | open, std::memory_order_seq_cst);  // BD.B1 -> B2
    if (abort(open, {why, no_member}) || turns == 0) return open;
  }
}

bool ServerBoard::lose(std::uint32_t member, std::int32_t status) noexcept {
  if (cells()[member].lost.exchange(status, std::memory_order_relaxed) != 0) return false;
  if (lost_count_.fetch_add(1, std::memory_order_relaxed) != 0) return false;  // an earlier loss did the rest
  const auto w = word_.load(std::memory_order_acquire);                        // BD.W2 <- W1
  const Generation open = generation_of(w) + 1;
  broken_why_.store(std::uint64_t{member} << 32 | static_cast<std::uint32_t>(status),
                    std::memory_order_release);                                 // BD.Q1 -> Q2
  broken_from_.store(known | Generation{open + 1}, std::memory_order_seq_cst);  // BD.B1 -> B2
  // With a member counted in it, the lost one may be, too, and another about to be the last: the CAS decides
  // (I4). With none counted it cannot complete; left open, it costs no failure if the member comes back.
  const bool has_ended = count_of(w) != 0 && abort(open, {status, member});
  if (count_of(w) == 0) broken_from_.store(known | open, std::memory_order_seq_cst);  // BD.B1 -> B2
  waiting_.wake_all();
  return has_ended;
}

bool ServerBoard::rejoin(std::uint32_t member) noexcept {
  auto& cell = cells()[member];
  const auto status = cell.lost.exchange(0, std::memory_order_relaxed);
  if (status == 0) return false;
  cell.held.store(free_mark(incarnation_.load(std::memory_order_relaxed) >> 1),
                  std::memory_order_release);  // BD.K3 -> K4
  if (lost_count_.fetch_sub(1, std::memory_order_relaxed) > 1) {
    // The board stays broken: another member is still lost. The cells say which, but a loop over them would
    // trust a count that clients write.
    const auto why = broken_why_.load(std::memory_order_relaxed);
    if (static_cast<std::uint32_t>(why >> 32) == member)
      broken_why_.store(std::uint64_t{no_member} << 32 | static_cast<std::uint32_t>(why),
                        std::memory_order_release);  // BD.Q1 -> Q2
    return false;
  }
  // A member that counted itself while the board was broken left with an error: it counts no more (I5).
  const auto w = word_.load(std::memory_order_acquire);  // BD.W2 <- W1
  const bool has_ended = count_of(w) != 0 && abort(generation_of(w) + 1, {status, member});
  broken_why_.store(0, std::memory_order_release);   // BD.Q1 -> Q2
  broken_from_.store(0, std::memory_order_seq_cst);  // BD.B1 -> B2
  return has_ended;
}

bool ServerBoard::close(std::uint32_t members) noexcept {
  const auto state = incarnation_.load(std::memory_order_relaxed) & ~closed_bit;
  incarnation_.store(state | closed_bit, std::memory_order_seq_cst);  // BD.J1 -> J2
  const auto held = held_mark(state >> 1);
  for (std::uint32_t i = 0; i < members; ++i) {
    const auto& cell = cells()[i];
    if (cell.held.load(std::memory_order_seq_cst) != held) continue;  // BD.K2 <- K1
    if (cell.lost.load(std::memory_order_relaxed) != 0) continue;
    incarnation_.store(state, std::memory_order_seq_cst);  // BD.J1 -> J2
    return false;
  }
  return true;
}

void ServerBoard::reopen(std::uint32_t members, bool remote, Incarnation incarnation) noexcept {
  // I7: the incarnation first, still closed, then the word, then the board is open.
  incarnation_.store(incarnation << 1 | closed_bit, std::memory_order_seq_cst);  // BD.J1 -> J2
  const Generation spent = generation_of(word_.load(std::memory_order_relaxed)) + 1;
  for (std::uint32_t i = 0; i < members; ++i) {
    auto& cell = cells()[i];
    cell.arrived.store(spent, std::memory_order_relaxed);
    cell.notify.store(0, std::memory_order_relaxed);
    cell.lost.store(0, std::memory_order_relaxed);
    cell.wants.store(0, std::memory_order_relaxed);
    cell.tag.store(0, std::memory_order_relaxed);
    cell.held.store(free_mark(incarnation), std::memory_order_relaxed);  // published by the stores below
  }
  members_.store(members, std::memory_order_relaxed);
  remote_.store(remote ? 1 : 0, std::memory_order_relaxed);
  waiting_.sleepers.store(0, std::memory_order_relaxed);
  async_waiters_.store(0, std::memory_order_relaxed);
  last_good_.store(spent, std::memory_order_relaxed);
  lost_count_.store(0, std::memory_order_relaxed);
  broken_why_.store(0, std::memory_order_relaxed);
  broken_from_.store(0, std::memory_order_relaxed);
  word_.store(std::uint64_t{spent} << 32, std::memory_order_release);  // BD.W3 -> W2
  incarnation_.store(incarnation << 1, std::memory_order_seq_cst);     // BD.J1 -> J2
}

}  // namespace weft::store
