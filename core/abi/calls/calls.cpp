// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/calls/calls.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::abi {

thread_local constinit CallSlot* own_call_slot = nullptr;

namespace {

/// All slots there ever were: as many as threads called at one time. Never freed, so that a list can be
/// walked at any time.
std::atomic<CallSlot*> all_slots{nullptr};

/// Gives the thread's slot back when the thread ends.
struct SlotOwner {
  ~SlotOwner() {
    if (CallSlot* const slot = std::exchange(own_call_slot, nullptr))
      slot->is_used.store(false, std::memory_order_release);  // CA.U1 -> U2
  }
};

CallSlot& free_or_new_slot() {
  for (auto* slot = all_slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    bool is_used = false;
    if (slot->is_used.compare_exchange_strong(is_used, true, std::memory_order_acquire))
      return *slot;  // CA.U2 <- U1
  }
  auto* const slot = new CallSlot;
  slot->next = all_slots.load(std::memory_order_relaxed);
  while (!all_slots.compare_exchange_weak(slot->next, slot, std::memory_order_acq_rel)) continue;
  return *slot;
}

/// Every thread of this process has carried out its stores, and sees ours.
void synchronize_threads() noexcept {
  const auto membarrier = [](int command) { return ::syscall(SYS_membarrier, command, 0, 0); };
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
    return;
  if (membarrier(MEMBARRIER_CMD_GLOBAL) == 0) return;
  // A sandbox without the call: far longer than a store waits in a processor.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

CallSlot& make_call_slot() {
  thread_local SlotOwner owner;
  (void)owner;
  own_call_slot = &free_or_new_slot();
  std::atomic_thread_fence(
      std::memory_order_seq_cst);  // CA.F1 <-> F2: it is in the list, or its thread finds no role
  return *own_call_slot;
}

bool others_have_left(std::chrono::milliseconds limit) {
  std::vector<std::pair<const CallSlot*, std::uint64_t>> inside;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // CA.F2 <-> F1
  const auto* const first = all_slots.load(std::memory_order_acquire);
  if (first == nullptr || (first == own_call_slot && first->next == nullptr)) return true;
  synchronize_threads();  // K2
  for (const auto* slot = all_slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    const auto turns = slot->turns.load(std::memory_order_acquire);  // CA.S2 <- S1
    if (slot != own_call_slot && (turns & 1) != 0) inside.emplace_back(slot, turns);
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const auto& [slot, turns] : inside)
    while (slot->turns.load(std::memory_order_acquire) == turns) {  // CA.S2 <- S1
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  return true;
}

void forget_threads_of_parent() noexcept {
  for (auto* slot = all_slots.load(std::memory_order_relaxed); slot != nullptr; slot = slot->next) {
    if (slot == own_call_slot) continue;
    slot->turns.store(0, std::memory_order_relaxed);
    slot->nested = 0;
    slot->is_used.store(false, std::memory_order_relaxed);
  }
}

}  // namespace weft::abi
