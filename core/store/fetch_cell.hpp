// SPDX-License-Identifier: BSD-3-Clause
// A local rank wants the card of a rank on another node: its question to the server and the answer. One a local rank, in
// the job's control area. The card itself goes where all see it; the answer says only that it is there, or why not.
//
//   | asked = number:32 | rank:32 | answered = number:32 | status:32 | seen:32 |   | waiting, 1 line |
//
// `seen` is the link to the rank's newest remote piece (RemoteCards) when the asker last looked in vain: where the server
// has appended another since, there is something new to look at, and nothing is fetched for this question.
//
// I1  `asked` and `seen` are written by the rank's own process, one question at a time; `answered` by the server.
// I2  Questions are numbered from 1. One is answered when `answered` has its number. A rank that gives up asks the next
//     with the next number, and never takes the answer to the one before for its own.
// I3  The server trusts none of it: an unknown rank is an answer, a number it has answered is no question, and a wrong
//     `seen` costs its asker a look or a read more.
// Crash: of the rank: an answer that nobody reads. Of the server: the rank's wait looks after each slice whether its
//     server lives.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/shm/wait.hpp"

namespace weft::store {

class alignas(64) FetchCell {
 public:
  static constexpr std::uint32_t anything = ~std::uint32_t{0};  ///< as `seen`: no link

  struct Question {
    std::uint32_t number = 0;  ///< 0: none was asked
    std::uint32_t rank = 0;
    std::uint32_t seen = 0;
  };

  /// The rank's process, which then leaves a notice. Number of the question.
  std::uint32_t ask(std::uint32_t rank, std::uint32_t seen) noexcept {
    const auto number = static_cast<std::uint32_t>(asked_.load(std::memory_order_relaxed) >> 32) + 1;
    seen_.store(seen, std::memory_order_relaxed);                                 // with FC.F1
    asked_.store(std::uint64_t{number} << 32 | rank, std::memory_order_release);  // FC.F1 -> F2
    return number;
  }
  /// The rank's process. False: not yet.
  bool answered(std::uint32_t number, std::int32_t& status) const noexcept {
    const auto answer = answered_.load(std::memory_order_seq_cst);  // FC.A2 <- A1, and after WW.S1
    status = static_cast<std::int32_t>(static_cast<std::uint32_t>(answer));
    return static_cast<std::uint32_t>(answer >> 32) == number;
  }
  shm::WaitWord& waiting() noexcept { return waiting_; }

  /// The server.
  Question question() const noexcept {
    const auto asked = asked_.load(std::memory_order_acquire);  // FC.F2 <- F1
    return {static_cast<std::uint32_t>(asked >> 32), static_cast<std::uint32_t>(asked),
            seen_.load(std::memory_order_relaxed)};
  }
  /// The card was published before.
  void answer(std::uint32_t number, std::int32_t status) noexcept {
    answered_.store(std::uint64_t{number} << 32 | static_cast<std::uint32_t>(status),
                    std::memory_order_seq_cst);  // FC.A1 -> A2
    waiting_.wake_all();
  }

 private:
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<std::uint32_t> seen_{0};
  shm::WaitWord waiting_;
};
static_assert(sizeof(FetchCell) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace weft::store
