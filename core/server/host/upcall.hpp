// SPDX-License-Identifier: BSD-3-Clause
// Calling the host in both of its completion styles: at once (PMIX_OPERATION_SUCCEEDED or an error is the answer,
// the callback never comes) or later (PMIX_SUCCESS, then exactly one callback, from any thread).
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "pmix_server.h"

namespace weft::server {

/// The calls that the host has not answered yet, and the one that has not returned yet. A host may answer when the server is finalized already: what its answer
/// would have touched is gone by then, and the answer has no effect.
class OpenUpcalls {
 public:
  struct Open {
    virtual ~Open() = default;
    virtual void forget() noexcept = 0;
  };

  explicit OpenUpcalls(asio::io_context& loop) noexcept : loop_(&loop) {}

  /// Runs task(loop) unless the server has gone. Any thread.
  template <class Task>
  void with_loop(Open* open, Task&& task) {
    const std::lock_guard lock(mutex_);
    if (loop_ == nullptr) return;
    open_.erase(open);
    task(*loop_);
  }
  /// False: the server has gone, and its host is not called any more.
  bool add(Open* open) {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) open_.insert(open);
    return loop_ != nullptr;
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return loop_ == nullptr;
  }
  /// As long as it lives the loop's thread is in the upcall of that name, static text.
  class Running {
   public:
    Running(OpenUpcalls& all, const char* name) noexcept
        : name_(all.running_), before_(name_.exchange(name, std::memory_order_relaxed)) {}
    ~Running() { name_.store(before_, std::memory_order_relaxed); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::atomic<const char*>& name_;
    const char* const before_;  // the library may be called by an upcall, and call the next one
  };
  /// The upcall that has not returned; null: none. Any thread.
  const char* running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// The loop does not come out of an upcall: answers have no effect from here on, and no other upcall begins.
  void abandon() noexcept {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }
  /// The server goes; its loop has stopped.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
    for (auto* open : open_) open->forget();
    open_.clear();
  }

 private:
  std::mutex mutex_;
  asio::io_context* loop_;
  std::unordered_set<Open*> open_;
  std::atomic<const char*> running_{nullptr};
};

/// One open call. The host holds it as its opaque pointer; whichever side ends it frees it.
template <class... Answer>
class Upcall final : public OpenUpcalls::Open {
 public:
  using Done = std::function<void(pmix_status_t, Answer...)>;

  Upcall(std::shared_ptr<OpenUpcalls> all, Done done) : all_(std::move(all)), done_(std::move(done)) {}

  /// On the loop thread. name: of the upcall, static text. call(pointer): the host's function. done runs on the loop thread,
  /// exactly once, and not where the server has gone; before make() returns if the host answered at once.
  template <class Call>
  static void make(const std::shared_ptr<OpenUpcalls>& all, const char* name, Done done, Call&& call) {
    auto* open = new Upcall(all, std::move(done));
    if (!all->add(open)) {
      delete open;
      return;
    }
    const auto status = [&]() -> pmix_status_t {
      const OpenUpcalls::Running running(*all, name);
      return call(open->pointer());
    }();
    if (status == PMIX_SUCCESS) return;  // the callback follows, or came already
    const std::unique_ptr<Upcall> ended(open);
    bool is_open = false;
    all->with_loop(open, [&](asio::io_context&) { is_open = true; });
    if (is_open) ended->done_(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, Answer{}...);
  }
  static void finish_from_host(void* pointer, pmix_status_t status, Answer... answer) {
    const std::unique_ptr<Upcall> open(static_cast<Upcall*>(pointer));
    open->all_->with_loop(open.get(), [&](asio::io_context& loop) {
      asio::post(loop, [done = std::move(open->done_), status, ... answers = std::move(answer)]() mutable {
        done(status, std::move(answers)...);
      });
    });
  }

 private:
  void* pointer() noexcept { return this; }
  void forget() noexcept override { done_ = nullptr; }

  const std::shared_ptr<OpenUpcalls> all_;
  Done done_;
};

using OpUpcall = Upcall<>;

/// The pmix_op_cbfunc_t of an OpUpcall.
inline void on_op_done(pmix_status_t status, void* pointer) {
  OpUpcall::finish_from_host(pointer, status);
}

}  // namespace weft::server
