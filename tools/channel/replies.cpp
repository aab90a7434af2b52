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
  ~Handle() { table->send(number); }
};

void Reply::operator()() const {
  if (handle_) handle_->table->send(handle_->number);
}

void Reply::withhold() const {
  if (handle_) handle_->table->withhold(handle_->number);
}

Reply PendingReplies::add(std::function<void()> send) {
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

void PendingReplies::Table::send(std::uint64_t number) {
  std::function<void()> send;
  {
    const std::lock_guard lock(mutex);
    const auto at = pending.find(number);
    if (at == pending.end()) return;
    send = std::move(at->second);
    pending.erase(at);
  }
  send();
}

void PendingReplies::Table::withhold(std::uint64_t number) {
  const std::lock_guard lock(mutex);
  pending.erase(number);
}

void PendingReplies::Table::withhold_all() {
  const std::lock_guard lock(mutex);
  pending.clear();
}

}  // namespace weft::channel
