// SPDX-License-Identifier: BSD-3-Clause
#include "bench/floors/links.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>

#include "bench/pair/die.hpp"

namespace weft::bench {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, unsigned port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = AF_INET;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) die(host.c_str(), ::gai_strerror(failed));
  return {found, &::freeaddrinfo};
}

int listen_at(const std::string& host, unsigned port, unsigned how_many) {
  const auto address = resolve(host, port);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  if (listener < 0 || ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener, address->ai_addr, address->ai_addrlen) != 0 ||
      ::listen(listener, static_cast<int>(how_many)) != 0)
    die_of_errno(host.c_str());
  return listener;
}

int connect_to(const std::string& host, unsigned port) {
  const auto address = resolve(host, port);
  for (;;) {  // the other daemon may start later; the watchdog limits the wait
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) die_of_errno("socket");
    if (::connect(socket, address->ai_addr, address->ai_addrlen) == 0) return socket;
    if (errno != ECONNREFUSED) die_of_errno(host.c_str());
    ::close(socket);
    ::usleep(2000);
  }
}

void write_word(int socket, std::uint64_t word) {
  if (::send(socket, &word, sizeof word, MSG_NOSIGNAL) != sizeof word) die_of_errno("send");
}

constexpr const char* left_early = "left in the middle";

/// nullopt: the other side has ended.
std::optional<std::uint64_t> try_read_word(int socket) {
  std::uint64_t word = 0;
  const auto got = ::recv(socket, &word, sizeof word, MSG_WAITALL);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return std::nullopt;
  if (got != sizeof word) die_of_errno("recv");
  return word;
}

std::uint64_t read_word(int socket) {
  const auto word = try_read_word(socket);
  if (!word) die("a host", left_early);
  return *word;
}

}  // namespace

Links::Links(const std::vector<std::string>& at, unsigned me, unsigned port, Wait wait)
    : wait_(wait), sockets_(at.size(), -1), arrived_(at.size()) {
  if (wait == Wait::epoll && (epoll_ = ::epoll_create1(EPOLL_CLOEXEC)) < 0) die_of_errno("epoll_create1");
  const int listener = listen_at(at[me], port, size());
  for (unsigned host = 0; host < me; ++host) {
    const int socket = connect_to(at[host], port);
    write_word(socket, me);
    adopt(host, socket);
  }
  for (unsigned missing = size() - 1 - me; missing > 0; --missing) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) die_of_errno("accept");
    const std::uint64_t host = read_word(socket);
    if (host <= me || host >= size() || sockets_[host] >= 0)
      die("a host", "gave a number that is not its own");
    adopt(static_cast<unsigned>(host), socket);
  }
  ::close(listener);
}

Links::~Links() {
  for (const int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

void Links::adopt(unsigned host, int socket) {
  const int yes = 1;
  if (::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) die_of_errno("TCP_NODELAY");
  sockets_[host] = socket;
  if (epoll_ < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = host;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) die_of_errno("epoll_ctl");
}

void Links::send(unsigned to, std::uint64_t word) {
  write_word(sockets_[to], word);
}

std::uint64_t Links::receive(unsigned from) {
  if (wait_ == Wait::read) return read_word(sockets_[from]);
  auto& words = arrived_[from];
  while (words.empty()) {
    if (sockets_[from] < 0) die("a host", left_early);
    collect();
  }
  const std::uint64_t word = words.front();
  words.erase(words.begin());
  return word;
}

/// Sleeps until a word has arrived. A host that has ended is an error only for a caller that still needs a
/// word from it.
void Links::collect() {
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
  if (count < 0 && errno != EINTR) die_of_errno("epoll_wait");
  for (int i = 0; i < count; ++i) {
    const unsigned host = events[static_cast<std::size_t>(i)].data.u32;
    if (const auto word = try_read_word(sockets_[host])) {
      arrived_[host].push_back(*word);
    } else {
      ::close(sockets_[host]);  // closing also removes it from the epoll set
      sockets_[host] = -1;
    }
  }
}

}  // namespace weft::bench
