// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <new>

#include "base/local_socket.hpp"
#include "base/log_format.hpp"
#include "base/process.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

constexpr std::uint32_t max_hello = 4096;

}  // namespace

void ClientConnection::start(std::chrono::milliseconds patience) {
  // The kernel says which process connected, not the client.
  const auto peer = base::peer_credentials(socket_.native_handle());
  if (!peer) return close();
  pid = peer->pid;
  uid = peer->uid;
  gid = peer->gid;
  hello_limit_.expires_after(patience);
  hello_limit_.async_wait([weak = weak_from_this()](const std::error_code& error) {
    if (const auto self = weak.lock(); self && !error && !self->is_known) self->close();
  });
  read_header();
}

bool ClientConnection::has_unread_bytes() {
  pollfd watch{socket_.native_handle(), POLLIN, 0};  // -1 once it is closed
  return ::poll(&watch, 1, 0) == 1;
}

Result<void> ClientConnection::watch_process() {
  auto process = base::open_process(pid);
  if (!process) return fail(process.error());
  pid_watch_.assign(process->release());
  wait_for_process();
  return {};
}

void ClientConnection::wait_for_process() {
  pid_watch_.async_wait(asio::posix::stream_descriptor::wait_read,
                        [weak = weak_from_this()](const std::error_code& error) {
                          const auto self = weak.lock();
                          if (error || !self || self->closed_) return;
                          if (process_has_ended(self->pid_watch_.native_handle()))
                            return self->close_when_drained();
                          self->wait_for_process();
                        });
}

void ClientConnection::close_when_drained(std::function<void()> then) {
  if (closed_) return then ? then() : void();
  if (then) when_closed_.push_back(std::move(then));
  if (!admitted_) return close();  // nothing reads the socket yet
  is_ending_ = true;
  // The end is read after what is in the socket, also where a child of the process holds the other side open.
  std::error_code error;
  socket_.shutdown(Socket::shutdown_receive, error);
  if (error) return close();
  if (std::exchange(is_held_, false)) read_header();
}

void ClientConnection::close_when_exchanged(std::chrono::milliseconds patience) {
  writes_rest_ = true;
  if (!outbox_.empty()) {
    write_limit_.expires_after(patience);
    write_limit_.async_wait([weak = weak_from_this()](const std::error_code& error) {
      if (const auto self = weak.lock(); self && !error) self->close();
    });
  }
  close_when_drained();
}

void ClientConnection::on_read_end() {
  has_read_all_ = true;
  if (!writes_rest_ || outbox_.empty()) close();
}

void ClientConnection::read_next() {
  is_held_ = outbox_bytes_ > most_waiting && !is_ending_;
  if (!is_held_) read_header();
}

void ClientConnection::read_header() {
  asio::async_read(socket_, asio::buffer(front_),
                   [self = shared_from_this()](const std::error_code& error, std::size_t) {
                     if (error || self->closed_) return self->on_read_end();
                     self->read_payload();
                   });
}

void ClientConnection::read_payload() {
  const auto header = link::read_header(front_, is_known ? link::max_payload : max_hello);
  if (!header) return close();
  frame_ = {header->type, header->tag, {}};
  read_rest(header->bytes);
}

/// bytes: of the payload, in all.
void ClientConnection::read_rest(std::size_t bytes) {
  const auto have = frame_.payload.size();
  if (have == bytes) return hand_over();
  MutableBytes room;
  if (!guarded([&] { room = link::next_room(frame_.payload, have, bytes); })) return;
  // Nearly always it has come with its header: no trip through epoll then.
  const auto length = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  if (length == static_cast<ssize_t>(room.size())) return read_rest(bytes);
  if (length > 0) room = room.subspan(static_cast<std::size_t>(length));
  asio::async_read(socket_, asio::buffer(room.data(), room.size()),
                   [self = shared_from_this(), bytes](const std::error_code& error, std::size_t) {
                     // Closed meanwhile: a frame that was read already is dropped.
                     if (error || self->closed_) return self->on_read_end();
                     self->read_rest(bytes);
                   });
}

void ClientConnection::hand_over() {
  in_owner_ = true;
  guarded([this] { owner_.on_frame(shared_from_this(), std::move(frame_)); });
  in_owner_ = false;
  if (is_known) hello_limit_.cancel();
  if (!closed_ && admitted_) read_next();
}

/// Runs a piece of work. False: the work takes more memory than there is, which ends this client, and not the
/// server.
bool ClientConnection::guarded(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    frame_.payload = {};
    base::warn(base::LogPart::clients,
               "no memory is left for a {} of rank {} of {} (pid {}): its connection is closed",
               link::to_text(frame_.type), proc.rank, link::nspace_of(proc), pid);
    close();
    return false;
  }
}

void ClientConnection::admit() {
  admitted_ = true;
  if (!in_owner_ && !closed_) read_header();
}

void ClientConnection::send(link::MessageType type, std::uint64_t tag,
                            const std::vector<std::byte>& payload) {
  if (closed_) return;
  requests.give_back(tag);
  if (OpenRequests::is_silent(tag)) return;  // no process waits for it
  send_frame(link::make_frame(type, tag, payload), nullptr);
}

void ClientConnection::send_frame(std::vector<std::byte> frame, Sent sent) {
  if (outbox_.empty()) {
    // Nearly always the socket has room: no trip through epoll then.
    const auto length =
        ::send(socket_.native_handle(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length == static_cast<ssize_t>(frame.size())) return sent ? sent(true) : void();
    if (length > 0) frame.erase(frame.begin(), frame.begin() + length);
  }
  outbox_bytes_ += frame.size();
  outbox_.push_back({std::move(frame), std::move(sent)});
  if (outbox_.size() == 1) write_next();
}

void ClientConnection::send_push(link::MessageType type, const std::vector<std::byte>& payload, Sent sent) {
  const bool has_room = outbox_bytes_ + payload.size() <= most_waiting;
  if (has_room && !closed_) return send_frame(link::make_frame(type, 0, payload), std::move(sent));
  if (!closed_ && !std::exchange(has_dropped_, true))
    base::warn(base::LogPart::events, "rank {} of {} (pid {}) does not read: {}s to it are dropped",
               proc.rank, link::nspace_of(proc), pid, link::to_text(type));
  if (sent) sent(false);
}

void ClientConnection::reply(std::uint64_t tag, pmix_status_t status) {
  send(link::MessageType::done, tag, link::encode(link::Done{status}));
}

void ClientConnection::write_next() {
  asio::async_write(socket_, asio::buffer(outbox_.front().frame),
                    [self = shared_from_this()](const std::error_code& error, std::size_t) {
                      if (error || self->closed_) return self->close();
                      self->outbox_bytes_ -= self->outbox_.front().frame.size();
                      const auto sent = std::move(self->outbox_.front().sent);
                      self->outbox_.pop_front();
                      self->on_written();
                      if (sent) sent(true);  // last: it may send more
                    });
}

void ClientConnection::on_written() {
  if (outbox_bytes_ <= most_waiting / 2 && std::exchange(is_held_, false)) read_header();
  if (!outbox_.empty()) return write_next();
  has_dropped_ = false;
  if (has_read_all_) close();
}

void ClientConnection::close() {
  if (closed_) return;
  closed_ = true;
  // Out of epoll first, which close() would leave to the kernel: a child that the host is just starting may
  // hold copies for a moment, and events of a slot that Asio gave to another descriptor would come.
  std::error_code ignored;
  if (pid_watch_.is_open()) ::close(pid_watch_.release());
  if (const int fd = socket_.release(ignored); !ignored) ::close(fd);
  write_limit_.cancel();
  const auto self = shared_from_this();
  std::vector<Sent> unsent;
  for (auto& each : outbox_)
    if (each.sent) unsent.push_back(std::move(each.sent));
  for (const auto& sent : unsent) sent(false);
  owner_.on_closed(self);
  for (const auto& then : std::exchange(when_closed_, {})) then();
}

}  // namespace weft::server
