// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/outputs.hpp"

namespace weft::client {

std::uint64_t Outputs::add(Sink sink) {
  const std::lock_guard lock(mutex_);
  sinks_.emplace(next_, std::make_shared<const Sink>(std::move(sink)));
  return next_++;
}

bool Outputs::remove(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  return sinks_.erase(handle) != 0;
}

void Outputs::deliver(const link::Output& output) {
  std::shared_ptr<const Sink> sink;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = sinks_.find(output.handle); found != sinks_.end()) sink = found->second;
  }
  if (sink) (*sink)(output);  // outside the lock: it may end its own pull
}

}  // namespace weft::client
