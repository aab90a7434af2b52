// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/upcall.hpp"

#include <algorithm>
#include <vector>

#include "base/log_format.hpp"

namespace weft::server {

UpcallTable& UpcallTable::of_process() noexcept {
  static auto* const table = new UpcallTable;
  return *table;
}

asio::io_context* UpcallTable::loop_of(const OpenUpcalls& server) noexcept {
  return server.loop_;
}

void* UpcallTable::add(std::unique_ptr<OpenUpcall> open) {
  const std::lock_guard lock(mutex_);
  if (loop_of(*open->server) == nullptr) return nullptr;
  const auto number = next_++;
  open_.emplace(number, std::move(open));
  return reinterpret_cast<void*>(number);
}

std::unique_ptr<OpenUpcall> UpcallTable::take(void* pointer) {
  const std::lock_guard lock(mutex_);
  auto open = take_locked(pointer);
  if (open == nullptr) say_if_twice(pointer);
  return open;
}

std::unique_ptr<OpenUpcall> UpcallTable::take_locked(void* pointer) {
  const auto found = open_.find(reinterpret_cast<Number>(pointer));
  if (found == open_.end() || loop_of(*found->second->server) == nullptr) return nullptr;
  auto open = std::move(found->second);
  if (answered_.size() == most_answered) answered_.pop_front();
  answered_.emplace_back(found->first, open->name);
  open_.erase(found);
  return open;
}

void UpcallTable::say_if_twice(void* pointer) {
  const auto number = reinterpret_cast<Number>(pointer);
  const auto found = std::find_if(answered_.begin(), answered_.end(),
                                  [&](const auto& answered) { return answered.first == number; });
  if (found == answered_.end()) return;  // an answer that comes when the server has ended
  base::warn(base::LogPart::clients,
             "the host has answered its upcall {} twice (a status other than PMIX_SUCCESS is an answer, "
             "too); the first answer holds",
             found->second);
}

bool UpcallTable::is_closed(const OpenUpcalls& server) {
  const std::lock_guard lock(mutex_);
  return loop_of(server) == nullptr;
}

void UpcallTable::close(OpenUpcalls& server) noexcept {
  std::vector<std::unique_ptr<OpenUpcall>> ended;  // freed outside the lock: what they hold may answer others
  const std::lock_guard lock(mutex_);
  server.loop_ = nullptr;
  for (auto open = open_.begin(); open != open_.end();) {
    if (open->second->server.get() == &server) {
      ended.push_back(std::move(open->second));
      open = open_.erase(open);
    } else {
      ++open;
    }
  }
}

void UpcallTable::abandon(OpenUpcalls& server) noexcept {
  const std::lock_guard lock(mutex_);
  server.loop_ = nullptr;
}

}  // namespace weft::server
