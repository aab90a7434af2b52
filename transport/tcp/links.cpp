// SPDX-License-Identifier: BSD-3-Clause
// How connections and links come and go.
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "transport/tcp/endpoint.hpp"

namespace weft::tcp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto connect_time = 1s;  // then the next place, or this one again: the kernel's own pause doubles
constexpr auto first_pause = 10ms, longest_pause = 1000ms;
// A caller that wants to wait less long has its own deadline (the mesh).
constexpr auto give_up_after = 120s;
constexpr auto descriptors_may_be_back_in = 50ms;

constexpr const char* no_proof = "what listens there does not have the key of this job";
constexpr const char* no_listener = "no process listens there";
constexpr const char* no_answer = "what is reached there does not answer";

}  // namespace

void TcpEndpoint::watch(Connection& connection, bool for_writing) {
  if (connection.waits_for_room == for_writing) return;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | (for_writing ? EPOLLOUT : 0u);
  event.data.ptr = static_cast<EventSource*>(&connection);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket().get(), &event) == 0)
    connection.waits_for_room = for_writing;
}

std::shared_ptr<Link> TcpEndpoint::link_to(const EndpointId& id) {
  auto& link = links_[id];
  if (!link) link = std::make_shared<Link>(id);
  return link;
}

/// Accepts most_accepts connections at most; those that still wait keep the listener readable for the next
/// turn.
std::size_t TcpEndpoint::accept_some(Listening& listening) noexcept {
  std::size_t accepted = 0;
  for (; accepted < most_accepts; ++accepted) {
    auto socket = accept_from(listening.socket);
    if (!socket) {
      if (socket.error().code == Errc::no_space) pause_listening(true);
      break;
    }
    try {
      connections_.push_back(std::make_unique<Connection>(std::move(*socket), nullptr));
    } catch (const std::bad_alloc&) {  // as without a descriptor; the connection is closed
      pause_listening(true);
      break;
    }
    Connection& connection = *connections_.back();
    strangers_.add(connection);
    connection.deadline = Clock::now() + handshake_time;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.ptr = static_cast<EventSource*>(&connection);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.socket().get(), &event) != 0) {
      drop_stranger(connection);
      continue;
    }
    wake_at(connection.deadline);
    if (auto* const excess = strangers_.excess()) drop_stranger(*excess);  // N1
  }
  return accepted;
}

/// While there are no descriptors, what waits to be accepted would keep the endpoint awake.
void TcpEndpoint::pause_listening(bool pause) noexcept {
  for (const auto& listening : listening_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<EventSource*>(listening.get());
    ::epoll_ctl(epoll_.get(), pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, listening->socket.get(), &event);
  }
  listens_again_ = pause ? Clock::now() + descriptors_may_be_back_in : TimePoint::max();
  if (pause) wake_at(listens_again_);
}

/// A peer that has proved nothing yet says that it is `peer.from`: nothing is changed here. No: the peer
/// finds out by itself that there is a connection in the other direction (L1).
bool TcpEndpoint::accepts(const Introduction& peer) noexcept {
  if (peer.from == id_) return false;
  const auto found = links_.find(peer.from);
  if (found == links_.end()) return true;
  const Link& link = *found->second;
  return link.out == nullptr && (link.attempt == nullptr || peer.from < id_);
}

void TcpEndpoint::on_connected(Connection& connection) {
  Link& link = *connection.link;
  if (const auto connected = connection.finish_connect(); !connected) {
    const bool is_refused = connected.error().sys == ECONNREFUSED;
    return fail_attempt(link, is_refused, is_refused ? no_listener : no_answer);
  }
  connection.deadline = Clock::now() + handshake_time;
  shake_hands(connection);
}

void TcpEndpoint::shake_hands(Connection& connection) {
  const auto state = connection.shake_hands();
  switch (state) {
    case TlsStream::State::handshaking:
      if (connection.is_incoming && connection.tls().is_greeted()) {
        strangers_.greet(connection);
        if (auto* const excess = strangers_.excess()) drop_stranger(*excess);
      }
      return flush(connection);
    case TlsStream::State::open:
      if (connection.is_incoming) return on_accepted(connection);
      connection.deadline = TimePoint::max();  // for the peer it may be open
      return flush(connection);
    case TlsStream::State::refused:
      connection.flush();  // the alert that says why
      break;
    case TlsStream::State::unwanted:
    case TlsStream::State::broken:
      break;
  }
  if (connection.is_incoming) return drop_stranger(connection);
  fail_attempt(*connection.link, state == TlsStream::State::refused, no_proof);
}

void TcpEndpoint::on_accepted(Connection& connection) {
  strangers_.remove(connection);
  connection.link = link_to(connection.tls().introduction().from);
  if (const auto written = connection.write({.kind = FrameKind::welcome}, {}, {}); !written)
    return fail(connection, written.error().what);
  on_open(connection);
}

void TcpEndpoint::on_open(Connection& connection) {
  Link& link = *connection.link;
  if (link.attempt == &connection) link.attempt = nullptr;
  if (link.out != nullptr) return flush(connection);  // L2: it is for receiving
  if (auto* const attempt = std::exchange(link.attempt, nullptr);
      attempt != nullptr && attempt->state() != Connection::State::proved)
    close(*attempt);  // L4
  link.out = &connection;
  link.is_trying = false;
  if (!link.waiting.empty()) {
    const auto frames = std::exchange(link.waiting, {});
    if (const auto written = connection.write_frames(frames); !written)
      return fail(connection, written.error().what);
    link.messages.each(
        [&](transport::Operation& o) { static_cast<TcpOperation&>(o).ends_at = connection.sealed_bytes(); });
  }
  flush(connection);
}

/// Begins with the next place of a link that has neither an attempt nor a connection.
void TcpEndpoint::try_next(Link& link) {
  link.next_try = TimePoint::max();
  if (link.places.empty()) return;  // the peer connects
  const auto& place = link.places[link.next_place++ % link.places.size()];
  auto socket = connect_to(place);
  if (!socket) return fail_attempt(link, socket.error().sys == ECONNREFUSED, no_answer);
  auto tls = std::make_unique<TlsStream>(*tls_, Introduction{.from = id_, .to = link.id});
  connections_.push_back(std::make_unique<Connection>(std::move(*socket), std::move(tls)));
  Connection& connection = *connections_.back();
  connection.link = links_.at(link.id);
  connection.deadline = Clock::now() + connect_time;
  connection.waits_for_room = true;
  link.attempt = &connection;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLOUT;
  event.data.ptr = static_cast<EventSource*>(&connection);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.socket().get(), &event) != 0)
    return fail_attempt(link, false, no_answer);
  wake_at(connection.deadline);
}

/// is_refused: trying there again is of no use.
void TcpEndpoint::fail_attempt(Link& link, bool is_refused, const char* why) {
  if (link.attempt != nullptr) close(*std::exchange(link.attempt, nullptr));
  link.refused = is_refused ? link.refused + 1 : 0;
  const auto now = Clock::now();
  if (link.refused >= link.places.size() || now - link.began > give_up_after) return lose(link, why);
  const bool is_round_over = link.next_place % link.places.size() == 0;
  link.pause = is_round_over
                   ? std::clamp<std::chrono::milliseconds>(link.pause * 2, first_pause, longest_pause)
                   : link.pause;
  link.next_try = is_round_over ? now + link.pause : now;
  wake_at(link.next_try);
}

void TcpEndpoint::drop_stranger(Connection& connection) noexcept {
  strangers_.remove(connection);
  close(connection);
}

void TcpEndpoint::fail(Connection& connection, const char* why) {
  switch (connection.state()) {
    case Connection::State::closed:
      return;
    case Connection::State::open:
      return lose(*connection.link, why);
    case Connection::State::proved:
      if (connection.link->attempt != &connection) return close(connection);  // there is another way
      [[fallthrough]];
    case Connection::State::connecting:
    case Connection::State::handshaking:
      if (connection.is_incoming) return drop_stranger(connection);
      // The peer may not have wanted this attempt, because a connection in the other direction is being made.
      return fail_attempt(*connection.link, false, no_answer);
  }
}

/// L3.
void TcpEndpoint::lose(Link& link, const char* why) noexcept {
  if (link.is_lost) return;
  const auto kept = links_.find(link.id);
  const std::shared_ptr<Link> self = kept == links_.end() ? nullptr : kept->second;
  if (self) links_.erase(kept);
  link.is_lost = true;
  link.is_trying = false;
  link.why = why;
  link.attempt = link.out = nullptr;
  link.waiting = {};
  for (const auto& connection : connections_)
    if (connection->link.get() == &link) close(*connection);
  const auto fail_operation = [&](transport::Operation& operation) {
    auto& failed = static_cast<TcpOperation&>(operation);
    failed.has_failed = true;
    failed.why = {Errc::peer_lost, 0, why};
  };
  while (auto* const first = link.messages.first()) {
    fail_operation(*first);
    link.messages.move(*first, ended_);
  }
  gets_.each([&](transport::Operation& operation) {
    if (static_cast<const TcpPeer*>(operation.peer)->link.get() != &link) return;
    free_ticket(static_cast<TcpOperation&>(operation));
    fail_operation(operation);
    gets_.move(operation, ended_);
  });
}

/// Freed at the end of progress(): its events may still be in hand.
void TcpEndpoint::close(Connection& connection) noexcept {
  if (connection.state() == Connection::State::closed) return;
  // Taken out first: a child between fork and exec holds a copy, which would keep it in the epoll set.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.socket().get(), nullptr);
  connection.close();
  some_closed_ = true;
}

void TcpEndpoint::wake_at(TimePoint when) noexcept {
  if (when >= timer_at_) return;
  timer_at_ = when;
  const auto since = std::max(std::chrono::nanoseconds(1),
                              std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()));
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<time_t>(since / 1s);
  spec.it_value.tv_nsec = static_cast<long>((since % 1s).count());
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void TcpEndpoint::on_timer() {
  std::uint64_t times;
  (void)!::read(timer_.get(), &times, sizeof times);
  timer_at_ = TimePoint::max();
  const auto now = Clock::now();
  if (listens_again_ <= now) pause_listening(false);
  if (listens_again_ != TimePoint::max()) wake_at(listens_again_);
  while (auto* const overdue = strangers_.overdue(now)) drop_stranger(*overdue);
  wake_at(strangers_.next_deadline());

  std::erase_if(trying_, [](const auto& link) { return !link->is_trying; });
  for (const auto trying = trying_; const auto& link : trying) {  // a copy: losing one ends its entry
    if (link->attempt != nullptr && link->attempt->deadline <= now) fail_attempt(*link, false, no_answer);
    if (link->is_trying && link->attempt == nullptr && link->next_try <= now) try_next(*link);
    if (!link->is_trying) continue;
    if (link->attempt != nullptr) wake_at(link->attempt->deadline);
    if (link->next_try != TimePoint::max()) wake_at(link->next_try);
  }
}

}  // namespace weft::tcp
