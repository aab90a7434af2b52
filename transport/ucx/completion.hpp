// SPDX-License-Identifier: BSD-3-Clause
// What UCP works on, apart from the caller's Completion. UCP cannot be told to let go of one operation, so it never
// learns where a Completion or the bytes of a message are: it sends from a Flight, which lives until UCP is done with
// it, whatever becomes of the operation meanwhile. Only a direct get writes to memory of the caller's; its end is
// waited for where that memory is about to go.
#pragma once

#include <ucp/api/ucp.h>

#include "transport/base/operations.hpp"
#include "transport/ucx/wire.hpp"

namespace weft::ucx {

class UcxEndpoint;
class UcxPeer;

/// A UCP endpoint: the connection behind a Peer, which it outlives until what was sent is on its way.
struct Line {
  enum class State : std::uint8_t { used, retiring, closing, closed };
  UcxEndpoint* owner = nullptr;
  UcxPeer* peer = nullptr;  ///< NULL: gone
  ucp_ep_h ep = nullptr;
  void* closing = nullptr;    ///< UCP's request
  std::uint32_t flights = 0;  ///< that UCP still works on or that nobody looked at yet
  State state = State::used;
  bool failed = false;   ///< UCP said so; nothing works on it any more
  bool is_told = false;  ///< the end of the peer was passed on to its operations
  bool has_sent = false;
};

struct Open;

struct Flight {
  enum class Kind : std::uint8_t { message, get_request, get_reply, direct_get };
  Flight* next = nullptr;  ///< all of an endpoint
  Flight* previous = nullptr;
  Flight* next_ended = nullptr;
  UcxEndpoint* owner = nullptr;
  Line* line = nullptr;                ///< NULL for a reply, which goes where the request came from
  Open* open = nullptr;                ///< NULL: nobody waits for it any more
  const MemoryRegion* into = nullptr;  ///< of a direct get
  std::size_t length = 0;
  ucs_status_t status = UCS_OK;
  Kind kind = Kind::message;
  bool is_over = false;  ///< UCP is done with it

  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

struct Open : transport::Operation {
  static constexpr std::uint32_t no_ticket = ~std::uint32_t{0};
  Flight* flight = nullptr;  ///< NULL: UCP's part is over
  std::uint32_t ticket = no_ticket;
  std::byte* into = nullptr;  ///< of a get by asking
  std::size_t length = 0;
};

/// All flights of an endpoint, and those of them that UCP is done with.
class Flights {
 public:
  Flights() { head_.next = head_.previous = &head_; }
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  ~Flights();

  /// NULL: no memory.
  Flight* make(UcxEndpoint* owner, Flight::Kind kind, Line* line, std::size_t length) noexcept;
  void release(Flight& flight) noexcept;
  void ended(Flight& flight, ucs_status_t status) noexcept;
  /// Those that ended, chained by next_ended; they are the caller's to release.
  Flight* take_ended() noexcept;
  bool has_ended() const noexcept { return first_ended_ != nullptr; }
  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }

  template <class Which>
  bool any(Which&& which) const noexcept {
    for (const Flight* at = head_.next; at != &head_; at = at->next)
      if (which(*at)) return true;
    return false;
  }

 private:
  Flight head_;
  Flight *first_ended_ = nullptr, *last_ended_ = nullptr;
  std::size_t count_ = 0, bytes_ = 0;
};

/// What a reply to a get is known by: the completion's memory may be somebody else's when it comes.
class Tickets {
 public:
  /// False: no memory.
  bool give(Open& open) noexcept;
  Open* holder(Ticket ticket) const noexcept;
  Ticket of(const Open& open) const noexcept { return {open.ticket, all_[open.ticket].generation}; }
  void take_back(Open& open) noexcept;

 private:
  struct One {
    Open* open = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = 0;
  };
  std::vector<One> all_;
  std::uint32_t first_free_ = Open::no_ticket;
};

}  // namespace weft::ucx
