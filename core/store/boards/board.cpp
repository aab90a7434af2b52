// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/board.hpp"

#include "pmix_common.h"

namespace weft::store {

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

}  // namespace weft::store
