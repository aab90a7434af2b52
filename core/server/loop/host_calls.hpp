// SPDX-License-Identifier: BSD-3-Clause
// The way of the host's calls into the loop. Any thread.
#pragma once

#include <functional>
#include <utility>

#include "core/server/loop/loop.hpp"
#include "core/server/loop/loop_watch.hpp"

namespace weft::server {

class HostCalls {
 public:
  HostCalls(Loop& loop, LoopWatch& watch) noexcept : loop_(loop), watch_(watch) {}
  HostCalls(const HostCalls&) = delete;
  HostCalls& operator=(const HostCalls&) = delete;

  /// On the loop's thread, in the order of the calls. A task that the loop does not come to is dropped.
  void run_later(std::function<void()> task) {
    loop_.post([this, task = std::move(task)] {
      const LoopWatch::Work work(watch_, "a call of the host");
      task();
    });
  }

 private:
  Loop& loop_;
  LoopWatch& watch_;
};

}  // namespace weft::server
