// SPDX-License-Identifier: BSD-3-Clause
// What the library is told to call an operation by, and what it says when the operation is over.
//
// Every byte that the library may touch after a call of ours returned is the endpoint's, never the caller's: the
// context, the bytes of a message, the bytes that a read brings. A software provider has no bounded way to take an
// operation back once it began (fi_cancel reaches receives only, and a peer may be stopped for hours), and the contract
// wants the caller's memory free at once. So an operation that is canceled only loses its Carrier, which comes
// back to the pool when the library is done with it, or when the endpoint closes.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <optional>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/ofi/handles.hpp"
#include "transport/ofi/memory.hpp"

namespace weft::ofi {

/// What op_context points to. Its first bytes are the library's (FI_CONTEXT, FI_CONTEXT2).
struct Context {
  enum class Kind : std::uint8_t {
    send,
    request,  ///< of a read: it ends with the reply, or with the loss of this
    read,     ///< fi_read
    service,  ///< a reply: nobody waits for its end
    receive,
  };
  fi_context2 library{};
  Kind kind = Kind::send;
};

struct Carrier;
struct Route;

/// In the scratch bytes of a Completion.
struct Open : transport::Operation {
  Carrier* carrier = nullptr;  ///< NULL: a read whose request has left
  // A read that the target's progress() answers:
  std::byte* into = nullptr;
  std::uint32_t length = 0;
  std::uint32_t ticket = no_ticket;
  static constexpr std::uint32_t no_ticket = ~std::uint32_t{0};
};

/// A message, or a read, on its way.
struct Carrier : Context {
  std::uint8_t size_class = 0;
  std::uint32_t length = 0;  ///< of what is sent or read
  Open* open = nullptr;      ///< NULL: canceled
  Route* route = nullptr;
  Carrier* next = nullptr;  ///< in the pool, or in the route's backlog
  std::byte* bytes = nullptr;
  /// Nobody waits for it any more.
  bool is_orphan() const noexcept { return open == nullptr && kind != Kind::service; }
  void* descriptor = nullptr;  ///< of bytes; NULL unless FI_MR_LOCAL
  std::byte* into = nullptr;   ///< fi_read: where bytes go in the end
  std::uint64_t remote_address = 0, remote_key = 0;
};

/// Carriers of three sizes, made when they are needed, up to a bound: that is when an endpoint is `full`.
class CarrierPool {
 public:
  void begin(const Registrar& registrar, std::size_t largest);
  /// Of at least that many bytes; NULL: all are in use, or no memory.
  Carrier* take(std::size_t bytes) noexcept;
  void put(Carrier& carrier) noexcept;

 private:
  struct Slab {
    Handle<fid_mr> registered;
    std::unique_ptr<std::byte[]> bytes;
    std::unique_ptr<Carrier[]> carriers;
  };
  struct Class {
    std::size_t bytes = 0, per_slab = 0, most_slabs = 0;
    Carrier* free = nullptr;
    std::vector<Slab> slabs;
  };
  bool grow(Class& of) noexcept;

  const Registrar* registrar_ = nullptr;
  Class classes_[3];
};

/// One completion. error: a positive fabric errno, or 0.
struct Event {
  Context* context = nullptr;
  std::uint64_t flags = 0;
  std::size_t length = 0;
  std::byte* data = nullptr;  ///< receives of several messages: where this one is
  int error = 0, provider_error = 0;
};

class CompletionQueue {
 public:
  static Result<CompletionQueue> make(fid_fabric& fabric, fid_domain& domain, const fi_info& info);
  fid_cq* get() const noexcept { return queue_.get(); }
  /// Appends what there is, up to a batch.
  void read(std::vector<Event>& to) noexcept;
  /// expects: something is waited for that may never come; then the descriptor is readable after a while at the latest.
  Result<void> arm(bool expects) noexcept;
  /// After arm(): the owner has slept, or may have.
  void after_sleep() noexcept;
  std::optional<int> wait_fd() const noexcept {
    return wait_.get() >= 0 ? std::optional<int>(wait_.get()) : std::nullopt;
  }

 private:
  fid_fabric* fabric_ = nullptr;
  Result<void> make_wait_fd();

  Handle<fid_cq> queue_;
  Descriptor timer_, wait_;  ///< wait_: an epoll of the library's descriptor and the timer
  bool timer_runs_ = false;
};

/// What an error of the library means to the owner of an operation on a peer.
Error to_error(int error, int provider_error) noexcept;

}  // namespace weft::ofi
