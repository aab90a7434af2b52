// SPDX-License-Identifier: BSD-3-Clause
// Which thread turns a loop: the loop's own, or, where a program does that by its calls, whichever of its
// threads is in one.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace weft::base {

/// One thread drives at a time.
class Driver {
 public:
  enum class IfTaken : bool { leave, wait };

  /// As long as a turn lives the calling thread drives the loop. Where another thread drives already the turn
  /// is false, or waits for the end of the other. Inside a turn of the same thread it is true, and its end
  /// changes nothing.
  class Turn {
   public:
    explicit Turn(Driver& driver, IfTaken taken = IfTaken::leave) : driver_(driver) {
      if (driver_.is_here()) return;
      auto lock = std::unique_lock(driver_.mutex_, std::defer_lock);
      if (taken == IfTaken::wait)
        lock.lock();
      else if (!lock.try_lock())
        return;
      lock_ = std::move(lock);
      driver_.thread_.store(std::this_thread::get_id(), std::memory_order_release);
    }
    ~Turn() {
      if (lock_.owns_lock()) driver_.thread_.store(std::thread::id(), std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const noexcept { return driver_.is_here(); }

   private:
    Driver& driver_;
    std::unique_lock<std::mutex> lock_;
  };

  bool is_here() const noexcept {
    return thread_.load(std::memory_order_acquire) == std::this_thread::get_id();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> thread_{};
};

}  // namespace weft::base
