// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/board.hpp"

#include <new>

#include "pmix_common.h"

namespace weft::store {
namespace {

// Generations wrap after 2^32 fences: compare by distance.
bool before(Generation a, Generation b) noexcept {
  return static_cast<std::int32_t>(a - b) < 0;
}

constexpr std::uint32_t closed_bit = 1;

constexpr std::uint64_t free_mark(Incarnation incarnation) noexcept {
  return std::uint64_t{incarnation} << 32;
}
constexpr std::uint64_t held_mark(Incarnation incarnation) noexcept {
  return free_mark(incarnation) | 1;
}

}  // namespace

Board& Board::create(std::byte* memory, std::uint32_t members, bool remote) noexcept {
  auto& board = *new (memory) Board{};
  board.members_.store(members, std::memory_order_relaxed);
  board.remote_.store(remote ? 1 : 0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < members; ++i) new (&board.cells()[i]) Cell{};
  return board;
}

std::uint64_t Board::next_word(std::uint64_t w, bool failed) noexcept {
  const auto history = static_cast<std::uint16_t>(history_of(w) << 1 | (failed ? 1 : 0));
  return std::uint64_t{generation_of(w) + 1} << 32 | std::uint64_t{history} << 16;
}

/// store(): what the member says with its arrival, into its own cell. ends(): does the last arrival end the
/// generation?
template <class Store, class Ends>
inline Board::Arrival Board::arrive_with(std::uint32_t me, Generation generation, Incarnation incarnation,
                                         Store&& store, Ends&& ends) noexcept {
  auto w = word_.load(std::memory_order_acquire);  // BD.W2 <- W1, W3
  // After the word: with a word of reopen() comes its incarnation. The closed bit does not matter to a member
  // that holds the board: the server is about to see that, and to take the bit back.
  if (incarnation_.load(std::memory_order_relaxed) >> 1 != incarnation) return Arrival::closed;
  if (broken(generation)) {
    // For a host that is to hear of it, by a message that follows.
    store();
    return Arrival::broken;
  }
  if (before(generation_of(w) + 1, generation)) return Arrival::not_open;
  store();                                                           // the CAS below publishes it
  cells()[me].arrived.store(generation, std::memory_order_release);  // BD.A1 -> A2, before the count (I2)
  for (auto changes = most_changes;; --changes) {
    if (changes == 0 || generation_of(w) + 1 != generation) return Arrival::over;
    const auto count = count_of(w) + 1;
    const bool last = count == members();
    const bool completes = last && ends();
    const auto to = completes ? next_word(w, false) : w + 1;
    // The last arriver takes over what all others did before they arrived, and hands it on. seq_cst, because
    // it then asks whether a member sleeps or wants a message (WW.S2, BD.N2).
    if (!word_.compare_exchange_weak(w, to, std::memory_order_seq_cst, std::memory_order_acquire))
      continue;  // BD.W1 -> W2
    if (!last) return Arrival::waiting;
    return completes ? Arrival::completed : Arrival::full;
  }
}

Board::Arrival Board::arrive(std::uint32_t me, Generation generation, Wants wants,
                             Incarnation incarnation) noexcept {
  const std::uint32_t bits = (wants.collect ? collect_bit : 0) | (wants.directives ? directives_bit : 0) |
                             (wants.generated ? generated_bit : 0);
  const auto store = [&] { cells()[me].wants.store(bits, std::memory_order_relaxed); };
  return arrive_with(me, generation, incarnation, store, [&] { return !remote(); });
}

Board::Arrival Board::arrive_alike(std::uint32_t me, Generation generation, std::uint64_t tag,
                                   std::uint32_t members, Incarnation incarnation) noexcept {
  const auto store = [&] { cells()[me].tag.store(tag, std::memory_order_relaxed); };
  return arrive_with(me, generation, incarnation, store,
                     [&] { return !remote() && common_tag(members) != 0; });
}

/// All members are counted, but perhaps for the caller, which has stored its own: their tags came with the
/// word that says so (I8).
std::uint64_t Board::common_tag(std::uint32_t members) const noexcept {
  const auto tag = cells()[0].tag.load(std::memory_order_relaxed);
  for (std::uint32_t i = 1; i < members; ++i)
    if (cells()[i].tag.load(std::memory_order_relaxed) != tag) return 0;
  return tag;
}

Wants Board::wants_of(std::uint32_t member) const noexcept {
  const auto bits = cells()[member].wants.load(std::memory_order_relaxed);
  return {(bits & collect_bit) != 0, (bits & directives_bit) != 0, (bits & generated_bit) != 0};
}

Wants Board::wanted(std::uint32_t members) const noexcept {
  Wants out;
  for (std::uint32_t i = 0; i < members; ++i) out |= wants_of(i);
  return out;
}

Board::Outcome Board::outcome(Generation generation) const noexcept {
  const auto w = word_.load(std::memory_order_seq_cst);  // BD.W2 <- W1
  const auto ended = generation_of(w);
  if (before(ended, generation)) return Outcome::open;
  const auto age = ended - generation;
  // A member that far behind missed 16 generations, none of which can have succeeded.
  if (age >= 16)
    return history_of(w) == 0xffff && before(last_good_.load(std::memory_order_relaxed), generation)
               ? Outcome::failed
               : Outcome::success;
  return (history_of(w) >> age & 1) != 0 ? Outcome::failed : Outcome::success;
}

Board::Verdict Board::verdict(Generation generation) const noexcept {
  const auto& past = past_[generation % past_.size()];
  if (past.generation.load(std::memory_order_acquire) == (known | generation)) {  // BD.V2 <- V1
    const Verdict found{past.status.load(std::memory_order_acquire),              // BD.V4 <- V3
                        past.member.load(std::memory_order_acquire)};             // BD.V4 <- V3
    // Unless the server overwrote it meanwhile with the verdict 16 generations later.
    if (past.generation.load(std::memory_order_relaxed) == (known | generation)) return found;
  }
  const auto why = broken_why_.load(std::memory_order_acquire);  // BD.Q2 <- Q1
  if (why == 0) return {PMIX_ERROR, no_member};
  return {static_cast<std::int32_t>(why), static_cast<std::uint32_t>(why >> 32)};
}

bool Board::broken(Generation generation) const noexcept {
  const auto from = broken_from_.load(std::memory_order_seq_cst);  // BD.B2 <- B1
  return from != 0 && !before(generation, static_cast<Generation>(from));
}

bool Board::complete(Generation generation) noexcept {
  auto w = word_.load(std::memory_order_acquire);  // BD.W2 <- W1
  for (auto changes = most_changes;
       changes != 0 && generation_of(w) + 1 == generation && count_of(w) == members(); --changes)
    if (word_.compare_exchange_weak(w, next_word(w, false), std::memory_order_seq_cst)) {  // BD.W1 -> W2
      waiting_.wake_all();
      return true;
    }
  return false;
}

bool Board::abort(Generation generation, Verdict verdict) noexcept {
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

Generation Board::dissolve(std::int32_t why) noexcept {
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

bool Board::lose(std::uint32_t member, std::int32_t status) noexcept {
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

bool Board::rejoin(std::uint32_t member) noexcept {
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

bool Board::hold(std::uint32_t me, Incarnation incarnation) noexcept {
  auto mark = free_mark(incarnation);
  if (!cells()[me].held.compare_exchange_strong(mark, held_mark(incarnation), std::memory_order_seq_cst))
    return false;  // BD.K1 -> K2, BD.K4 <- K3
  if (incarnation_.load(std::memory_order_seq_cst) == incarnation << 1) return true;  // BD.J2 <- J1
  let_go(me, incarnation);
  return false;
}

void Board::let_go(std::uint32_t me, Incarnation incarnation) noexcept {
  auto mark = held_mark(incarnation);  // after reopen() the mark is another's, and stays
  (void)cells()[me].held.compare_exchange_strong(mark, free_mark(incarnation), std::memory_order_release,
                                                 std::memory_order_relaxed);  // BD.K1 -> K2
}

bool Board::close(std::uint32_t members) noexcept {
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

void Board::reopen(std::uint32_t members, bool remote, Incarnation incarnation) noexcept {
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
