// SPDX-License-Identifier: BSD-3-Clause
// The socket to the server and the one thread that reads it. The thread starts when something first needs it:
// a process that only puts, fences its whole job and gets what is on its node never has it. A program that
// has taken progress upon itself (stop_thread) has none: whichever thread is in progress(), or waits for an
// answer, does what it would.
//
// A thread that waits for an answer reads it itself while the library's thread sleeps (read_own): one thread is
// woken then, and not two. A frame that is another's it hands to the library's thread, which goes on from
// there: frames take effect in their order, and before an answer that came behind them.
//
// User callbacks run on the library's thread, outside all locks of ours.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/threads/driver.hpp"
#include "core/client/connection/socket_watch.hpp"
#include "core/data/names/deadline.hpp"
#include "core/link/frame.hpp"

namespace weft::client {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  using Reply = std::function<void(Result<link::Frame>)>;

  /// socket: empty for a singleton, whose every request ends as peer_lost.
  explicit Connection(shm::Fd socket) noexcept : socket_(std::move(socket)) {}
  ~Connection() { stop(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Before the first request: what to do with frames that are no reply, and with the loss of the server.
  void on_push(std::function<void(link::Frame)> push) { push_ = std::move(push); }
  void on_lost(std::function<void()> lost) { lost_hook_ = std::move(lost); }

  /// No answer expected. Errors: peer_lost, unreachable, os.
  Result<void> send(link::MessageType type, Bytes payload);
  /// The answer, or peer_lost, comes to `reply` on the thread; exactly once.
  void request(link::MessageType type, Bytes payload, Reply reply);
  /// Sends a request and waits for its answer; on the thread itself by serving until the answer is there.
  Result<link::Frame> ask(link::MessageType type, Bytes payload);
  /// The two halves of ask(): the message leaves in order with the caller's others; the caller may release
  /// its locks before it waits.
  struct Asked {
    std::uint64_t tag;
    std::future<Result<link::Frame>> answer;
  };
  Asked start(link::MessageType type, Bytes payload);
  Result<link::Frame> finish(Asked asked);
  /// Waits for `answer`; on the thread itself by serving, and so where there is no thread but those of the
  /// program. False: the library is being finalized, it will not come; or, not on the thread, the deadline
  /// has passed.
  template <class T>
  bool await(std::future<T>& answer, data::Deadline deadline = {}) {
    const auto is_there = [&] {
      return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    if (on_thread()) return serve_until(is_there, {}) || is_there();
    for (;;) {
      // stop() may have dropped the answer that the thread would have brought.
      if (is_over_.load(std::memory_order_acquire)) return is_there();
      if (deadline && Clock::now() >= *deadline) return is_there();
      if (is_driven_by_calls())
        if (const base::Driver::Turn turn(driver_); turn) {
          if (serve_until(is_there, deadline)) return true;
          continue;
        }
      if (answer.wait_for(is_driven_by_calls() ? short_slice : slice) == std::future_status::ready)
        return true;
    }
  }
  /// Calls start(done) and waits for the status that done is called with; on the thread itself by serving.
  /// PMIX_ERR_INIT: the library is being finalized. PMIX_ERR_TIMEOUT: after `patience`, which the thread
  /// itself does not count.
  using Done = std::function<void(pmix_status_t)>;
  pmix_status_t await_status(const std::function<void(Done)>& start, data::Timeout patience = {});
  /// For the last words of a process without the thread, which from here on gets none: the caller reads the
  /// socket itself.
  Result<link::Frame> ask_alone(link::MessageType type, Bytes payload);

  void run_later(std::function<void()> task);
  void run_at(Clock::time_point when, std::function<void()> task);

  /// From here on there is no thread of the library: progress() and calls that wait do its work. flushes:
  /// frames that have come are handled first. In a callback the thread ends behind it. Not while another
  /// thread is in stop().
  void stop_thread(bool flushes);
  bool is_driven_by_calls() const noexcept { return by_calls_.load(std::memory_order_acquire); }
  /// Handles what has come and is due, without waiting, unless a thread of the library or another of the
  /// program is about it.
  void progress();

  /// Whether the server is still there; asks the kernel where no thread watches.
  bool alive() noexcept;
  /// Something has needed the thread, or what drives in its place.
  bool has_started() const noexcept { return started_.load(std::memory_order_acquire); }
  bool on_thread() const noexcept { return driver_.is_here(); }

  /// The server is left: requests end as peer_lost, and the loss is told as that of a server that goes. From
  /// any thread.
  void hang_up() noexcept;
  /// Ends the thread; open requests, and all that come later, end as canceled, and the server counts as lost.
  /// Not from the thread.
  void stop();

 private:
  static constexpr std::chrono::milliseconds slice{
      100};  ///< between looks whether the library was finalized, or its thread stopped, meanwhile
  static constexpr std::chrono::milliseconds short_slice{1};  ///< between looks whether this thread may drive
  /// An answer that is waited for may come on the thread of the waiter.
  std::uint64_t request_tagged(link::MessageType type, Bytes payload, Reply reply);
  void ensure_thread();
  void run();
  bool begin_reading_own();
  void read_own(std::uint64_t tag);
  bool is_open(std::uint64_t tag);
  /// False: it ends, or the deadline has passed.
  template <class Condition>
  bool serve_until(Condition&& is_there, data::Deadline deadline) {
    while (!is_there()) {
      if (stopping_.load(std::memory_order_acquire) || (deadline && Clock::now() >= *deadline)) return false;
      run_tasks();
      // A task may have waited in here itself, and read our answer along with its own.
      if (!is_there()) read_or_sleep(deadline);
    }
    return true;
  }
  bool read_or_sleep(data::Deadline deadline = {});
  void run_tasks();
  void read_one();
  void take(link::Frame frame);
  void lose();

  shm::Fd socket_;
  SocketWatch watch_;
  std::function<void(link::Frame)> push_;
  std::function<void()> lost_hook_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_over_{false};  ///< stop() has ended
  std::atomic<bool> started_{false};  ///< what needs the thread has come
  std::atomic<bool> by_calls_{false};
  base::Driver driver_;
  std::thread thread_;

  std::mutex send_mutex_;
  std::mutex mutex_;  // guards all below
  std::unordered_map<std::uint64_t, Reply> open_;
  std::deque<std::function<void()>> tasks_;
  std::multimap<Clock::time_point, std::function<void()>> timers_;
  std::uint64_t next_tag_ = 1;
  bool is_asleep_ = false;     ///< the thread has nothing to do
  bool is_read_by_ask_ = false;  ///< a thread in ask() has the frames
};

}  // namespace weft::client
