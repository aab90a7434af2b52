// SPDX-License-Identifier: BSD-3-Clause
// The open operations of an endpoint, kept in the scratch bytes of their completions: no allocation, and each of them
// ends exactly once.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "weft/transport.hpp"

namespace weft::transport {

/// Begins the scratch bytes of each open Completion. A transport derives from it for what it needs besides.
struct Operation {
  Operation* next = nullptr;
  Operation* previous = nullptr;
  Completion* completion = nullptr;
  const Peer* peer = nullptr;
  const MemoryRegion* region = nullptr;  ///< that a get writes to; NULL for a message
};

class Operations {
 public:
  Operations() { head_.next = head_.previous = &head_; }
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  template <class T>
  T& open(Completion& completion, const Peer& peer, const MemoryRegion* region) noexcept {
    static_assert(std::is_base_of_v<Operation, T> && std::is_trivially_destructible_v<T>);
    static_assert(sizeof(T) <= sizeof completion.transport && alignof(T) <= 16);
    T* operation = ::new (static_cast<void*>(completion.transport)) T;
    operation->completion = &completion;
    operation->peer = &peer;
    operation->region = region;
    operation->next = &head_;
    operation->previous = head_.previous;
    head_.previous->next = operation;
    head_.previous = operation;
    ++count_;
    return *operation;
  }

  /// For one whose start failed after all: it ends without a word.
  void forget(Operation& operation) noexcept {
    operation.previous->next = operation.next;
    operation.next->previous = operation.previous;
    --count_;
  }

  /// Its memory may be gone when this returns: done() may free it, or open it again.
  void end(Operation& operation, Result<void> outcome) noexcept {
    forget(operation);
    Completion& completion = *operation.completion;
    completion.done(completion, outcome);
  }

  /// Ends those that `which` picks; what done() opens meanwhile is not looked at.
  template <class Which>
  void end_if(Which&& which, const Error& why) noexcept {
    Operations picked;
    for (Operation* at = head_.next; at != &head_;) {
      Operation& operation = *at;
      at = at->next;
      if (!which(static_cast<const Operation&>(operation))) continue;
      forget(operation);
      picked.take(operation);
    }
    while (picked.head_.next != &picked.head_) picked.end(*picked.head_.next, fail(why));
  }

  template <class See>
  void each(See&& see) const {
    for (const Operation* at = head_.next; at != &head_; at = at->next) see(*at);
  }

  /// The one that was opened first; NULL: none.
  Operation* first() noexcept { return count_ == 0 ? nullptr : head_.next; }
  std::size_t size() const noexcept { return count_; }

 private:
  void take(Operation& operation) noexcept {
    operation.next = &head_;
    operation.previous = head_.previous;
    head_.previous->next = &operation;
    head_.previous = &operation;
    ++count_;
  }

  Operation head_;
  std::size_t count_ = 0;
};

}  // namespace weft::transport
