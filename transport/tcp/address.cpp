// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/address.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/fd.hpp"

namespace weft::tcp {
namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// The local address from which the kernel would send there. No byte is sent.
std::optional<SocketAddress> source_toward(const SocketAddress& there) noexcept {
  sockaddr_storage address{};
  const socklen_t bytes = there.to(address);
  const base::Fd socket(::socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0)
    return std::nullopt;
  socklen_t room = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &room) != 0) return std::nullopt;
  auto source = SocketAddress::from(address);
  if (source) source->port = 0;
  return source;
}

void add_once(std::vector<SocketAddress>& to, const SocketAddress& address) {
  if (to.size() < PackedAddress::most_places && std::find(to.begin(), to.end(), address) == to.end())
    to.push_back(address);
}

}  // namespace

std::optional<SocketAddress> SocketAddress::from(const sockaddr_storage& address) noexcept {
  SocketAddress out;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    std::copy(v4_prefix.begin(), v4_prefix.end(), out.host.begin());
    std::memcpy(out.host.data() + v4_prefix.size(), &v4.sin_addr, sizeof v4.sin_addr);
    out.port = ntohs(v4.sin_port);
    return out;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return std::nullopt;
  std::memcpy(out.host.data(), &v6.sin6_addr, out.host.size());
  out.port = ntohs(v6.sin6_port);
  return out;
}

int SocketAddress::family() const noexcept {
  return std::equal(v4_prefix.begin(), v4_prefix.end(), host.begin()) ? AF_INET : AF_INET6;
}

bool SocketAddress::is_loopback() const noexcept {
  if (family() == AF_INET) return host[v4_prefix.size()] == 127;
  return host.back() == 1 && std::all_of(host.begin(), host.end() - 1, [](auto byte) { return byte == 0; });
}

socklen_t SocketAddress::to(sockaddr_storage& into) const noexcept {
  into = {};
  if (family() == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(into);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, host.data() + v4_prefix.size(), sizeof v4.sin_addr);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(into);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  std::memcpy(&v6.sin6_addr, host.data(), host.size());
  return sizeof v6;
}

std::string SocketAddress::text() const {
  sockaddr_storage address{};
  to(address);
  const auto host_text = transport::to_text(address);
  return (family() == AF_INET ? host_text : "[" + host_text + "]") + ":" + std::to_string(port);
}

std::optional<Ports> Ports::parse(std::string_view text) noexcept {
  Ports out;
  if (text.empty()) return out;
  if (text == "none") {
    out.none = true;
    return out;
  }
  const auto dash = text.find('-');
  const auto port_of = [](std::string_view part, std::uint16_t& into) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), into);
    return error == std::errc() && end == part.data() + part.size() && into != 0;
  };
  if (!port_of(text.substr(0, dash), out.first)) return std::nullopt;
  out.last = out.first;
  if (dash != std::string_view::npos && !port_of(text.substr(dash + 1), out.last)) return std::nullopt;
  return out.first <= out.last ? std::optional(out) : std::nullopt;
}

std::vector<SocketAddress> listening_addresses(const transport::Networks* chosen,
                                               const std::vector<SocketAddress>& toward) {
  std::vector<SocketAddress> out;
  if (chosen == nullptr) {
    for (const auto& there : toward)
      if (const auto source = source_toward(there)) add_once(out, *source);
    if (!out.empty()) return out;
  }
  std::vector<SocketAddress> loopback;
  for (const auto& network : transport::interfaces()) {
    for (const auto& found : network.addresses) {
      // Each address by itself: one of another subnet at the same interface is not chosen with it.
      if (chosen != nullptr && !chosen->accepts({network.names, {found}})) continue;
      if (const auto address = SocketAddress::from(found))
        add_once(chosen == nullptr && address->is_loopback() ? loopback : out, *address);
    }
  }
  return out.empty() ? loopback : out;
}

}  // namespace weft::tcp
