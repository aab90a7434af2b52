// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/registration_wait.hpp"

#include <memory>
#include <utility>

namespace weft::server {

void await_registration(Loop& loop, Jobs& jobs, const std::string& nspace, Loop::Clock::duration limit,
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
