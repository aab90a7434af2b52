// SPDX-License-Identifier: BSD-3-Clause
// The open operations of an endpoint, kept in the scratch bytes of their completions: no allocation, and each
// ends exactly once.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "weft/transport.hpp"

namespace weft::transport {

/// Stands at the start of the scratch bytes of each open Completion. A transport derives from it to add its
/// own state.
struct Operation {
  Operation* next = nullptr;
  Operation* previous = nullptr;
  Completion* completion = nullptr;
  const Peer* peer = nullptr;
  const MemoryRegion* region = nullptr;  ///< the region that a get writes to; NULL for a message
};

class Operations {
 public:
  Operations() {
    head_.next = head_.previous = &head_;
    ending_.next = ending_.previous = &ending_;
  }
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
    link(*operation, head_);
    ++count_;
    return *operation;
  }

  /// Removes an operation whose start failed; done() is not called.
  void forget(Operation& operation) noexcept {
    unlink(operation);
    --count_;
  }

  /// The memory of the operation may be invalid when this returns: done() may free it, or open it again.
  void end(Operation& operation, Result<void> outcome) noexcept {
    forget(operation);
    Completion& completion = *operation.completion;
    completion.done(completion, outcome);
  }

  /// Calls let_go() for each operation that `which` picks, then ends it; skips operations that a done() opens
  /// meanwhile. A done() may destroy another peer and so re-enter this function for its operations: those of
  /// them that were picked already are ended in that call.
  template <class Which, class LetGo>
  void end_if(Which&& which, const Error& why, LetGo&& let_go) noexcept {
    for (Operation* at = head_.next; at != &head_;) {
      Operation& operation = *at;
      at = at->next;
      if (!which(static_cast<const Operation&>(operation))) continue;
      let_go(operation);
      unlink(operation);
      link(operation, ending_);
    }
    for (Operation* at = ending_.next; at != &ending_;) {
      if (which(static_cast<const Operation&>(*at))) {
        end(*at, fail(why));
        at = ending_.next;  // done() may have changed the list
      } else {
        at = at->next;
      }
    }
  }
  template <class Which>
  void end_if(Which&& which, const Error& why) noexcept {
    end_if(which, why, [](Operation&) {});
  }

  template <class See>
  void each(See&& see) const {
    for (const Operation* at = head_.next; at != &head_; at = at->next) see(*at);
  }

  /// Moves an operation to the list in which it will end, as its youngest.
  void move(Operation& operation, Operations& to) noexcept {
    forget(operation);
    link(operation, to.head_);
    ++to.count_;
  }
  /// see() may forget or move what it is given.
  template <class See>
  void each(See&& see) {
    for (Operation* at = head_.next; at != &head_;) {
      Operation& operation = *at;
      at = at->next;
      see(operation);
    }
  }

  /// The operation that was opened first; NULL: none.
  Operation* first() noexcept { return head_.next == &head_ ? nullptr : head_.next; }
  std::size_t size() const noexcept { return count_; }

 private:
  static void link(Operation& operation, Operation& list) noexcept {
    operation.next = &list;
    operation.previous = list.previous;
    list.previous->next = &operation;
    list.previous = &operation;
  }
  static void unlink(Operation& operation) noexcept {
    operation.previous->next = operation.next;
    operation.next->previous = operation.previous;
  }

  Operation head_;
  Operation ending_;  ///< picked by an end_if() in progress
  std::size_t count_ = 0;
};

}  // namespace weft::transport
