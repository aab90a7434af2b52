// SPDX-License-Identifier: BSD-3-Clause
// The cost of bare TCP between two processes: a request of 16 B and a reply of the requested length. Sleeping
// is a blocking read, polling a read that returns at once.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench/pair/die.hpp"
#include "bench/pair/phases.hpp"

namespace weft::bench {
namespace {

struct Request {
  std::uint64_t follow = 0;  ///< bytes after this request
  std::uint64_t answer = 0;  ///< length of the reply
};
static_assert(sizeof(Request) == 16);

class Socket {
 public:
  Socket(int fd, const PairOptions& options) : fd_(fd), polls_(options.wait == PairOptions::Wait::poll) {
    const int yes = 1;
    if (::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) die_of_errno("TCP_NODELAY");
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(fd_); }

  void send(std::span<const std::byte> head, std::span<const std::byte> body = {}) {
    iovec parts[]{{const_cast<std::byte*>(head.data()), head.size()},
                  {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = body.empty() ? 1 : 2;
    const auto sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);  // blocking: all of it, or an error
    if (sent != static_cast<ssize_t>(head.size() + body.size())) die_of_errno("sendmsg");
  }
  /// False: the other side has ended before the first byte.
  bool receive(std::span<std::byte> into) {
    std::size_t got = 0;
    while (got < into.size()) {
      const auto n = ::recv(fd_, into.data() + got, into.size() - got, polls_ ? MSG_DONTWAIT : MSG_WAITALL);
      if (n == 0 && got == 0) return false;
      if (n == 0) die("the other side", "left in the middle");
      if (n < 0 && errno != EAGAIN && errno != EINTR) die_of_errno("recv");
      if (n > 0) got += static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
  bool polls_;
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

class TcpClient final : public PairClient {
 public:
  explicit TcpClient(const PairOptions& options) : options_(options), memory_(PairOptions::most_bytes) {}
  void contact(std::span<const std::byte> card) override {
    const std::string port(reinterpret_cast<const char*>(card.data()), card.size());
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = AF_INET;
    const std::string host = options_.at.substr(0, options_.at.rfind(':'));
    const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (failed != 0) die(host.c_str(), ::gai_strerror(failed));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, found->ai_addr, found->ai_addrlen) != 0) die_of_errno("connect");
    ::freeaddrinfo(found);
    socket_ = std::make_unique<Socket>(fd, options_);
    get(1);
  }
  void there_and_back(std::size_t bytes) override { ask({bytes, bytes}); }
  void get(std::size_t bytes) override { ask({0, bytes}); }

 private:
  void ask(Request request) {
    const std::span memory(memory_);
    socket_->send(bytes_of(request), memory.first(request.follow));
    if (!socket_->receive(memory.first(request.answer))) die("the server", "left");
  }
  const PairOptions& options_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Socket> socket_;
};

void answer_all(Socket& socket, std::span<std::byte> memory) {
  for (Request request; socket.receive(bytes_of(request));) {
    if (request.follow > memory.size() || request.answer > memory.size())
      die("the client", "asks for too much");
    if (request.follow > 0 && !socket.receive(memory.first(request.follow))) return;
    socket.send(memory.first(request.answer));
  }
}

void serve(const PairOptions& options) {
  auto side_channel = SideChannel::accept(options.at);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t length = sizeof at;
  auto* address = reinterpret_cast<sockaddr*>(&at);
  if (listener < 0 || ::bind(listener, address, length) != 0 || ::listen(listener, 4) != 0 ||
      ::getsockname(listener, address, &length) != 0)
    die_of_errno("listen");
  const std::string port = std::to_string(ntohs(at.sin_port));
  side_channel.send(std::as_bytes(std::span(port)));
  std::vector<std::byte> memory(PairOptions::most_bytes);
  for (;;) {
    pollfd waits[]{{listener, POLLIN, 0}, {side_channel.fd(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) die_of_errno("poll");
    if (waits[0].revents == 0 && waits[1].revents != 0) return;
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) die_of_errno("accept");
    Socket socket(fd, options);
    answer_all(socket, memory);
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  int status = 0;
  const auto options =
      parse_pair_options(argc, argv, "weft_floor_tcp_pair: times bare TCP between two processes", status);
  if (!options) return status;
  if (!options->transport.empty() && options->transport != "tcp")
    die("--transport", "only tcp is carried here");
  settle(*options);
  if (options->serve) {
    serve(*options);
  } else {
    auto side_channel = SideChannel::connect(options->at);
    run_client(
        *options, "floor_tcp", [&] { return std::make_unique<TcpClient>(*options); }, side_channel);
  }
}
