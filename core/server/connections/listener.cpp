// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/listener.hpp"

#include <fcntl.h>

#include <asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/local_socket.hpp"
#include "base/log_format.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

base::Fd new_spare() {
  return base::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

/// By hand: the processes that the host starts meanwhile must not inherit the socket.
base::Fd accept_from(int socket) {
  return base::Fd(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

}  // namespace

Listener::Listener(asio::io_context& loop, base::Fd socket, Events events)
    : loop_(loop),
      acceptor_(loop, asio::local::stream_protocol(), socket.release()),
      events_(std::move(events)),
      spare_(new_spare()) {}

Result<void> Listener::listen_in(const std::string& folder, const std::string& name) {
  if (folder.empty()) return {};
  base::Fd socket;
  auto file = SocketFile::listen(folder, name, socket);
  if (!file) {
    base::error(base::LogPart::clients, "no socket can be made in WEFT_SOCKET_DIR={}: {}", folder,
                file.error().sys != 0 ? std::strerror(file.error().sys) : file.error().what);
    return fail(file.error());
  }
  file_ = std::move(*file);
  at_file_ = std::make_unique<Listener>(loop_, std::move(socket), events_);
  at_file_->start();
  return {};
}

void Listener::start() {
  acceptor_.async_wait(asio::socket_base::wait_read, [this](const std::error_code& error) {
    if (error) return;
    if (accept_one() == Outcome::shortage) return wait_for_room(errno);
    full_since_.reset();
    start();
  });
}

Listener::Outcome Listener::accept_one() {
  auto fd = accept_from(acceptor_.native_handle());
  if (!fd) {
    return base::is_shortage(errno) ? Outcome::shortage : Outcome::none;
  }
  take(std::move(fd));
  return Outcome::accepted;
}

void Listener::take(base::Fd fd) {
  const auto peer = base::peer_credentials(fd.get());
  if (peer && events_.is_expected(*peer)) events_.accepted(std::move(fd));
}

/// First come, first accepted: behind as many as the backlog holds, there is no process that was there
/// before.
void Listener::accept_waiting() {
  // Without descriptors none comes in.
  for (int i = 0; i <= SOMAXCONN && !full_since_; ++i)
    if (accept_one() != Outcome::accepted) break;
  if (at_file_) at_file_->accept_waiting();
}

void Listener::stop() {
  if (at_file_) at_file_->stop();
  (void)::shutdown(acceptor_.native_handle(),
                   SHUT_RDWR);  // a host may watch it, and hear of its end by that only
  std::error_code ignored;
  acceptor_.close(ignored);
}

/// Out of descriptors, or of the kernel's memory for sockets: the clients in the backlog are served when
/// another leaves. After two seconds of that they are refused one by one, with the reason, through a
/// descriptor that was kept for this.
void Listener::wait_for_room(int shortage) {
  const auto now = std::chrono::steady_clock::now();
  if (!full_since_) {
    full_since_ = now;
    base::warn(base::LogPart::clients, "the server has no {}",
               shortage == ENOBUFS || shortage == ENOMEM
                   ? "memory left for the socket of a client that connects."
                   : "file descriptor left for a client that connects; raise ulimit -n.");
  }
  if (now - *full_since_ >= std::chrono::seconds(2)) refuse_one();
  auto retry = std::make_shared<asio::steady_timer>(loop_, base::shortage_pause);
  retry->async_wait([this, retry](const std::error_code& error) {
    if (!error && acceptor_.is_open()) start();
  });
}

void Listener::refuse_one() {
  spare_.reset();
  {
    const auto fd = accept_from(acceptor_.native_handle());
    const auto peer = fd ? base::peer_credentials(fd.get()) : fail(Errc::not_found);
    const link::Refused refused{PMIX_ERR_OUT_OF_RESOURCE,
                                "the server has no file descriptor left; raise ulimit -n"};
    if (peer && events_.is_expected(*peer))
      (void)link::send_frame(fd.get(), link::MessageType::refused, 0, link::encode(refused));
  }
  spare_ = new_spare();
}

}  // namespace weft::server
