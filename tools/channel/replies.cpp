// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/replies.hpp"

#include <utility>

namespace weft::channel {

struct Reply::Handle {
  std::shared_ptr<PendingReplies::Table> table;
  std::uint64_t number;
  Handle(std::shared_ptr<PendingReplies::Table> of, std::uint64_t at) : table(std::move(of)), number(at) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { table->send(number, true); }
};

void Reply::operator()() const {
  if (handle_) handle_->table->send(handle_->number, true);
}

void Reply::refuse() const {
  if (handle_) handle_->table->send(handle_->number, false);
}

Reply PendingReplies::add(Send send) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(table_->mutex);
    number = ++table_->last;
    table_->pending.emplace(number, std::move(send));
  }
  Reply reply;
  reply.handle_ = std::make_shared<Reply::Handle>(table_, number);
  return reply;
}

void PendingReplies::refuse_all() {
  std::map<std::uint64_t, Send> pending;
  {
    const std::lock_guard lock(table_->mutex);
    pending.swap(table_->pending);
  }
  for (const auto& [number, send] : pending) send(false);
}

void PendingReplies::Table::send(std::uint64_t number, bool is_received) {
  Send send;
  {
    const std::lock_guard lock(mutex);
    const auto at = pending.find(number);
    if (at == pending.end()) return;
    send = std::move(at->second);
    pending.erase(at);
  }
  send(is_received);
}

}  // namespace weft::channel
