// SPDX-License-Identifier: BSD-3-Clause
// Calling the host in each of its completion styles: at once (PMIX_OPERATION_SUCCEEDED or an error is the
// answer, the callback never comes) or later (PMIX_SUCCESS, then a callback, from any thread, perhaps before
// the upcall has returned).
//
// A host answers with the pointer that it was given. That is a number, which leads to the open upcall through
// a table of this process: a second answer, or one that comes when the server has ended, finds nothing there
// and has no effect.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "pmix_server.h"

namespace weft::server {

class OpenUpcalls;

/// An upcall that the host has not answered yet.
struct OpenUpcall {
  OpenUpcall(std::shared_ptr<OpenUpcalls> of, const char* upcall) noexcept
      : server(std::move(of)), name(upcall) {}
  virtual ~OpenUpcall() = default;
  OpenUpcall(const OpenUpcall&) = delete;
  OpenUpcall& operator=(const OpenUpcall&) = delete;

  const std::shared_ptr<OpenUpcalls> server;
  const char* const name;  ///< static text
};

/// Of all servers that this process has had. It is never destroyed: a host may answer at any time.
class UpcallTable {
 public:
  static UpcallTable& of_process() noexcept;

  /// The pointer for the host; null: the server has ended, and its host is not called any more.
  void* add(std::unique_ptr<OpenUpcall> open);
  /// For the status that an upcall has returned. Null: its callback was there before, or the server has
  /// ended.
  std::unique_ptr<OpenUpcall> take(void* pointer);
  /// For a callback: hand_on(open upcall, loop), under the table's lock, unless there is nothing to answer
  /// any more.
  template <class HandOn>
  void answer(void* pointer, HandOn&& hand_on) {
    const std::lock_guard lock(mutex_);
    const auto open = take_locked(pointer);
    if (open == nullptr) return say_if_twice(pointer);
    hand_on(*open, *loop_of(*open->server));
  }
  bool is_closed(const OpenUpcalls& server);
  /// No answer to an upcall of this server has an effect from here on; and what the answers would have
  /// touched is freed here (`close`) or stays (`abandon`, where the loop is still in the host).
  void close(OpenUpcalls& server) noexcept;
  void abandon(OpenUpcalls& server) noexcept;

 private:
  using Number = std::uintptr_t;
  static constexpr std::size_t most_answered = 256;

  static asio::io_context* loop_of(const OpenUpcalls& server) noexcept;
  std::unique_ptr<OpenUpcall> take_locked(void* pointer);  ///< null: nothing to answer
  void say_if_twice(void* pointer);

  std::mutex mutex_;
  std::unordered_map<Number, std::unique_ptr<OpenUpcall>> open_;
  std::deque<std::pair<Number, const char*>>
      answered_;  ///< the latest, to tell a second answer from a late one
  Number next_ = 1;
};

/// What a server's upcalls have in common: the loop that their answers come to, and the upcall that has not
/// returned yet.
class OpenUpcalls {
 public:
  explicit OpenUpcalls(asio::io_context& loop) noexcept : loop_(&loop) {}

  bool is_closed() { return UpcallTable::of_process().is_closed(*this); }
  void close() noexcept { UpcallTable::of_process().close(*this); }
  void abandon() noexcept { UpcallTable::of_process().abandon(*this); }

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

 private:
  friend class UpcallTable;
  asio::io_context* loop_;  ///< null: the server has ended; the table's lock guards it
  std::atomic<const char*> running_{nullptr};
};

/// An open upcall whose callback brings a status and these values.
template <class... Answer>
class Upcall final : public OpenUpcall {
 public:
  using Done = std::function<void(pmix_status_t, Answer...)>;

  Upcall(std::shared_ptr<OpenUpcalls> all, const char* upcall, Done done)
      : OpenUpcall(std::move(all), upcall), done_(std::move(done)) {}

  /// On the loop thread. name: of the upcall, static text. call(pointer): the host's function. done runs on
  /// the loop thread, exactly once, and not where the server has gone; before make() returns if the host
  /// answered at once.
  template <class Call>
  static void make(const std::shared_ptr<OpenUpcalls>& all, const char* name, Done done, Call&& call) {
    auto& table = UpcallTable::of_process();
    void* const pointer = table.add(std::make_unique<Upcall>(all, name, std::move(done)));
    if (pointer == nullptr) return;
    const auto status = [&]() -> pmix_status_t {
      const OpenUpcalls::Running running(*all, name);
      return call(pointer);
    }();
    if (status == PMIX_SUCCESS) return;  // the callback follows, or came already
    if (const auto open = table.take(pointer))
      static_cast<Upcall&>(*open).done_(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status,
                                        Answer{}...);
  }
  /// The end of an upcall that the host does not offer.
  static void refuse(const Done& done) { done(PMIX_ERR_NOT_SUPPORTED, Answer{}...); }
  /// In the host's callback, where nothing else is done: the host may hold its locks.
  static void finish_from_host(void* pointer, pmix_status_t status, Answer... answer) {
    UpcallTable::of_process().answer(pointer, [&](OpenUpcall& open, asio::io_context& loop) {
      asio::post(loop, [done = std::move(static_cast<Upcall&>(open).done_), status,
                        ... answers = std::move(answer)]() mutable { done(status, std::move(answers)...); });
    });
  }

 private:
  Done done_;
};

using OpUpcall = Upcall<>;

/// The pmix_op_cbfunc_t of an OpUpcall.
inline void on_op_done(pmix_status_t status, void* pointer) {
  OpUpcall::finish_from_host(pointer, status);
}

}  // namespace weft::server
