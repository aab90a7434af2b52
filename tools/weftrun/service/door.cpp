// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/door.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/local_socket.hpp"
#include "tools/messages/service_messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::weftrun::service {
namespace {

using messages::exit_status::own_failure;

std::string socket_name(const std::string& name) {
  return fmt::format("weft-service-{}-{}", ::geteuid(), name);
}

bool is_of_this_user(int socket) {
  const auto other = base::peer_credentials(socket);
  return other && other->uid == ::geteuid();
}

}  // namespace

base::Fd connect_to_service(const std::string& name) {
  auto socket = base::connect_to(socket_name(name), base::Blocking::yes);
  if (!socket) throw messages::Stop(own_failure, messages::no_service(name));
  if (!is_of_this_user(socket->get())) throw messages::Stop(own_failure, messages::service_of_other(name));
  return std::move(*socket);
}

Door::Door(asio::io_context& loop, const std::string& name, std::function<void(base::Fd)> visitor)
    : listener_(loop), pause_(loop), visitor_(std::move(visitor)) {
  auto socket = base::listen_at(socket_name(name));
  if (!socket) throw messages::Stop(own_failure, messages::service_is_there(name, socket.error().sys));
  listener_.assign(socket->release());
  await();
}

void Door::await() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (!error) accept();
  });
}

void Door::accept() {
  base::Fd socket(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && base::is_shortage(errno)) {
    pause_.expires_after(base::shortage_pause);
    return pause_.async_wait([this](const asio::error_code& error) {
      if (!error) await();
    });
  }
  if (socket && is_of_this_user(socket.get())) visitor_(std::move(socket));
  await();
}

}  // namespace weft::weftrun::service
