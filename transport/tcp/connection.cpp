// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::tcp {
Result<void> Connection::finish_connect() noexcept {
  int why = 0;
  socklen_t bytes = sizeof why;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &why, &bytes) != 0) why = errno;
  if (why != 0) return fail(Errc::unreachable, "connect", why);
  state_ = State::handshaking;
  return {};
}

Result<Bytes> Connection::receive(ReadBuffers& buffers) noexcept {
  const auto bytes = ::recv(socket_.get(), buffers.wire.data(), buffers.wire.size(), MSG_DONTWAIT);
  if (bytes > 0) return Bytes(buffers.wire).first(static_cast<std::size_t>(bytes));
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return fail(Errc::again);
  return fail(Errc::peer_lost, "the connection has ended", bytes < 0 ? errno : 0);
}

TlsStream::State Connection::shake_hands() noexcept {
  const auto state = tls_->step();
  if (state == TlsStream::State::open) state_ = is_incoming ? State::open : State::proved;
  return state;
}

void Connection::begin(ReadBuffers& buffers) {
  buffers.first = 0;
  buffers.last = partial_.size();
  std::copy(partial_.begin(), partial_.end(), buffers.plain.begin());
  if (!partial_.empty()) partial_ = {};
}

Result<std::optional<Frame>> Connection::next(ReadBuffers& buffers, Landing landing, void* self) {
  auto& plain = buffers.plain;
  for (;;) {
    const Bytes at_hand = Bytes(plain).subspan(buffers.first, buffers.last - buffers.first);
    if (reply_left_ != 0 && !at_hand.empty()) {
      const Bytes piece = at_hand.first(std::min(at_hand.size(), reply_left_));
      buffers.first += piece.size();
      reply_left_ -= piece.size();
      return Frame{reply_, piece};
    }
    if (reply_left_ == 0) {
      const auto frame = first_frame(at_hand);
      if (!frame) return fail(frame.error());
      if (*frame) {
        reply_ = (*frame)->header;
        reply_left_ = reply_.body_bytes - (*frame)->body.size();
        buffers.first += frame_header_bytes + (*frame)->body.size();
        return *frame;
      }
    }
    const auto coming = tls_->coming();
    if (!coming) return fail(coming.error());
    if (*coming == 0) {
      partial_.assign(at_hand.begin(), at_hand.end());
      return std::nullopt;
    }
    if (*coming > AesGcm::short_bytes &&
        *coming <= reply_left_) {  // what is shorter is copied, and may be TLS's own
      if (const auto into = landing(self, *this, reply_.number); into.size() >= *coming) {
        const auto landed = tls_->read(into.first(*coming));
        if (!landed) return fail(landed.error());
        reply_left_ -= *landed;
        return Frame{reply_, into.first(*landed)};
      }
    }
    if (buffers.first != 0 && plain.size() - buffers.last < TlsStream::record_bytes) {
      std::memmove(plain.data(), at_hand.data(), at_hand.size());
      buffers.last = at_hand.size();
      buffers.first = 0;
    }
    const auto more = tls_->read(MutableBytes(plain).subspan(buffers.last));
    if (!more) return fail(more.error());
    buffers.last += *more;
  }
}

Result<void> Connection::seal(Bytes plain) noexcept {
  return plain.empty() ? Result<void>() : tls_->write(plain);
}

Result<void> Connection::write(const FrameHeader& header, Bytes first, Bytes second) noexcept {
  std::array<std::byte, TlsStream::record_bytes> record;
  auto* at = base::write_fixed(record.data(), header);
  // A body that does not fit into one record is sealed where it lies, so that a reader can have it opened
  // where it belongs.
  if (first.size() + second.size() <= static_cast<std::size_t>(record.end() - at))
    for (Bytes* part : {&first, &second}) {
      at = std::copy(part->begin(), part->end(), at);
      *part = {};
    }
  if (auto done = seal(Bytes(record.data(), static_cast<std::size_t>(at - record.data()))); !done)
    return done;
  if (auto done = seal(first); !done) return done;
  return seal(second);
}

void Connection::flush() noexcept {
  while (!is_write_broken_ && backlog() != 0) {
    const Bytes output = tls_->output();
    const auto bytes = ::send(socket_.get(), output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) return;
    if (bytes < 0) {
      // Frames that the peer sent before it went may still lie in the socket: they are read first.
      is_write_broken_ = true;
      return;
    }
    tls_->sent(static_cast<std::size_t>(bytes));
    flushed_ += static_cast<std::uint64_t>(bytes);
  }
}

void Connection::close() noexcept {
  if (state_ == State::closed) return;
  if (has_frames()) {
    flush();
    // Unread bytes would make the kernel tell the peer of an error, which may overtake what was sent last.
    ::shutdown(socket_.get(), SHUT_WR);
    std::array<std::byte, 4096> unread;
    for (int i = 0; i < 64 && ::recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) {
    }
  }
  state_ = State::closed;
  socket_.reset();
}

void Strangers::greet(Connection& one) noexcept {
  if (std::find(greeted_.begin(), greeted_.end(), &one) != greeted_.end()) return;
  greeted_.push_back(&one);
  std::erase(others_, &one);
}

void Strangers::remove(Connection& one) noexcept {
  std::erase(greeted_, &one);
  std::erase(others_, &one);
}

Connection* Strangers::excess() const noexcept {
  if (greeted_.size() > most) return greeted_.front();
  if (others_.size() <= most) return nullptr;
  const auto silent =
      std::find_if(others_.begin(), others_.end(), [](const Connection* one) { return !one->has_tls(); });
  return silent == others_.end() ? others_.front() : *silent;
}

Connection* Strangers::overdue(TimePoint now) const noexcept {
  for (const auto* kind : {&greeted_, &others_})
    for (auto* const one : *kind)
      if (one->deadline <= now) return one;
  return nullptr;
}

TimePoint Strangers::next_deadline() const noexcept {
  auto next = TimePoint::max();
  for (const auto* kind : {&greeted_, &others_})
    for (const auto* const one : *kind) next = std::min(next, one->deadline);
  return next;
}

}  // namespace weft::tcp
