// SPDX-License-Identifier: BSD-3-Clause
// How calls of the host end, whichever comes first: what they asked for, or the end of the server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "pmix_common.h"

namespace weft::server {

/// Threads of the host that wait for the loop.
class Waits {
 public:
  /// The status that one thread waits for; whatever answers later shares it.
  using Status = std::shared_ptr<std::optional<pmix_status_t>>;

  static Status make() { return std::make_shared<std::optional<pmix_status_t>>(); }
  void answer(const Status& wait, pmix_status_t status) {
    const std::lock_guard lock(mutex_);
    *wait = status;
    changed_.notify_all();
  }
  /// The answer; PMIX_ERR_INIT once the server has ended; nothing while neither has come.
  std::optional<pmix_status_t> look(const Status& wait) {
    const std::lock_guard lock(mutex_);
    return outcome(wait);
  }
  /// Waits for the status for at most `limit`; nothing: it has not come.
  std::optional<pmix_status_t> wait_for(const Status& wait, std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return outcome(wait).has_value(); });
    return outcome(wait);
  }
  /// The server has ended.
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  std::optional<pmix_status_t> outcome(const Status& wait) const {
    return wait->has_value() || !is_closed_ ? *wait : PMIX_ERR_INIT;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
};

/// `reply`, which is called with PMIX_ERR_INIT where all copies of it go without a call: the task that had it
/// was dropped.
template <class... More>
std::function<void(pmix_status_t, More...)> answered_once(std::function<void(pmix_status_t, More...)> reply) {
  struct Open {
    std::function<void(pmix_status_t, More...)> reply;
    explicit Open(std::function<void(pmix_status_t, More...)> of) : reply(std::move(of)) {}
    ~Open() {
      if (!reply) return;
      try {
        reply(PMIX_ERR_INIT, More{}...);
      } catch (...) {  // no memory for a copy of nothing: there is no other way to say it
      }
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };
  return [open = std::make_shared<Open>(std::move(reply))](pmix_status_t status, More... more) {
    if (const auto once = std::exchange(open->reply, nullptr)) once(status, std::move(more)...);
  };
}

}  // namespace weft::server
