// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads/worker.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>

#include "base/threads/thread.hpp"

namespace weft::base {

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool is_busy = false;
  bool is_over = false;
  Steps steps{0};

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return is_over || !tasks.empty(); });
      if (is_over) return;
      auto task = std::move(tasks.front());
      tasks.pop_front();
      is_busy = true;
      lock.unlock();
      task(steps);
      task = nullptr;  // what it owns goes before the lock is taken
      steps.fetch_add(1, std::memory_order_relaxed);
      lock.lock();
      is_busy = false;
      changed.notify_all();
    }
  }
};

Worker::Worker(const char* name) : name_(name), state_(std::make_shared<State>()) {}

Worker::~Worker() {
  bool is_busy = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_over = true;
    state_->tasks.clear();
    is_busy = state_->is_busy;
  }
  state_->changed.notify_all();
  if (!thread_.joinable()) return;
  is_busy ? thread_.detach() : thread_.join();
}

bool Worker::add(Task task) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    if (!thread_.joinable()) {
      try {
        thread_ = start_thread(name_, [state = state_] { state->run(); });
      } catch (const std::system_error&) {
        state_->tasks.pop_back();
        return false;
      }
    }
  }
  state_->changed.notify_all();
  return true;
}

bool Worker::wait(std::chrono::milliseconds patience, std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(state_->mutex);
  const auto is_idle = [this] { return state_->tasks.empty() && !state_->is_busy; };
  const auto end = Clock::now() + most;
  for (auto seen = state_->steps.load(std::memory_order_relaxed);;) {
    if (state_->changed.wait_until(lock, std::min(Clock::now() + patience, end), is_idle)) return true;
    const auto now = state_->steps.load(std::memory_order_relaxed);
    if (now == seen || Clock::now() >= end) return false;
    seen = now;
  }
}

}  // namespace weft::base
