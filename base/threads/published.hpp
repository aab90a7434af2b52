// SPDX-License-Identifier: BSD-3-Clause
// A value that is read without a lock and without waiting, also in the child of a fork, where the thread that
// was replacing it does not exist any more.
//
// P1  A reader is counted from before it loads the pointer until it has done with the object behind it.
// P2  A writer replaces the pointer before it looks at the count. Where it finds no reader, all readers that
//     come later find the new value, and the old one is freed. Else the old one is freed by a later change,
//     or at the end.
// P1 and P2 are each a store before a load of another word, so they are sequentially consistent. A fork
// leaves a count that may be too high in the child, which only reads.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::base {

template <class T>
class Published {
 public:
  explicit Published(T first = {}) : now_(new T(std::move(first))) {}
  ~Published() { delete now_.load(std::memory_order_relaxed); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  /// read(const T&), whose result does not refer to the value. Any thread.
  template <class Read>
  auto read(Read&& read) const {
    const Counted counted(readers_);
    return std::forward<Read>(read)(*now_.load(std::memory_order_seq_cst));  // PB.N1 <-> N2
  }
  /// change(T&) is given a copy, which then replaces the value. Any thread, one at a time.
  template <class Change>
  void change(Change&& change) {
    const std::lock_guard lock(mutex_);
    auto next = std::make_unique<T>(*now_.load(std::memory_order_relaxed));
    std::forward<Change>(change)(*next);
    replaced_.reserve(replaced_.size() + 1);
    replaced_.emplace_back(now_.exchange(next.release(), std::memory_order_seq_cst));  // PB.N2 <-> N1
    if (readers_.load(std::memory_order_seq_cst) == 0) replaced_.clear();              // PB.C2 <- C1, C3
  }

 private:
  struct Counted {
    explicit Counted(std::atomic<unsigned>& of) noexcept : readers(of) {
      readers.fetch_add(1, std::memory_order_seq_cst);  // PB.C1 -> C2
    }
    ~Counted() { readers.fetch_sub(1, std::memory_order_release); }  // PB.C3 -> C2
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<unsigned>& readers;
  };

  std::atomic<T*> now_;
  mutable std::atomic<unsigned> readers_{0};
  std::mutex mutex_;  // of writers
  std::vector<std::unique_ptr<T>> replaced_;
};

}  // namespace weft::base
