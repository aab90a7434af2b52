// SPDX-License-Identifier: BSD-3-Clause
// A local rank wants the card of a rank on another node: its request to the server and the reply. Each local
// rank has one cell, in the job's control area. The card itself goes where every process of the node sees it;
// the reply says only that it is there, or why not.
//
//   | asked = number:32 | rank:32 | answered = number:32 | outcome:32 | seen:32 | until:32 |   | waiting, 1 line |
//
// `seen` is the link to the rank's newest remote piece (RemoteCards) at the requester's last lookup, which
// failed. Where the server has appended another piece since, it replies at once instead of fetching.
//
// I1  `asked`, `seen` and `until` are written by the rank's own process, one request at a time; `answered` by
//     the server.
// I2  Requests are numbered from 1. A request has its reply when `answered` has its number. A rank that gives
//     up makes its next request with the next number, and never takes the reply to the one before for its
//     own.
// I3  The server trusts none of it: an unknown rank gets a reply, a number that has its reply is no request,
//     and a wrong `seen` or `until` costs the requester a lookup, a read or a wait.
// Crash: a rank that dies leaves a reply that no process reads. A server that dies ends the rank's wait,
//     which looks after each slice whether its server lives.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "transport/shm/wait.hpp"

namespace weft::store {

class alignas(64) FetchCell {
 public:
  static constexpr std::uint32_t anything = ~std::uint32_t{0};  ///< as `seen`: no link

  /// The time of the reply about a rank that has committed nothing yet.
  enum class Until : std::uint32_t {
    commit = 0,  ///< it replies when the rank has committed, or has ended
    now = 1,     ///< it replies what it knows
  };
  /// A reply. A negative number is a PMIx status: why there is no card.
  enum Outcome : std::int32_t {
    fetched = 0,     ///< all that the rank had committed, at a moment after the request, is there
    changed = 1,     ///< nothing was fetched, because there is something newer than `seen`
    by_message = 2,  ///< the host brings cards: the requester has to send a message
  };

  struct Request {
    std::uint32_t number = 0;  ///< 0: there is none
    std::uint32_t rank = 0;
    std::uint32_t seen = 0;
    Until until = Until::commit;
  };

  /// The rank's process, which then leaves a notice. Number of the request.
  std::uint32_t post(std::uint32_t rank, std::uint32_t seen, Until until) noexcept {
    const auto number = static_cast<std::uint32_t>(asked_.load(std::memory_order_relaxed) >> 32) + 1;
    seen_.store(seen, std::memory_order_relaxed);                                 // with FC.F1
    until_.store(until, std::memory_order_relaxed);                               // with FC.F1
    asked_.store(std::uint64_t{number} << 32 | rank, std::memory_order_release);  // FC.F1 -> F2
    return number;
  }
  /// The rank's process. False: not yet.
  bool has_reply(std::uint32_t number, std::int32_t& outcome) const noexcept {
    const auto answer = answered_.load(std::memory_order_seq_cst);  // FC.A2 <- A1, and after WW.S1
    outcome = static_cast<std::int32_t>(static_cast<std::uint32_t>(answer));
    return static_cast<std::uint32_t>(answer >> 32) == number;
  }
  shm::WaitWord& waiting() noexcept { return waiting_; }
  /// An observer: the rank of the last request, where it has no reply yet.
  std::optional<std::uint32_t> awaited_rank() const noexcept {
    const auto answered = answered_.load(std::memory_order_relaxed);  // a hint: both may move on
    const auto asked = asked_.load(std::memory_order_relaxed);
    if (asked >> 32 == 0 || asked >> 32 == answered >> 32) return std::nullopt;
    return static_cast<std::uint32_t>(asked);
  }

  /// The server.
  Request request() const noexcept {
    const auto asked = asked_.load(std::memory_order_acquire);  // FC.F2 <- F1
    const auto until = until_.load(std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(asked >> 32), static_cast<std::uint32_t>(asked),
            seen_.load(std::memory_order_relaxed), until == Until::now ? Until::now : Until::commit};
  }
  /// The card was published before. outcome: an Outcome, or a PMIx status.
  void reply(std::uint32_t number, std::int32_t outcome) noexcept {
    answered_.store(std::uint64_t{number} << 32 | static_cast<std::uint32_t>(outcome),
                    std::memory_order_seq_cst);  // FC.A1 -> A2
    waiting_.wake_all();
  }

 private:
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<std::uint32_t> seen_{0};
  std::atomic<Until> until_{Until::commit};
  shm::WaitWord waiting_;
};
static_assert(sizeof(FetchCell) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace weft::store
