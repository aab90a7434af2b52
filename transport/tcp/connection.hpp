// SPDX-License-Identifier: BSD-3-Clause
// One socket to another endpoint: its handshake, then frames in both directions; and those whose peers have
// proved nothing yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/fd.hpp"
#include "transport/tcp/frame.hpp"
#include "transport/tcp/tls/tls.hpp"
#include "weft/transport.hpp"

namespace weft::tcp {

using base::Fd;
using TimePoint = std::chrono::steady_clock::time_point;

struct Link;

/// The owner of the descriptor of an epoll event.
struct EventSource {
  enum class Kind : std::uint8_t { listener, connection, timer };
  explicit EventSource(Kind what) noexcept : kind(what) {}
  Kind kind;
};

/// Memory for what a connection reads; all connections of an endpoint take turns with it.
struct ReadBuffers {
  std::vector<std::byte> wire = std::vector<std::byte>(std::size_t{256} << 10);
  std::vector<std::byte> plain =
      std::vector<std::byte>(frame_header_bytes + most_body_bytes + TlsStream::record_bytes);
  std::size_t first = 0, last = 0;  ///< what of `plain` has not been handed out
};

class Connection : public EventSource {
 public:
  enum class State : std::uint8_t {
    connecting,
    handshaking,
    /// The connecting side has completed its handshake; the other side may have dropped the connection
    /// before it saw the proof.
    proved,
    open,  ///< both sides know
    closed
  };

  /// tls: NULL until begin_tls(), of one that was accepted.
  Connection(Fd socket, std::unique_ptr<TlsStream> tls) noexcept
      : EventSource(Kind::connection),
        is_incoming(tls == nullptr),
        socket_(std::move(socket)),
        tls_(std::move(tls)),
        state_(is_incoming ? State::handshaking : State::connecting) {}

  const bool is_incoming;
  std::shared_ptr<Link> link;  ///< NULL: the peer has not proved yet which endpoint it is
  TimePoint deadline{};        ///< of the handshake

  State state() const noexcept { return state_; }
  bool is_open() const noexcept { return state_ == State::open; }
  bool has_frames() const noexcept { return state_ == State::open || state_ == State::proved; }
  /// The other side's welcome has come.
  void open() noexcept { state_ = State::open; }
  const Fd& socket() const noexcept { return socket_; }
  TlsStream& tls() noexcept { return *tls_; }
  /// The peer has said something.
  bool has_tls() const noexcept { return tls_ != nullptr; }
  void begin_tls(std::unique_ptr<TlsStream> tls) noexcept { tls_ = std::move(tls); }

  /// The socket says that it is connected, or why not. Errors: unreachable, with errno.
  Result<void> finish_connect() noexcept;

  /// One recv(), of bytes for tls(); wire.size() of them: there may be more. Errors: again, peer_lost.
  Result<Bytes> receive(ReadBuffers& buffers) noexcept;
  /// The handshake goes on with what was received.
  TlsStream::State shake_hands() noexcept;
  /// Before the first next() of what was received.
  void begin(ReadBuffers& buffers);
  /// Where the next bytes of a reply belong; nothing: they are not wanted any more.
  using Landing = MutableBytes (*)(void* self, const Connection& from, std::uint64_t ticket);
  /// The body is valid until the next call. A reply comes in pieces, one after the other, each with the
  /// header of all. Errors: corrupt, peer_lost.
  Result<std::optional<Frame>> next(ReadBuffers& buffers, Landing landing, void* self);

  /// Seals a frame whose body is `first`, then `second`. Errors: no_memory.
  Result<void> write(const FrameHeader& header, Bytes first, Bytes second) noexcept;
  /// Frames as they are to be sealed. Errors: no_memory.
  Result<void> write_frames(Bytes frames) noexcept { return seal(frames); }
  /// Writes as much to the socket as it takes. A failure is seen when the socket is read next.
  void flush() noexcept;
  std::size_t backlog() const noexcept { return tls_ ? tls_->output().size() : 0; }
  /// Bytes that were sealed and that have left, since the beginning.
  std::uint64_t sealed_bytes() const noexcept { return flushed_ + backlog(); }
  std::uint64_t flushed_bytes() const noexcept { return flushed_; }

  /// A read that the peer has asked for and not got yet.
  struct Serving {
    std::uint64_t ticket;
    GetRequest rest;
  };
  std::deque<Serving> serving;

  bool waits_for_room = false;  ///< as epoll knows it
  void close() noexcept;

 private:
  Result<void> seal(Bytes plain) noexcept;

  Fd socket_;
  std::unique_ptr<TlsStream> tls_;
  State state_;
  bool is_write_broken_ = false;
  std::uint64_t flushed_ = 0;
  std::vector<std::byte> partial_;  ///< the beginning of a frame whose rest has not come yet
  FrameHeader reply_;               ///< that is being received
  std::size_t reply_left_ = 0;      ///< bytes of it that have not come yet
};

/// Connections of peers that have not proved yet that they have the key, each kind oldest first.
class Strangers {
 public:
  static constexpr std::size_t most = 64;  ///< of those whose hello was right, and of the others

  Strangers() {
    for (auto* const kind : {&greeted_, &others_}) kind->reserve(most + 1);
  }
  std::size_t size() const noexcept { return greeted_.size() + others_.size(); }
  /// Adds a connection that has said nothing yet.
  void add(Connection& one) noexcept { others_.push_back(&one); }
  /// The hello of a connection was right: what other strangers do does not end it.
  void greet(Connection& one) noexcept;
  void remove(Connection& one) noexcept;
  /// The connection that has to go because there are too many of its kind, after each add() and greet(): a
  /// connection that has said nothing where there is one, else the oldest. NULL: none has to.
  Connection* excess() const noexcept;
  Connection* overdue(TimePoint now) const noexcept;  ///< or NULL
  TimePoint next_deadline() const noexcept;

 private:
  std::vector<Connection*> greeted_, others_;
};

}  // namespace weft::tcp
