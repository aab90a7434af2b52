// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/host_listener.hpp"

#include <fcntl.h>

#include <asio/post.hpp>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weft::server {
namespace {

/// The listeners of all servers that this process has. Never destroyed: a host may call at any time.
struct HostListeners {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, HostListener*> by_number;
  std::uintptr_t last = 0;

  static HostListeners& of_process() noexcept {
    static auto* const all = new HostListeners;
    return *all;
  }
};

std::uintptr_t enlist(HostListener* listener) {
  auto& all = HostListeners::of_process();
  const std::lock_guard lock(all.mutex);
  all.by_number.emplace(++all.last, listener);
  return all.last;
}

}  // namespace

HostListener::HostListener(asio::io_context& loop, Take take)
    : loop_(loop), take_(std::move(take)), number_(enlist(this)) {}

HostListener::~HostListener() {
  auto& all = HostListeners::of_process();
  const std::lock_guard lock(all.mutex);
  all.by_number.erase(number_);
}

bool HostListener::hand_over(pmix_server_listener_fn_t listener, int socket) {
  const auto status = listener(socket, on_accepted, reinterpret_cast<void*>(number_));
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

void HostListener::on_accepted(int fd, void* number) {
  base::Fd accepted(fd);
  if (!accepted) return;
  auto& all = HostListeners::of_process();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_number.find(reinterpret_cast<std::uintptr_t>(number));
  if (found != all.by_number.end()) found->second->bring(std::move(accepted));
}

void HostListener::bring(base::Fd fd) {
  (void)::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  (void)::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  asio::post(loop_, [this, fd = std::move(fd)]() mutable { take_(std::move(fd)); });
}

}  // namespace weft::server
