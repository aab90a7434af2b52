// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/outputs.hpp"

#include <utility>

namespace weft::client {

std::uint64_t Outputs::add(std::shared_ptr<Sink> sink) {
  const std::lock_guard lock(mutex_);
  sinks_.emplace(next_, std::move(sink));
  return next_++;
}

bool Outputs::remove(std::uint64_t handle) {
  std::shared_ptr<Sink> sink;
  {
    const std::lock_guard lock(mutex_);
    if (auto node = sinks_.extract(handle)) sink = std::move(node.mapped());
  }
  if (sink) sink->finish();  // outside the lock, as take()
  return sink != nullptr;
}

void Outputs::deliver(link::Output output) {
  std::shared_ptr<Sink> sink;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = sinks_.find(output.handle); found != sinks_.end()) sink = found->second;
  }
  if (sink) sink->take(std::move(output));  // outside the lock: it may end its own pull
}

}  // namespace weft::client
