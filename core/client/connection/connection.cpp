// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "base/threads/thread.hpp"

namespace weft::client {

namespace {

constexpr const char* finalized = "the library was finalized";

}  // namespace

Result<void> Connection::send(link::MessageType type, Bytes payload) {
  if (!socket_ || lost_.load(std::memory_order_acquire)) return fail(Errc::peer_lost, "no server");
  const std::lock_guard lock(send_mutex_);
  return link::send_frame(socket_.get(), type, 0, payload);
}

void Connection::request(link::MessageType type, Bytes payload, Reply reply) {
  (void)request_tagged(type, payload, std::move(reply));
}

/// Returns the tag; 0: the reply has come.
std::uint64_t Connection::request_tagged(link::MessageType type, Bytes payload, Reply reply) {
  ensure_thread();
  std::uint64_t tag = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_.load()) {
      tag = next_tag_++;
      open_.emplace(tag, std::move(reply));
    }
  }
  if (tag == 0) {
    reply(fail(Errc::canceled, finalized));
    return 0;
  }
  Result<void> sent = fail(Errc::peer_lost, "no server");
  if (socket_ && !lost_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(send_mutex_);
    sent = link::send_frame(socket_.get(), type, tag, payload);
  }
  if (sent) return tag;
  if (sent.error().code == Errc::unreachable || sent.error().code == Errc::os)
    sent = fail(Errc::peer_lost, "the server is gone", sent.error().sys);
  // The reply still comes on the thread, so that callers see one order of events. lose() may have taken it.
  run_later([this, tag, error = sent.error()] {
    Reply open;
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(tag);
      if (found == open_.end()) return;
      open = std::move(found->second);
      open_.erase(found);
    }
    open(fail(error));
  });
  return tag;
}

Result<link::Frame> Connection::ask(link::MessageType type, Bytes payload) {
  return finish(start(type, payload));
}

Connection::Asked Connection::start(link::MessageType type, Bytes payload) {
  // Shared: a caller that gave up may be gone when the answer comes.
  auto promise = std::make_shared<std::promise<Result<link::Frame>>>();
  auto answer = promise->get_future();
  const auto tag = request_tagged(
      type, payload, [promise](Result<link::Frame> frame) { promise->set_value(std::move(frame)); });
  return {tag, std::move(answer)};
}

Result<link::Frame> Connection::finish(Asked asked) {
  if (begin_reading_own()) read_own(asked.tag);
  if (!await(asked.answer)) return fail(Errc::canceled, "the library is being finalized");
  return asked.answer.get();
}

/// True: the frames are this thread's from here on, until it has read one that is not its own.
bool Connection::begin_reading_own() {
  if (on_thread() || is_driven_by_calls()) return false;
  const std::lock_guard lock(mutex_);
  const bool is_free = is_asleep_ && tasks_.empty() && !is_read_by_ask_ && watch_.can_share();
  if (!is_free || !socket_ || stopping_.load() || lost_.load()) return false;
  watch_.take_frames(false);
  return is_read_by_ask_ = true;
}

/// Ends when the answer is there, or the library's thread is to bring it.
void Connection::read_own(std::uint64_t tag) {
  std::function<void()> rest;
  while (!rest && is_open(tag) && !stopping_.load(std::memory_order_acquire)) {
    pollfd readable{socket_.get(), POLLIN, 0};
    if (::poll(&readable, 1, int(slice.count())) <= 0) continue;
    auto frame = link::receive_frame(socket_.get());
    if (!frame)
      rest = [this] { lose(); };
    else if (frame->tag == tag)
      take(std::move(*frame));
    else
      rest = [this, other = std::make_shared<link::Frame>(std::move(*frame))] { take(std::move(*other)); };
  }
  const std::lock_guard lock(mutex_);
  if (rest) tasks_.push_back(std::move(rest));
  is_read_by_ask_ = false;
  if (!tasks_.empty()) watch_.wake();
  watch_.take_frames(true);
}

bool Connection::is_open(std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  return open_.count(tag) != 0;
}

pmix_status_t Connection::await_status(const std::function<void(Done)>& start, data::Timeout patience) {
  // Shared: a caller that gave up may be gone when the status comes.
  const auto promise = std::make_shared<std::promise<pmix_status_t>>();
  auto status = promise->get_future();
  const auto deadline = data::deadline_after(patience);
  start([promise](pmix_status_t s) { promise->set_value(s); });
  if (await(status, deadline)) return status.get();
  const bool is_late = deadline && Clock::now() >= *deadline && !is_over_.load(std::memory_order_acquire);
  return is_late && !on_thread() ? PMIX_ERR_TIMEOUT : PMIX_ERR_INIT;
}

Result<link::Frame> Connection::ask_alone(link::MessageType type, Bytes payload) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_started()) stopping_.store(true);
  }
  if (has_started()) return ask(type, payload);
  if (!socket_) return fail(Errc::peer_lost, "no server");
  const auto sent = send(type, payload);
  for (;;) {
    auto frame = link::receive_frame(socket_.get());
    if (!frame) return sent ? frame : fail(sent.error());
    // Frames that the server pushed before it read this request are dropped.
    if (frame->type == link::MessageType::done) return frame;
  }
}

void Connection::run_later(std::function<void()> task) {
  ensure_thread();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  watch_.wake();
}

void Connection::run_at(Clock::time_point when, std::function<void()> task) {
  ensure_thread();
  {
    const std::lock_guard lock(mutex_);
    timers_.emplace(when, std::move(task));
  }
  watch_.wake();
}

bool Connection::alive() noexcept {
  if (!socket_ || lost_.load(std::memory_order_acquire)) return false;
  if (has_started() && !is_driven_by_calls()) return true;
  pollfd p{socket_.get(), POLLRDHUP, 0};
  if (::poll(&p, 1, 0) <= 0 || (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) return true;
  if (!has_started()) lost_.store(true);  // else what drives reads the end, and tells of it
  return false;
}

void Connection::ensure_thread() {
  if (has_started()) return;
  const std::lock_guard lock(mutex_);
  if (has_started() || stopping_.load()) return;
  watch_.open(lost_.load() ? -1 : socket_.get());
  if (!is_driven_by_calls()) thread_ = base::start_thread("weft-client", [this] { run(); });
  started_.store(true, std::memory_order_release);
}

void Connection::run() {
  const base::Driver::Turn turn(driver_, base::Driver::IfTaken::wait);
  while (!stopping_.load(std::memory_order_acquire) && !is_driven_by_calls()) {
    run_tasks();
    read_or_sleep();
  }
}

void Connection::stop_thread(bool flushes) {
  {
    const std::lock_guard lock(mutex_);
    by_calls_.store(true, std::memory_order_release);
  }
  if (thread_.joinable()) watch_.wake();
  if (thread_.joinable() && !on_thread()) thread_.join();
  if (flushes) progress();
}

void Connection::progress() {
  if (!is_driven_by_calls() || !has_started()) return;
  const base::Driver::Turn turn(driver_);
  if (!turn) return;
  constexpr int most_in_a_row = 64;  // a server that sends without end does not keep the caller
  for (int i = 0; i < most_in_a_row; ++i) {
    if (stopping_.load(std::memory_order_acquire)) return;
    run_tasks();
    if (!read_or_sleep(Clock::now())) return;
  }
}

/// Until a frame has come, or there is another thing to do, or the deadline. True: there was a frame, or a
/// new task.
bool Connection::read_or_sleep(data::Deadline deadline) {
  int timeout_ms = -1;
  {
    const std::lock_guard lock(mutex_);
    if (!tasks_.empty() || stopping_.load())
      timeout_ms = 0;
    else if (!timers_.empty()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now()).count();
      timeout_ms = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
    }
    is_asleep_ = timeout_ms != 0 && !deadline;
  }
  if (deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    const auto limit = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
    timeout_ms = timeout_ms < 0 ? limit : std::min(timeout_ms, limit);
  }
  const auto woken = watch_.wait(timeout_ms);
  bool may_read = false;
  {
    const std::lock_guard lock(mutex_);
    is_asleep_ = false;
    // What a thread in ask() has read came before what is in the socket.
    may_read = woken.by_frame && !is_read_by_ask_ && tasks_.empty() && !lost_.load();
  }
  if (may_read) read_one();
  return woken.by_frame || woken.by_other;
}

void Connection::run_tasks() {
  for (;;) {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (!tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      } else if (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
        task = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
      } else {
        return;
      }
    }
    task();
  }
}

void Connection::read_one() {
  auto frame = link::receive_frame(socket_.get());
  frame ? take(std::move(*frame)) : lose();
}

void Connection::take(link::Frame frame) {
  Reply reply;
  if (frame.tag != 0) {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(frame.tag); found != open_.end()) {
      reply = std::move(found->second);
      open_.erase(found);
    }
  }
  if (reply)
    reply(std::move(frame));
  else if (frame.tag == 0 && push_)
    push_(std::move(frame));
}

void Connection::lose() {
  lost_.store(true, std::memory_order_release);
  watch_.forget_socket();
  std::unordered_map<std::uint64_t, Reply> open;
  {
    const std::lock_guard lock(mutex_);
    open.swap(open_);
  }
  for (auto& [tag, reply] : open) reply(fail(Errc::peer_lost, "the server is gone"));
  if (lost_hook_) lost_hook_();
}

void Connection::hang_up() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!has_started()) lost_.store(true, std::memory_order_release);
  }
  if (socket_) (void)::shutdown(socket_.get(), SHUT_RDWR);  // which the thread reads as the end
}

void Connection::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_release);
  }
  if (thread_.joinable()) {
    watch_.wake();
    thread_.join();
  }
  std::unordered_map<std::uint64_t, Reply> open;
  {
    const std::lock_guard lock(mutex_);
    open.swap(open_);
  }
  for (auto& [tag, reply] : open) reply(fail(Errc::canceled, finalized));
  lost_.store(true, std::memory_order_release);
  is_over_.store(true, std::memory_order_release);
}

}  // namespace weft::client
