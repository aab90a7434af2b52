// SPDX-License-Identifier: BSD-3-Clause
// What the library is told to call an operation by, and what it says when the operation is over.
//
// What the library may touch after a call of ours returned is the endpoint's, not the caller's: the context, the bytes of
// a message, the bytes that a read brings. A software provider has no bounded way to take an operation back once it began
// (fi_cancel reaches receives only, fi_av_remove lets it go on, and a peer may be stopped for hours), and the contract
// wants the caller's memory free at once. So an operation that is canceled only loses its Carrier, which comes
// back to the pool when the library is done with it, or when the endpoint closes. Only where a read ends whatever the
// target does (Provider::rma) a longer one goes right into the caller's memory, and who cancels it waits for its end.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <chrono>
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
    read,
    receive,
  };
  fi_context2 library{};
  Kind kind = Kind::send;
};

struct Carrier;
struct Route;

/// In the scratch bytes of a Completion.
struct Open : transport::Operation {
  Carrier* carrier = nullptr;
};

/// A message, or a read, on its way.
struct Carrier : Context {
  std::uint8_t size_class = 0;
  bool direct = false;       ///< a read into the caller's memory
  bool posted = false;       ///< the library has it
  bool landed = false;       ///< a direct one: the library does not have it any more
  std::uint32_t length = 0;  ///< of what is sent or read
  Open* open = nullptr;      ///< NULL: canceled
  Route* route = nullptr;
  Carrier* next = nullptr;  ///< in the pool, or in the route's backlog
  std::byte* bytes = nullptr;
  void* descriptor = nullptr;  ///< of bytes; NULL unless FI_MR_LOCAL
  // A read:
  std::byte* into = nullptr;  ///< where the bytes go in the end
  void* into_descriptor = nullptr;
  std::uint64_t remote_address = 0, remote_key = 0;
  std::shared_ptr<const MappedKey> mapped;
  std::size_t bounces() const noexcept { return kind == Kind::read && !direct ? length : 0; }
};

/// Carriers of a few sizes, made when they are needed, up to a bound: that is when an endpoint is `full`.
class CarrierPool {
 public:
  /// most_sent, most_read: bytes of the largest message and of the largest read that bounces.
  void begin(const Registrar& registrar, std::size_t most_sent, std::size_t most_read);
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
  Class classes_[4];
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
  /// at_most: the descriptor is readable after that time, also if nothing came; 0: without end. Error `again`: read().
  Result<void> arm(std::chrono::milliseconds at_most) noexcept;
  /// After arm(): the owner has slept, or may have.
  void after_sleep() noexcept;
  std::optional<int> wait_fd() const noexcept {
    return wait_.get() >= 0 ? std::optional<int>(wait_.get()) : std::nullopt;
  }

 private:
  fid_fabric* fabric_ = nullptr;
  Result<void> make_wait_fd();

  Handle<fid_cq> queue_;
  // wait_ is an epoll of the other two. It hears of the library's by its edges: net of 1.17 leaves that one readable for
  // ever once a completion has passed, with nothing behind it and no call that takes it away without waiting.
  int library_ = -1;
  Descriptor alarm_, wait_;
  unsigned readable_for_nothing_ = 0;   ///< times in a row
  std::chrono::milliseconds timer_{0};  ///< what it was set to; 0: it does not run
};

/// What an error of the library means to the owner of an operation on a peer.
Error to_error(int error, int provider_error) noexcept;

}  // namespace weft::ofi
