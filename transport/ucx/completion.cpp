// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/completion.hpp"

#include <cstdlib>
#include <new>

namespace weft::ucx {

Flights::~Flights() {
  while (head_.next != &head_) release(*head_.next);
}

Flight* Flights::make(UcxEndpoint* owner, Flight::Kind kind, Line* line, std::size_t length) noexcept {
  void* memory = std::malloc(sizeof(Flight) + length);
  if (memory == nullptr) return nullptr;
  auto* flight = ::new (memory) Flight;
  flight->owner = owner;
  flight->kind = kind;
  flight->line = line;
  flight->length = length;
  flight->next = &head_;
  flight->previous = head_.previous;
  head_.previous->next = flight;
  head_.previous = flight;
  if (line != nullptr) ++line->flights;
  ++count_;
  bytes_ += length;
  return flight;
}

void Flights::release(Flight& flight) noexcept {
  flight.previous->next = flight.next;
  flight.next->previous = flight.previous;
  if (flight.line != nullptr) --flight.line->flights;
  --count_;
  bytes_ -= flight.length;
  std::free(&flight);
}

void Flights::ended(Flight& flight, ucs_status_t status) noexcept {
  flight.status = status;
  flight.is_over = true;
  flight.next_ended = nullptr;
  (first_ended_ == nullptr ? first_ended_ : last_ended_->next_ended) = &flight;
  last_ended_ = &flight;
}

Flight* Flights::take_ended() noexcept {
  Flight* first = first_ended_;
  first_ended_ = last_ended_ = nullptr;
  return first;
}

bool Tickets::give(Open& open) noexcept {
  if (first_free_ == Open::no_ticket) {
    try {
      all_.push_back({.open = &open});
      open.ticket = static_cast<std::uint32_t>(all_.size() - 1);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  open.ticket = first_free_;
  first_free_ = all_[open.ticket].next_free;
  all_[open.ticket].open = &open;
  return true;
}

Open* Tickets::holder(Ticket ticket) const noexcept {
  if (ticket.number >= all_.size() || all_[ticket.number].generation != ticket.generation) return nullptr;
  return all_[ticket.number].open;
}

void Tickets::take_back(Open& open) noexcept {
  if (open.ticket == Open::no_ticket) return;
  One& one = all_[open.ticket];
  one.open = nullptr;
  ++one.generation;
  one.next_free = first_free_;
  first_free_ = open.ticket;
  open.ticket = Open::no_ticket;
}

}  // namespace weft::ucx
