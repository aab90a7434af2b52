// SPDX-License-Identifier: BSD-3-Clause
// The cost that no Init can avoid if a server hands out a segment: connect to its socket, receive a
// descriptor, map it, read one page. n clients at once, one server thread; the slowest client counts, as in a
// job.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "bench/floors/arguments.hpp"
#include "bench/floors/team.hpp"
#include "bench/report/clock.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t segment_bytes = std::size_t{64} << 20;  // sparse; only its first page exists
constexpr unsigned most = 1024;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  _exit(1);
}

// An abstract address: leaves no file behind.
socklen_t server_address(sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "weft-floor-%d", getpid());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

struct Packet {
  char byte = 's';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  Packet() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void serve(int listener, int segment, unsigned clients) {
  for (unsigned i = 0; i < clients; ++i) {
    const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) die("accept");
    Packet packet;
    cmsghdr* control = CMSG_FIRSTHDR(&packet.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof segment);
    std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
    if (sendmsg(client, &packet.header, 0) != 1) die("sendmsg");
    close(client);
  }
}

double attach(const sockaddr_un& address, socklen_t length) {
  const std::int64_t begin = now_ns();
  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0 || connect(s, reinterpret_cast<const sockaddr*>(&address), length) != 0) die("connect");
  Packet packet;
  if (recvmsg(s, &packet.header, MSG_CMSG_CLOEXEC) != 1) die("recvmsg");
  const cmsghdr* control = CMSG_FIRSTHDR(&packet.header);
  if (control == nullptr) die("no descriptor came");
  int segment = -1;
  std::memcpy(&segment, CMSG_DATA(control), sizeof segment);
  const void* at = mmap(nullptr, segment_bytes, PROT_READ, MAP_SHARED, segment, 0);
  if (at == MAP_FAILED || *static_cast<const volatile char*>(at) != 'w') die("mmap");
  return static_cast<double>(now_ns() - begin);
}

double slowest_of(unsigned n, int segment, double* times) {
  sockaddr_un address;
  const socklen_t length = server_address(address);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener, static_cast<int>(most)) != 0) {
    die("listen");
  }
  // Member n is the server, so that it is scheduled as a daemon would be: as one more process.
  run_team(n + 1, [&](unsigned member) {
    if (member == n) {
      serve(listener, segment, n);
    } else {
      times[member] = attach(address, length);
    }
  });
  close(listener);
  double slowest = 0;
  for (unsigned i = 0; i < n; ++i) slowest = std::max(slowest, times[i]);
  return slowest;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  const Arguments arguments =
      parse_arguments(argc, argv, "connect, receive a descriptor, map it; slowest of n");
  Reporter reporter = arguments.reporter();
  const int segment = memfd_create("weft-floor", MFD_CLOEXEC);
  if (segment < 0 || ftruncate(segment, segment_bytes) != 0 || pwrite(segment, "w", 1, 0) != 1) die("memfd");
  struct Times {
    double of[most];
  };
  auto* times = shared_new<Times>();
  const unsigned repeats = arguments.repeats == 0 ? 20 : arguments.repeats;
  for (const unsigned n : arguments.sizes) {
    if (n > most) usage(argv[0], "at most 1024 processes", 2);
    std::vector<double> slowest;
    for (unsigned r = 0; r < repeats; ++r) slowest.push_back(slowest_of(n, segment, times->of));
    reporter.print(make_record("floor_connect_slowest", n, "ns", slowest));
  }
}
