// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/completion.hpp"

#include <cstdlib>
#include <new>

namespace weft::ucx {

Transfers::~Transfers() {
  while (head_.next != &head_) release(*head_.next);
}

Transfer* Transfers::make(UcxEndpoint* owner, Transfer::Kind kind, Connection* connection,
                          std::size_t length) noexcept {
  void* memory = std::malloc(sizeof(Transfer) + length);
  if (memory == nullptr) return nullptr;
  auto* transfer = ::new (memory) Transfer;
  transfer->owner = owner;
  transfer->kind = kind;
  transfer->connection = connection;
  transfer->length = length;
  transfer->next = &head_;
  transfer->previous = head_.previous;
  head_.previous->next = transfer;
  head_.previous = transfer;
  if (connection != nullptr) ++connection->transfers;
  ++count_;
  bytes_ += length;
  return transfer;
}

void Transfers::release(Transfer& transfer) noexcept {
  transfer.previous->next = transfer.next;
  transfer.next->previous = transfer.previous;
  if (transfer.connection != nullptr) --transfer.connection->transfers;
  --count_;
  bytes_ -= transfer.length;
  std::free(&transfer);
}

void Transfers::complete(Transfer& transfer, ucs_status_t status) noexcept {
  transfer.status = status;
  transfer.is_complete = true;
  transfer.next_complete = nullptr;
  (first_complete_ == nullptr ? first_complete_ : last_complete_->next_complete) = &transfer;
  last_complete_ = &transfer;
}

Transfer* Transfers::take_completed() noexcept {
  Transfer* first = first_complete_;
  first_complete_ = last_complete_ = nullptr;
  return first;
}

bool RequestIds::assign(UcxOperation& operation) noexcept {
  if (first_free_ == UcxOperation::no_request_id) {
    try {
      all_.push_back({.operation = &operation});
      operation.request_id = static_cast<std::uint32_t>(all_.size() - 1);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  operation.request_id = first_free_;
  first_free_ = all_[operation.request_id].next_free;
  all_[operation.request_id].operation = &operation;
  return true;
}

UcxOperation* RequestIds::find(RequestId request_id) const noexcept {
  if (request_id.number >= all_.size() || all_[request_id.number].generation != request_id.generation)
    return nullptr;
  return all_[request_id.number].operation;
}

void RequestIds::release(UcxOperation& operation) noexcept {
  if (operation.request_id == UcxOperation::no_request_id) return;
  Slot& slot = all_[operation.request_id];
  slot.operation = nullptr;
  ++slot.generation;
  slot.next_free = first_free_;
  first_free_ = operation.request_id;
  operation.request_id = UcxOperation::no_request_id;
}

}  // namespace weft::ucx
