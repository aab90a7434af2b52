// SPDX-License-Identifier: BSD-3-Clause
// All that collectives/ and core/server may use of a fabric: active messages, reads of remote memory, and a
// way to sleep. A transport implements each of the types below; transport/README.md explains how to add one,
// in this tree or outside of it.
//
// Threads   An Endpoint and all that it made belong to one thread; other threads may only poll() its
//           wait_fd().
// Progress  Nothing completes and no handler runs outside progress(). No operation blocks. A handler and a
//           done() may call everything but progress() and the destructors of what they were called for.
// Lifetime  Peers, regions and keys are destroyed before their Endpoint, a key before its peer. An operation
//           that is open when its Peer, its MemoryRegion or the Endpoint is destroyed ends as `canceled`
//           before that destructor returns; the memory it named is free again then. A region that peers may
//           still read must be kept: reading a region that no longer exists is an error for its reader, and
//           may cost the two their connection.
// Failure   Losing a peer ends each of its open operations as `peer_lost`, and each later one too; every
//           operation ends exactly once. A peer that restarts has a new Address and is reached anew.
// Order     Two messages to one peer arrive in the order they were sent if Capabilities::ordered; a get has
//           no order relative to anything.
// Trust     Any process that can reach the fabric can send bytes. A transport checks what it parses itself
//           and passes on the rest unchecked; a message itself must name its sender, and prove it
//           (transport/mesh). Capabilities::seals says that the transport does better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  std::size_t max_inline = 0;   ///< send() copies up to this size: the bytes are free again when it returns
  std::size_t max_message = 0;  ///< header + payload of one send(); at least 1024
  std::size_t max_header = 0;   ///< header of one send(); at least 128
  std::size_t max_get = 0;      ///< size of one get(); the caller splits larger reads
  /// A get() costs the target no processor time; otherwise it needs the target's progress().
  bool rma = false;
  bool ordered = false;       ///< see Order above
  bool wait_fd = false;       ///< arm() and wait_fd() work; otherwise the owner polls
  bool backs_memory = false;  ///< expose() allocates every page of the region, so sparse regions become dense
  /// Open operations to a dead peer end by themselves; otherwise the caller needs a deadline.
  bool detects_loss = false;
  /// Everything that arrives, messages and bytes that are read, comes from holders of Opening::key, once and
  /// unchanged, and no other process can read it on its way.
  bool seals = false;
  /// The bytes that get() brings are those that lie at the peer: no other process can put its own on the way.
  /// Always so where the fabric seals.
  bool guards_reads = seals;
  bool is_reachable = true;  ///< false: peers cannot connect to it, it has to reach them
  /// The harm that a process without the key can do if it reaches the endpoint's network, in one line for
  /// administrators; "": it can at most keep connections waiting.
  const char* risk = "";
};

/// An open operation. Embed it in your own state; it must stay in place until done() has run, exactly once.
struct Completion {
  using Done = void (*)(Completion& self, Result<void> outcome) noexcept;
  Done done = nullptr;
  alignas(16) std::byte transport[128];  ///< belongs to the transport while the operation is open
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

/// Memory that peers may read and that get() may write to. The caller owns the memory, which must outlive
/// this.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  /// The key for import_key() at a peer; at most max_key_bytes; valid as long as the region.
  virtual Bytes packed_key() const noexcept = 0;
  static constexpr std::size_t max_key_bytes = 512;
};

struct Message {
  Bytes header, payload;
};

struct RemoteSlice {
  RemoteKey& key;
  std::uint64_t offset = 0;  ///< offset into the exposed region, independent of its address at the target
};

struct LocalSlice {
  MemoryRegion& region;
  std::uint64_t offset = 0;
  std::size_t length = 0;
};

/// The bytes of the message are valid only during the call, and not aligned.
using Handler = void (*)(void* self, std::uint16_t id, const Message& message) noexcept;

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual const Capabilities& capabilities() const noexcept = 0;
  virtual const Address& address() const noexcept = 0;
  /// The provider, device and address that carry the endpoint, for people; "": nothing that the name of the
  /// transport does not say.
  virtual std::string device() const { return {}; }

  /// Connects in the background, at the latest with the first operation, which also shows whether the peer is
  /// alive. Errors: corrupt (not an address of this transport), peer_lost (nothing listens there, where that
  /// is known at once), os.
  virtual Result<std::unique_ptr<Peer>> reach(const Address& address) = 0;
  /// Errors: invalid (empty), no_memory, os.
  virtual Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) = 0;
  /// Errors: corrupt.
  virtual Result<std::unique_ptr<RemoteKey>> import_key(Peer& peer, Bytes packed) = 0;

  /// Sets the handler of messages from the next progress() on; messages before the first call wait or are
  /// dropped. handler must not be NULL.
  virtual void on_message(Handler handler, void* self) noexcept = 0;
  /// Sends a message. Bytes above max_inline stay the caller's, unchanged, until done(). done() means: handed
  /// to the fabric, which delivers the message if the peer lives; not that the peer has handled it.
  /// Errors, with nothing open then: again (full; progress(), retry), invalid (too large), peer_lost.
  virtual Result<void> send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) = 0;
  /// Reads length bytes at from.offset of the peer's region into the local slice. Errors of the call, with
  /// nothing open then: again, invalid (length above max_get, outside the local region), peer_lost. Errors in
  /// done(): invalid or os (outside the remote region, or that region no longer exists), peer_lost, canceled.
  /// A read outside of an existing region is an error for its reader only. A get of length 0 ends with the
  /// next progress() like any other.
  virtual Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) = 0;

  /// Number of events handled; 0: idle.
  virtual std::size_t progress() noexcept = 0;
  /// The last call before sleeping on wait_fd(): after success the descriptor becomes readable with the next
  /// event. Any other call on the endpoint or what it made cancels that: arm() again. If send() or get()
  /// failed with `again`, room is such an event. Errors: again (events wait, or the descriptor would not
  /// report them: progress() first), not_supported.
  virtual Result<void> arm() noexcept = 0;
  virtual std::optional<int> wait_fd() const noexcept = 0;
};

/// The arguments that an endpoint is opened with. The bytes are the caller's and needed during the call only.
struct Opening {
  std::string_view
      options{};  ///< the part of WEFT_TRANSPORT after the colon, such as a provider; empty: the best
  Bytes key{};    ///< a secret that all endpoints of the job have and no other process
  const Address* toward =
      nullptr;              ///< of a peer that is reached first: the way there says which network to use
  std::uint32_t nodes = 0;  ///< endpoints of the job, this one among them; 0: not known
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Errors: not_found (no such provider or device here), invalid, os. `what` explains the error and stays
  /// valid until the next open() or the end of this object.
  virtual Result<std::unique_ptr<Endpoint>> open(const Opening& opening) = 0;
};

/// The object that a loadable module defines under the name `weft_transport_module`, with C linkage.
struct TransportModule {
  static constexpr std::uint32_t current_version = 3;  ///< changes with every change of the types above
  std::uint32_t version = current_version;
  const char* name = "";
  /// Returns NULL when out of memory; the caller deletes the object.
  Transport* (*make)() noexcept = nullptr;
};

}  // namespace weft
