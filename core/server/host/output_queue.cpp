// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/output_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/log_format.hpp"
#include "core/link/requests.hpp"
#include "core/server/connections/connection.hpp"

namespace weft::server {

Result<std::optional<OutputCache>> OutputCache::of(const data::Infos& directives) {
  const auto is_set = [&](const char* key) {
    const auto* info = directives.find(key);
    return info != nullptr && data::is_true(info->value);
  };
  const bool oldest = is_set(PMIX_IOF_DROP_OLDEST), newest = is_set(PMIX_IOF_DROP_NEWEST);
  const auto* size = directives.find(PMIX_IOF_CACHE_SIZE);
  if (oldest && newest) return fail(Errc::invalid);
  if (size == nullptr && !oldest && !newest) return std::optional<OutputCache>();
  OutputCache cache;
  cache.drops_oldest = oldest;
  if (size == nullptr) return std::optional(cache);
  const auto bytes = data::as_unsigned(size->value);
  if (!bytes) return fail(Errc::invalid);
  cache.bytes = std::min<std::uint64_t>(*bytes, most_bytes);
  return std::optional(cache);
}

void OutputQueue::write(std::vector<std::byte> message, const Sent& sent) {
  if (!cache_) return client_->send_push(link::MessageType::output, message, sent);
  sent(true);
  if (!is_sending_) return send(message);
  if (!make_room(message.size())) return say_dropped();
  waiting_bytes_ += message.size();
  waiting_.push_back(std::move(message));
}

/// False: this message is to be dropped.
bool OutputQueue::make_room(std::size_t bytes) {
  while (cache_->drops_oldest && !waiting_.empty() && waiting_bytes_ + bytes > cache_->bytes) {
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
    say_dropped();
  }
  return waiting_bytes_ + bytes <= cache_->bytes;
}

void OutputQueue::send(const std::vector<std::byte>& message) {
  is_sending_ = true;
  client_->send_push(link::MessageType::output, message, [self = shared_from_this()](bool is_sent) {
    self->is_sending_ = false;
    if (!is_sent || self->waiting_.empty()) return;
    const auto next = std::move(self->waiting_.front());
    self->waiting_.pop_front();
    self->waiting_bytes_ -= next.size();
    self->send(next);
  });
}

void OutputQueue::say_dropped() {
  if (std::exchange(has_dropped_, true)) return;
  base::warn(base::LogPart::events,
             "rank {} of {} (pid {}) reads the output that it pulls too slowly: its "
             "cache of {} bytes is full, and bytes are dropped",
             client_->proc.rank, link::nspace_of(client_->proc), client_->pid, cache_->bytes);
}

}  // namespace weft::server
