// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/own_addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace weft::allocation {
namespace {

/// Empty: others do not reach this machine by it.
std::string text_of(const ifaddrs& entry) {
  if ((entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0 || entry.ifa_addr == nullptr)
    return {};
  const auto family = entry.ifa_addr->sa_family;
  const void* bytes = nullptr;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
  } else if (family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&six)) return {};
    bytes = &six;
  }
  char text[INET6_ADDRSTRLEN];
  if (bytes == nullptr || ::inet_ntop(family, bytes, text, sizeof text) == nullptr) return {};
  return text;
}

}  // namespace

std::string own_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<std::string> known;
  std::string out;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    auto text = text_of(*at);
    if (text.empty() || std::find(known.begin(), known.end(), text) != known.end()) continue;
    if (out.size() + 1 + text.size() > longest_addresses) continue;
    if (!out.empty()) out += ',';
    out += text;
    known.push_back(std::move(text));
  }
  return out;
}

}  // namespace weft::allocation
