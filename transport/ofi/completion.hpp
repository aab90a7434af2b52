// SPDX-License-Identifier: BSD-3-Clause
// What the library identifies an operation by, and what it reports when the operation has completed.
//
// The memory that the library may touch after a call has returned (the context, the bytes of a message, the
// bytes that a read returns) belongs to the endpoint, not to the caller. A software provider cannot cancel a
// started operation within a bounded time: fi_cancel() works on receives only, fi_av_remove() lets the
// operation go on, and a peer may be stopped for hours; but the contract requires that the caller's memory is
// free at once. A canceled operation is therefore detached from its Transfer, which returns to the pool when
// the library has completed it or when the endpoint closes. Only where a read completes whatever the target
// does (Provider::rma), longer reads go directly into the caller's memory, and canceling such a read waits
// for its completion.
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

/// The object that op_context points to. The first bytes belong to the library (FI_CONTEXT, FI_CONTEXT2).
struct Context {
  enum class Kind : std::uint8_t {
    send,
    read,
    receive,
  };
  fi_context2 library{};
  Kind kind = Kind::send;
};

struct Transfer;
struct Connection;

/// In the scratch bytes of a Completion.
struct OfiOperation : transport::Operation {
  Transfer* transfer = nullptr;
};

/// A message or a read that is in flight, with the buffer that the library works on.
struct Transfer : Context {
  std::uint8_t size_class = 0;
  bool direct = false;                ///< a read directly into the caller's memory
  bool is_posted = false;             ///< handed to the library
  bool is_complete = false;           ///< direct only: the library has completed it
  std::uint32_t length = 0;           ///< bytes sent or read
  OfiOperation* operation = nullptr;  ///< NULL: canceled
  Connection* connection = nullptr;
  Transfer* next = nullptr;  ///< in the pool's free list, or in the backlog of the connection
  std::byte* bytes = nullptr;
  void* descriptor = nullptr;  ///< of `bytes`; NULL unless FI_MR_LOCAL
  // Reads only:
  std::byte* into = nullptr;  ///< where the bytes are copied when the read has completed
  void* into_descriptor = nullptr;
  std::uint64_t remote_address = 0, remote_key = 0;
  std::shared_ptr<const MappedKey> mapped;
  /// Bytes that pass through this buffer on their way into the caller's memory.
  std::size_t bounce_bytes() const noexcept { return kind == Kind::read && !direct ? length : 0; }
};

/// Transfers in a few sizes, allocated when needed, up to a bound; at that bound the endpoint is full.
class TransferPool {
 public:
  /// Sizes in bytes of the largest message, and of the largest read that does not go directly into the
  /// caller's memory.
  void begin(const Registrar& registrar, std::size_t max_send_bytes, std::size_t max_read_bytes);
  /// A transfer with a buffer of at least that size. NULL: all are in use, or out of memory.
  Transfer* take(std::size_t bytes) noexcept;
  void put(Transfer& transfer) noexcept;

 private:
  struct Slab {
    Handle<fid_mr> registered;
    std::unique_ptr<std::byte[]> bytes;
    std::unique_ptr<Transfer[]> transfers;
  };
  struct Class {
    std::size_t bytes = 0, per_slab = 0, max_slabs = 0;
    Transfer* free = nullptr;
    std::vector<Slab> slabs;
  };
  bool grow(Class& of) noexcept;

  const Registrar* registrar_ = nullptr;
  Class classes_[4];
};

/// One entry of the completion queue. error: a positive fabric errno, or 0.
struct Event {
  Context* context = nullptr;
  std::uint64_t flags = 0;
  std::size_t length = 0;
  std::byte* data = nullptr;  ///< where the message lies in a buffer that takes several
  int error = 0, provider_error = 0;
};

class CompletionQueue {
 public:
  static Result<CompletionQueue> make(fid_fabric& fabric, fid_domain& domain, const fi_info& info);
  fid_cq* get() const noexcept { return queue_.get(); }
  /// Appends the completions that are ready, up to a batch.
  void read(std::vector<Event>& to) noexcept;
  /// The descriptor becomes readable with the next completion, and after at_most in any case; 0: no such
  /// limit. Error `again`: completions may be waiting, read() first.
  Result<void> arm(std::chrono::milliseconds at_most) noexcept;
  /// To be called after a sleep that followed arm(), or that may have.
  void after_sleep() noexcept;
  std::optional<int> wait_fd() const noexcept {
    return wait_.get() >= 0 ? std::optional<int>(wait_.get()) : std::nullopt;
  }

 private:
  fid_fabric* fabric_ = nullptr;
  Result<void> make_wait_fd();

  Handle<fid_cq> queue_;
  // wait_ is an epoll of the other two, and watches the descriptor of the library edge-triggered: with the
  // provider net of 1.17 that descriptor stays readable for ever once a completion has passed, although
  // nothing is ready, and no call resets it without waiting.
  int library_ = -1;
  Descriptor alarm_, wait_;
  unsigned spurious_readable_ = 0;  ///< how often in a row the descriptor was readable and nothing was ready
  std::chrono::milliseconds timer_{0};  ///< the time that alarm_ was set to; 0: not running
};

/// Translates an error of the library into the Error for the owner of an operation on a peer.
Error to_error(int error, int provider_error) noexcept;

}  // namespace weft::ofi
