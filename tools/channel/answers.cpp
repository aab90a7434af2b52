// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/answers.hpp"

#include <utility>

namespace weft::channel {

struct Answer::Ticket {
  std::shared_ptr<Answers::Table> table;
  std::uint64_t number;
  Ticket(std::shared_ptr<Answers::Table> of, std::uint64_t at) : table(std::move(of)), number(at) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() { table->give(number); }
};

void Answer::operator()() const {
  if (ticket_) ticket_->table->give(ticket_->number);
}

Answer Answers::open(std::function<void()> give) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(table_->mutex);
    number = ++table_->last;
    table_->open.emplace(number, std::move(give));
  }
  Answer answer;
  answer.ticket_ = std::make_shared<Answer::Ticket>(table_, number);
  return answer;
}

void Answers::give_all() {
  std::map<std::uint64_t, std::function<void()>> open;
  {
    const std::lock_guard lock(table_->mutex);
    open.swap(table_->open);
  }
  for (const auto& [number, give] : open) give();
}

void Answers::Table::give(std::uint64_t number) {
  std::function<void()> give;
  {
    const std::lock_guard lock(mutex);
    const auto at = open.find(number);
    if (at == open.end()) return;
    give = std::move(at->second);
    open.erase(at);
  }
  give();
}

}  // namespace weft::channel
