// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/own_names.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/host_name.hpp"

namespace weft::allocation {
namespace {

bool same_letters(std::string_view one, std::string_view other) noexcept {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// An IP address without port and scope, IPv4 within IPv6 as IPv4.
struct Address {
  int family = 0;
  std::array<unsigned char, 16> bytes{};
  bool operator==(const Address&) const = default;
  bool is_loopback() const noexcept {
    const in6_addr six = IN6ADDR_LOOPBACK_INIT;
    return family == AF_INET ? bytes[0] == 127 : std::memcmp(bytes.data(), &six, sizeof six) == 0;
  }
};

std::optional<Address> address_of(const sockaddr* socket) noexcept {
  Address address;
  if (socket == nullptr) return std::nullopt;
  if (socket->sa_family == AF_INET) {
    address.family = AF_INET;
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(socket)->sin_addr, 4);
    return address;
  }
  if (socket->sa_family != AF_INET6) return std::nullopt;
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(socket)->sin6_addr;
  const bool is_four = IN6_IS_ADDR_V4MAPPED(&six);
  address.family = is_four ? AF_INET : AF_INET6;
  std::memcpy(address.bytes.data(), six.s6_addr + (is_four ? 12 : 0), is_four ? 4 : 16);
  return address;
}

std::optional<Address> literal(std::string_view text) {
  Address address;
  const std::string copy(text.substr(0, text.find('%')));
  if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) address.family = AF_INET;
  if (address.family == 0 && ::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1)
    address.family = AF_INET6;
  return address.family == 0 ? std::nullopt : std::optional(address);
}

bool is_own(const Address& address) {
  if (address.is_loopback()) return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (address_of(at->ifa_addr) == address) return true;
  }
  return false;
}

}  // namespace

bool same_host(std::string_view one, std::string_view other) noexcept {
  if (one.empty() || other.empty()) return false;
  if (same_letters(one, other)) return true;
  const auto one_dot = one.find('.'), other_dot = other.find('.');
  const bool one_is_short = (one_dot == std::string_view::npos) != (other_dot == std::string_view::npos);
  if (!one_is_short || literal(one) || literal(other)) return false;
  return same_letters(one.substr(0, one_dot), other.substr(0, other_dot));
}

OwnNames OwnNames::here() {
  OwnNames names;
  names.host = base::host_name();
  if (const char* slurm = std::getenv("SLURMD_NODENAME")) names.slurm_node = slurm;
  return names;
}

bool OwnNames::matches(std::string_view name) const {
  if (same_host(name, host) || same_host(name, slurm_node) || same_letters(name, "localhost")) return true;
  const auto address = literal(name);
  return address && is_own(*address);
}

bool resolves_elsewhere(const std::string& name) {
  addrinfo* list = nullptr;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.c_str(), nullptr, &wanted, &list) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    const auto address = address_of(at->ai_addr);
    if (!address || is_own(*address)) return false;
  }
  return list != nullptr;
}

}  // namespace weft::allocation
