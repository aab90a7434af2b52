// SPDX-License-Identifier: BSD-3-Clause
// State that UCP works on, kept apart from the caller's Completion.
//
// UCP cannot cancel a single operation, so it is never given the address of a Completion or of a message's
// bytes. It sends from a Transfer, which lives until UCP has completed it, even if the operation was canceled
// before. Only a direct get writes into the caller's memory: before that memory is released, the endpoint
// waits for the get to complete.
#pragma once

#include <ucp/api/ucp.h>

#include "transport/base/operations.hpp"
#include "transport/ucx/wire.hpp"

namespace weft::ucx {

class UcxEndpoint;
class UcxPeer;

/// A UCP endpoint: the connection behind a Peer. It outlives the Peer until all that was sent on it has left.
struct Connection {
  enum class State : std::uint8_t { used, retiring, closing, closed };
  UcxEndpoint* owner = nullptr;
  UcxPeer* peer = nullptr;  ///< NULL after the Peer was destroyed
  ucp_ep_h ep = nullptr;
  void* closing = nullptr;      ///< UCP's request of the close in progress
  std::uint32_t transfers = 0;  ///< not yet completed by UCP, or completed and not yet released
  State state = State::used;
  bool failed = false;            ///< reported by UCP; nothing works on this connection any more
  bool is_loss_reported = false;  ///< the operations of the peer have been ended as lost
  bool has_sent = false;
  bool is_set_up = false;  ///< the peer has answered: UCP has completed a transfer
};

struct UcxOperation;

/// One message, request, reply or direct get that UCP works on; the bytes to send follow the struct.
struct Transfer {
  enum class Kind : std::uint8_t { message, get_request, get_reply, direct_get };
  Transfer* next = nullptr;  ///< list of all transfers of an endpoint
  Transfer* previous = nullptr;
  Transfer* next_complete = nullptr;
  UcxEndpoint* owner = nullptr;
  Connection* connection = nullptr;   ///< NULL for a reply, which UCP returns the way the request came
  UcxOperation* operation = nullptr;  ///< NULL: canceled, or has no operation (a reply)
  const MemoryRegion* into =
      nullptr;  ///< the region that a direct get writes to; NULL: to the bytes of the transfer
  std::size_t length = 0;
  ucs_status_t status = UCS_OK;
  Kind kind = Kind::message;
  bool is_complete = false;  ///< UCP has completed it and touches its bytes no more

  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// In the scratch bytes of a Completion.
struct UcxOperation : transport::Operation {
  static constexpr std::uint32_t no_request_id = ~std::uint32_t{0};
  Transfer* transfer = nullptr;  ///< NULL: completed by UCP
  std::uint32_t request_id = no_request_id;
  std::byte* into = nullptr;  ///< where the reply to a get request is copied
  std::size_t length = 0;
};

/// All transfers of an endpoint, with a list of those that UCP has completed. Frees what is left at its end.
class Transfers {
 public:
  Transfers() { head_.next = head_.previous = &head_; }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();

  /// NULL: out of memory.
  Transfer* make(UcxEndpoint* owner, Transfer::Kind kind, Connection* connection,
                 std::size_t length) noexcept;
  void release(Transfer& transfer) noexcept;
  void complete(Transfer& transfer, ucs_status_t status) noexcept;
  /// Those that are left stay for ever: UCP may still use them.
  void abandon() noexcept { head_.next = head_.previous = &head_; }
  /// The completed transfers, chained by next_complete; the caller releases them.
  Transfer* take_completed() noexcept;
  bool has_completed() const noexcept { return first_complete_ != nullptr; }
  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }

  template <class Which>
  bool any(Which&& which) const noexcept {
    for (const Transfer* at = head_.next; at != &head_; at = at->next)
      if (which(*at)) return true;
    return false;
  }

 private:
  Transfer head_;
  Transfer *first_complete_ = nullptr, *last_complete_ = nullptr;
  std::size_t count_ = 0, bytes_ = 0;
};

/// Maps the identifier in a get reply to its operation. A reply may arrive after the operation was canceled
/// and its memory reused: each identifier carries a generation, so a late reply finds no operation.
class RequestIds {
 public:
  /// False: out of memory.
  bool assign(UcxOperation& operation) noexcept;
  /// NULL: that operation has ended.
  UcxOperation* find(RequestId request_id) const noexcept;
  RequestId of(const UcxOperation& operation) const noexcept {
    return {operation.request_id, all_[operation.request_id].generation};
  }
  void release(UcxOperation& operation) noexcept;

 private:
  struct Slot {
    UcxOperation* operation = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = 0;
  };
  std::vector<Slot> all_;
  std::uint32_t first_free_ = UcxOperation::no_request_id;
};

}  // namespace weft::ucx
