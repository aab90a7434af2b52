// SPDX-License-Identifier: BSD-3-Clause
// Over IPv6: ::1 of this machine, and an address of a network namespace that the test makes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "transport/base/networks.hpp"
#include "transport/ofi/peer.hpp"
#include "transport/ofi/providers/provider.hpp"
#include "transport/ofi/transport.hpp"

// The memory that libfabric 1.17 does not give back; the sanitizer's library looks for this function by name.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}

namespace weft::ofi {
namespace {

constexpr const char* in_namespace = "--over-fd00";
constexpr const char* of_namespace = "fd00:7765:6674::1";
enum Outcome : int { good = 0, no_namespace = 11, no_ipv6 = 12 };

bool has(const char* address) {
  for (const auto& interface : transport::interfaces())
    for (const auto& one : interface.addresses)
      if (transport::to_text(one) == address) return true;
  return false;
}

struct One : Completion {
  bool ended = false, failed = false;
};

/// A message and a read between two endpoints on that address; what failed, or nothing.
std::string talk(const std::string& provider, const char* address) {
  ::setenv("WEFT_NET", address, 1);
  OfiTransport transport;
  const auto a = transport.open({provider});
  if (!a) return a.error().what;
  const auto b = transport.open({provider});
  if (!b) return b.error().what;
  ::unsetenv("WEFT_NET");
  // Not by way of IPv4 after all.
  std::string ignored;
  const auto info = choose({provider, address, {}}, ignored);
  const auto bytes = unpack((*b)->address(), kind_of(*info->info));
  sockaddr_storage at{};
  if (!bytes || bytes->bytes.size() != sizeof(sockaddr_in6)) return "not an IPv6 address";
  std::memcpy(&at, bytes->bytes.data(), sizeof(sockaddr_in6));
  if (transport::to_text(at) != address) return "another address: " + transport::to_text(at);

  int heard = 0;
  (*b)->on_message([](void* self, std::uint16_t, const Message&) noexcept { ++*static_cast<int*>(self); },
                   &heard);
  std::vector<std::byte> source(10'000, std::byte{42}), target(10'000);
  const auto exposed = (*b)->expose(source), local = (*a)->expose(target);
  if (!exposed || !local) return "expose";
  One sent, got;
  sent.done = got.done = [](Completion& self, Result<void> outcome) noexcept {
    static_cast<One&>(self).ended = true;
    static_cast<One&>(self).failed = !outcome;
  };
  const auto peer = (*a)->reach((*b)->address());
  if (!peer) return "reach";
  const auto key = (*a)->import_key(**peer, (*exposed)->packed_key());
  if (!key || !(*a)->send(**peer, 1, {}, sent)) return "send";
  if (!(*a)->get({**key, 0}, {**local, 0, target.size()}, got)) return "get";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!(sent.ended && got.ended && heard == 1) && std::chrono::steady_clock::now() < deadline) {
    (*a)->progress();
    (*b)->progress();
  }
  if (!sent.ended || !got.ended || heard != 1) return "nothing came in 30 seconds";
  if (sent.failed || got.failed) return "an operation failed";
  return source == target ? "" : "wrong bytes";
}

class Ipv6Test : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!choose({GetParam(), {}, {}}, why_not)) GTEST_SKIP() << "this libfabric has no " << GetParam();
  }
};
INSTANTIATE_TEST_SUITE_P(Over, Ipv6Test, ::testing::Values("tcp;ofi_rxm", "net"),
                         [](const auto& p) { return std::string(p.param) == "net" ? "net" : "tcp_rxm"; });

TEST_P(Ipv6Test, loopback) {
  if (!has("::1")) GTEST_SKIP() << "this machine has no ::1";
  EXPECT_EQ(talk(GetParam(), "::1"), "");
}

/// A network namespace for the caller alone.
bool enter_a_namespace() {
  return ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
}

bool set_up(const char* interface) {
  ifreq request{};
  std::strcpy(request.ifr_name, interface);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int v4 = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool is_up = v4 >= 0 && ::ioctl(v4, SIOCSIFFLAGS, &request) == 0;
  ::close(v4);
  return is_up;
}

/// libfabric overlooks what lo has besides ::1, so the address belongs to a tunnel that leads nowhere. The
/// tunnel lives as long as its descriptor, which stays open when the process becomes another program.
bool take_address(const char* address) {
  ifreq tunnel{};
  std::strcpy(tunnel.ifr_name, "weft0");
  tunnel.ifr_flags = IFF_TUN | IFF_NO_PI;
  const int tun = ::open("/dev/net/tun", O_RDWR);
  if (tun < 0 || ::ioctl(tun, TUNSETIFF, &tunnel) != 0 || !set_up("weft0") || !set_up("lo")) return false;
  in6_ifreq request{};
  request.ifr6_ifindex = static_cast<int>(::if_nametoindex("weft0"));
  request.ifr6_prefixlen = 64;
  const int v6 = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool taken = v6 >= 0 && ::inet_pton(AF_INET6, address, &request.ifr6_addr) == 1 &&
                     ::ioctl(v6, SIOCSIFADDR, &request) == 0;
  ::close(v6);
  return taken && has(address);
}

/// The test has a process of its own, as libfabric may remember the interfaces of the other namespace.
TEST_P(Ipv6Test, unique_local_address) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!enter_a_namespace()) ::_exit(no_namespace);
    if (!take_address(of_namespace)) ::_exit(no_ipv6);
    ::execl("/proc/self/exe", "transport_ofi_test", in_namespace, GetParam(), nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == no_namespace) GTEST_SKIP() << "network namespaces are not allowed here";
  if (WEXITSTATUS(status) == no_ipv6) GTEST_SKIP() << "no IPv6, or no /dev/net/tun, in a network namespace";
  EXPECT_EQ(WEXITSTATUS(status), good);
}

}  // namespace
}  // namespace weft::ofi

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], weft::ofi::in_namespace) == 0) {
    const auto wrong = weft::ofi::talk(argv[2], weft::ofi::of_namespace);
    if (!wrong.empty()) std::fprintf(stderr, "over %s: %s\n", weft::ofi::of_namespace, wrong.c_str());
    return wrong.empty() ? weft::ofi::good : 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
