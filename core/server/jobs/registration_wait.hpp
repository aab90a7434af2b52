// SPDX-License-Identifier: BSD-3-Clause
// What names a namespace may come before the host has registered it here: hosts of different nodes do so at
// different times. The loop's thread only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/server/jobs/jobs.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

/// For what has no time-out of its own.
inline constexpr std::chrono::seconds registration_wait{2};

/// then: once: at once where the namespace is known, else when it is registered, or after `limit`.
inline void await_registration(Loop& loop, Jobs& jobs, const std::string& nspace, Loop::Clock::duration limit,
                               std::function<void(bool is_known)> then) {
  if (jobs.known(nspace) != nullptr) return then(true);
  struct Wait {
    std::function<void(bool)> then;
    std::unique_ptr<Timer> deadline{};
    Jobs::Wait registration = 0;
  };
  const auto wait = std::make_shared<Wait>(Wait{std::move(then)});
  // The object that waits for the registration owns the timer.
  wait->deadline = std::make_unique<Timer>(loop, limit, [&jobs, nspace, at = wait.get()] {
    const auto run = at->then;
    if (jobs.forget_wait(nspace, at->registration)) run(false);
  });
  wait->registration = jobs.when_registered(nspace, [wait] {
    wait->deadline.reset();
    wait->then(true);
  });
}

}  // namespace weft::server
