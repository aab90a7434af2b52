// SPDX-License-Identifier: BSD-3-Clause
// Which threads are inside a call of the library now. PMIx_Finalize takes the roles away, so that new calls
// find none, and then waits here for those that found one before.
//
// Cost      A call writes two words of its own thread: no lock, no cache line that another thread writes.
// Order     K1  A thread says that it is inside, then looks for its role.
//           K2  Finalize takes the role away, then looks which threads are inside.
//           The order of each pair is what matters, and a store before a load is the one that processors
//           swap. Finalize has the kernel put a barrier into every thread (membarrier), so that K1 needs
//           none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::abi {

/// The record of one thread: whether it is inside a call. Only that thread writes it; in a child of fork()
/// the forking thread clears those of its parent's threads.
struct CallSlot {
  alignas(64) std::atomic<std::uint64_t> turns{0};  ///< odd: inside
  unsigned nested = 0;                              ///< calls of callbacks of the call
  std::atomic<bool> is_used{true};                  ///< false: its thread has ended
  CallSlot* next = nullptr;
};

/// This thread's; null before its first call.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit CallSlot* own_call_slot;
/// The calling thread's slot, made where there is none. Throws std::bad_alloc.
[[gnu::cold]] CallSlot& make_call_slot();

/// This object marks its thread as being inside a call for as long as it lives.
class InCall {
 public:
  InCall() : slot_(own_call_slot != nullptr ? *own_call_slot : make_call_slot()) {
    const auto turns = slot_.turns.load(std::memory_order_relaxed);
    if ((turns & 1) == 0)
      turn(slot_, turns);
    else
      ++slot_.nested;
  }
  ~InCall() {
    if (slot_.nested == 0)
      turn(slot_, slot_.turns.load(std::memory_order_relaxed));
    else
      --slot_.nested;
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  friend class OutsideCall;
  static void turn(CallSlot& slot, std::uint64_t now) noexcept {
    // Release: what the call did with the role comes before. A lock prefix is not needed: no other thread
    // writes.
    slot.turns.store(now + 1, std::memory_order_release);  // CA.S1 -> S2
    std::atomic_signal_fence(std::memory_order_seq_cst);   // K1
  }
  CallSlot& slot_;
};

/// Inside a call, but where it waits for the end of a PMIx_Finalize, which would wait for it.
class OutsideCall {
 public:
  OutsideCall() noexcept
      : slot_(own_call_slot != nullptr && own_call_slot->nested == 0 ? own_call_slot : nullptr) {
    turn();
  }
  ~OutsideCall() { turn(); }
  OutsideCall(const OutsideCall&) = delete;
  OutsideCall& operator=(const OutsideCall&) = delete;

 private:
  void turn() noexcept {
    if (slot_ != nullptr) InCall::turn(*slot_, slot_->turns.load(std::memory_order_relaxed));
  }
  CallSlot* slot_;
};

/// Waits until each other thread has left the call that it is in now. False: not within that time.
bool others_have_left(std::chrono::milliseconds limit);

/// In the child of a fork, which has no thread of its parent but the one that called.
void forget_threads_of_parent() noexcept;

}  // namespace weft::abi
