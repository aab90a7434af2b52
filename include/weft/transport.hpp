// SPDX-License-Identifier: BSD-3-Clause
// All that collectives/ and core/server may ask of a fabric: active messages, reads of remote memory, and a way to
// sleep. A transport is a class for each of the types below; transport/README.md says how to add one, in this tree
// or outside of it.
//
// Threads   An Endpoint and all it made belong to one thread; other threads may only poll() its wait_fd().
// Progress  Nothing completes and no handler runs outside progress(). No operation blocks. A handler and a done() may
//           call everything but progress() and the destructors of what they were called for.
// Lifetime  Peers, regions and keys die before their Endpoint, a key before its peer. An operation that is open when
//           its Peer or its MemoryRegion dies, or the Endpoint itself, ends as `canceled` before that destructor
//           returns; the memory it named is free again then. A region that peers may still read is kept: a read of
//           one that is gone is an error for its reader, and may cost the two their connection.
// Failure   Losing a peer ends each of its open operations as `peer_lost`, and each later one too; none is left
//           without an end, none ends twice. A peer that comes back has a new Address and is reached anew.
// Order     Two messages to one peer arrive in the order they were sent if Capabilities::ordered; a get is in no
//           order with anything.
// Trust     Bytes arrive from whoever can reach the fabric. A transport checks what it parses itself and hands on the
//           rest unchecked; who sent a message is for the message to say, and to prove (transport/mesh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft {

/// Opaque; only the same transport understands it; exchanged out of band.
struct Address {
  static constexpr std::size_t max_bytes = 256;
  std::vector<std::byte> bytes;
};

/// Sizes in bytes. Fixed once the endpoint is open: a caller computes with them.
struct Capabilities {
  std::size_t max_inline = 0;   ///< send() copies up to here: the bytes are free again when it returns
  std::size_t max_message = 0;  ///< header + payload of one send(); at least 1024
  std::size_t max_header = 0;   ///< header of one send(); at least 128
  std::size_t max_get = 0;      ///< one get(); cutting larger reads is the caller's work
  bool rma = false;      ///< a get() costs the target no processor time; else it waits for its progress()
  bool ordered = false;  ///< see Order above
  bool wait_fd = false;  ///< arm() and wait_fd() work; without it the owner polls
  bool backs_memory = false;  ///< expose() puts memory behind every page of the region: no sparse ones then
  bool detects_loss =
      false;  ///< open operations to a dead peer end without help; else the caller needs a deadline
};

/// One open operation. Embed it in your own state; it stays in place until done() ran, exactly once.
struct Completion {
  using Done = void (*)(Completion& self, Result<void> outcome) noexcept;
  Done done = nullptr;
  alignas(16) std::byte transport[128];  ///< the transport's, while the operation is open
};
static_assert(sizeof(Completion) == 144);

class Peer {
 public:
  virtual ~Peer() = default;
};

class RemoteKey {
 public:
  virtual ~RemoteKey() = default;
};

/// Memory that peers may read and that get() may write to. Its bytes stay the caller's and outlive it.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  /// For import_key() at a peer; at most max_key_bytes; valid as long as the region.
  virtual Bytes packed_key() const noexcept = 0;
  static constexpr std::size_t max_key_bytes = 512;
};

struct Message {
  Bytes header, payload;
};

struct RemoteSlice {
  RemoteKey& key;
  std::uint64_t offset = 0;  ///< into the exposed region, whatever address it has there
};

struct LocalSlice {
  MemoryRegion& region;
  std::uint64_t offset = 0;
  std::size_t length = 0;
};

/// The message's bytes are valid during the call only, and aligned to nothing.
using Handler = void (*)(void* self, std::uint16_t id, const Message& message) noexcept;

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual const Capabilities& capabilities() const noexcept = 0;
  virtual const Address& address() const noexcept = 0;

  /// Connects in the background, at the latest with the first operation. Errors: corrupt (not an address of this
  /// transport), os. Whether anybody is there shows in the first operation.
  virtual Result<std::unique_ptr<Peer>> reach(const Address& address) = 0;
  /// Errors: invalid (empty), no_memory, os.
  virtual Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) = 0;
  /// Errors: corrupt.
  virtual Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) = 0;

  /// Where messages go from the next progress() on; before the first they wait or are dropped. handler may not be NULL.
  virtual void on_message(Handler handler, void* self) noexcept = 0;
  /// `to` and its Completion. Bytes above max_inline stay the caller's, unchanged, until done(). done() means: handed to
  /// the fabric, which delivers it if the peer lives; not that the peer has handled it.
  /// Errors, nothing is open then: again (full; progress(), retry), invalid (too large), peer_lost.
  virtual Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) = 0;
  /// Reads length bytes at from.offset of the peer's region into the local slice. Errors at once, nothing is open
  /// then: again, invalid (length above max_get, outside the local region), peer_lost. Errors in done(): invalid or
  /// os (outside the remote region, or that region is gone), peer_lost, canceled. Outside of a region that is there
  /// is never an error for anybody but the reader. A length of 0 is done at once too.
  virtual Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) = 0;

  /// Number of events handled; 0: idle.
  virtual std::size_t progress() noexcept = 0;
  /// The last call before sleeping on wait_fd(): after success the descriptor becomes readable with the next event. Any
  /// other call on the endpoint or what it made ends that: arm() again. Where send() or get() answered `again`, room is
  /// such an event. Errors: again (events wait, or nothing would tell of them: progress() first), not_supported.
  virtual Result<void> arm() noexcept = 0;
  virtual std::optional<int> wait_fd() const noexcept = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// options: what stands after the colon of WEFT_TRANSPORT, e.g. a provider; empty: the best.
  /// Errors: not_found (no such provider or device here; `what` names it), os.
  virtual Result<std::unique_ptr<Endpoint>> open(std::string_view options) = 0;
};

/// What a loadable module defines under the name `weft_transport_module`, with C linkage.
struct TransportModule {
  static constexpr std::uint32_t current_version = 1;  ///< changes with every change of the types above
  std::uint32_t version = current_version;
  const char* name = "";
  Transport* (*make)() noexcept = nullptr;  ///< NULL: no memory; the caller deletes it
};

}  // namespace weft
