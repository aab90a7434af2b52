// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/connection.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

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
  ensure_thread();
  std::uint64_t tag = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_.load()) {
      tag = next_tag_++;
      open_.emplace(tag, std::move(reply));
    }
  }
  if (tag == 0) return reply(fail(Errc::canceled, finalized));
  Result<void> sent = fail(Errc::peer_lost, "no server");
  if (socket_ && !lost_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(send_mutex_);
    sent = link::send_frame(socket_.get(), type, tag, payload);
  }
  if (sent) return;
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
}

Result<link::Frame> Connection::ask(link::MessageType type, Bytes payload) {
  return finish(start(type, payload));
}

std::future<Result<link::Frame>> Connection::start(link::MessageType type, Bytes payload) {
  // Shared: a caller that gave up may be gone when the answer comes.
  auto promise = std::make_shared<std::promise<Result<link::Frame>>>();
  request(type, payload, [promise](Result<link::Frame> frame) { promise->set_value(std::move(frame)); });
  return promise->get_future();
}

Result<link::Frame> Connection::finish(std::future<Result<link::Frame>> answer) {
  if (!await(answer)) return fail(Errc::canceled, "the library is being finalized");
  return answer.get();
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
  wake();
}

void Connection::run_at(Clock::time_point when, std::function<void()> task) {
  ensure_thread();
  {
    const std::lock_guard lock(mutex_);
    timers_.emplace(when, std::move(task));
  }
  wake();
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
  wake_fd_ = shm::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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
  if (thread_.joinable()) wake();
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
  }
  if (deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    const auto limit = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
    timeout_ms = timeout_ms < 0 ? limit : std::min(timeout_ms, limit);
  }
  // Without a descriptor to be woken by (none was left) it looks for work itself.
  if (!wake_fd_ && timeout_ms != 0) timeout_ms = timeout_ms < 0 ? 10 : std::min(timeout_ms, 10);
  const bool connected = socket_ && !lost_.load(std::memory_order_acquire);
  pollfd fds[2] = {{wake_fd_.get(), POLLIN, 0}, {connected ? socket_.get() : -1, POLLIN, 0}};
  if (::poll(fds, 2, timeout_ms) <= 0) return false;
  if ((fds[0].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    (void)!::read(wake_fd_.get(), &count, sizeof count);
  }
  if (fds[1].revents != 0) read_one();
  return true;
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
  if (!frame) return lose();
  Reply reply;
  if (frame->tag != 0) {
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(frame->tag); found != open_.end()) {
      reply = std::move(found->second);
      open_.erase(found);
    }
  }
  if (reply)
    reply(std::move(*frame));
  else if (frame->tag == 0 && push_)
    push_(std::move(*frame));
}

void Connection::lose() {
  lost_.store(true, std::memory_order_release);
  std::unordered_map<std::uint64_t, Reply> open;
  {
    const std::lock_guard lock(mutex_);
    open.swap(open_);
  }
  for (auto& [tag, reply] : open) reply(fail(Errc::peer_lost, "the server is gone"));
  if (lost_hook_) lost_hook_();
}

void Connection::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_fd_.get(), &one, sizeof one);
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
    wake();
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
