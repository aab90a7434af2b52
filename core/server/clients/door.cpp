// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/door.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/link/rendezvous.hpp"

namespace weft::server {
namespace {

/// Connections of another user that have not said hello, beside those of registered clients: tools of root.
constexpr std::size_t most_silent = 64;

}  // namespace

Door::Door(Loop& loop, LoopWatch& watch, const Jobs& jobs, Cluster& cluster, ClientConnection::Owner& owner)
    : loop_(loop), watch_(watch), jobs_(jobs), cluster_(cluster), owner_(owner) {}

Door::~Door() = default;

Result<void> Door::listen(const std::string& name, const std::string& folder) {
  auto socket = link::listen_on(name);
  if (!socket) return fail(socket.error());
  listener_ =
      std::make_unique<Listener>(loop_.io(), std::move(*socket),
                                 Listener::Events{[this](const ucred& peer) { return may_connect(peer.uid); },
                                                  [this](base::Fd fd) { open(std::move(fd)); }});
  return listener_->listen_in(folder, name);
}

void Door::accept(pmix_server_listener_fn_t by_host) {
  if (by_host != nullptr) {
    host_listener_.emplace(loop_.io(), [this](base::Fd fd) {
      if (!is_closing_) listener_->take(std::move(fd));
    });
    if (host_listener_->hand_over(by_host, listener_->native_handle())) return;
    host_listener_.reset();
  }
  listener_->start();
}

/// This server's user, root, and the users of the clients that the host has registered. Of another user's
/// processes as many may be silent at a time as there are registered clients of that user, and a few more; an
/// honest one says hello at once.
bool Door::may_connect(uid_t user) const {
  if (user == ::getuid()) return true;
  const auto registered = jobs_.count_clients_of(user);
  if (registered == 0 && user != 0) return false;
  const auto silent = std::count_if(
      connections_.begin(), connections_.end(),
      [&](const ConnectionRef& connection) { return !connection->is_known && connection->uid == user; });
  return static_cast<std::size_t>(silent) < registered + most_silent;
}

void Door::open(base::Fd fd) {
  const LoopWatch::Work work(watch_, "a process that connects");
  asio::local::stream_protocol::socket socket(loop_.io());
  std::error_code error;
  socket.assign(asio::local::stream_protocol(), fd.get(), error);
  if (error) return;
  (void)fd.release();
  const auto connection = std::make_shared<ClientConnection>(std::move(socket), owner_);
  connections_.push_back(connection);
  pace_of(cluster_).share_cores(static_cast<unsigned>(connections_.size()));
  connection->start();
}

void Door::remove(const ConnectionRef& connection) {
  std::erase(connections_, connection);
  pace_of(cluster_).share_cores(static_cast<unsigned>(connections_.size()));
}

void Door::after_hellos(std::function<void()> then) {
  listener_->accept_waiting();
  std::vector<std::weak_ptr<ClientConnection>> unread;
  for (const auto& connection : connections_)
    if (!connection->is_known) unread.push_back(connection);
  await_hellos(std::move(unread), loop_.now() + std::chrono::seconds(1), std::move(then));
}

void Door::await_hellos(std::vector<std::weak_ptr<ClientConnection>> unread, Loop::TimePoint limit,
                        std::function<void()> then) {
  // From the back and no further than to the first that is not: each is asked about once, however often this
  // comes round.
  const auto is_handled = [](const std::weak_ptr<ClientConnection>& weak) {
    const auto connection = weak.lock();
    return !connection || connection->is_known || !connection->has_unread_bytes();
  };
  while (!unread.empty() && is_handled(unread.back())) unread.pop_back();
  // A hello that was read out of its socket may be handled behind what is handled now.
  if (unread.empty() || loop_.now() >= limit) return loop_.post(std::move(then));
  loop_.post([this, unread = std::move(unread), limit, then = std::move(then)]() mutable {
    await_hellos(std::move(unread), limit, std::move(then));
  });
}

void Door::close_connections() {
  is_closing_ = true;
  for (const auto& connection : std::vector<ConnectionRef>(connections_)) {
    const LoopWatch::Work work(watch_, "the end of the server", &connection->proc);
    connection->leaving = true;
    connection->close_when_exchanged();
  }
}

}  // namespace weft::server
