// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/networks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace weft::transport {
namespace {

/// Returns the number of bytes; 0: another family.
std::size_t bytes_of(const sockaddr_storage& address, std::array<std::uint8_t, 16>& into) noexcept {
  if (address.ss_family == AF_INET) {
    std::memcpy(into.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
    return 4;
  }
  if (address.ss_family == AF_INET6) {
    std::memcpy(into.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
    return 16;
  }
  return 0;
}

bool same_bits(const std::array<std::uint8_t, 16>& a, const std::array<std::uint8_t, 16>& b,
               unsigned bits) noexcept {
  for (std::size_t i = 0; bits != 0; ++i) {
    const unsigned here = std::min(bits, 8u);
    if (((a[i] ^ b[i]) & (0xff00u >> here)) != 0) return false;
    bits -= here;
  }
  return true;
}

bool matches_pattern(std::string_view pattern, std::string_view name) noexcept {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*')
    return !name.empty() && name.front() == pattern.front() &&
           matches_pattern(pattern.substr(1), name.substr(1));
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
    if (matches_pattern(pattern.substr(1), name.substr(skipped))) return true;
  return false;
}

constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view digits = "0123456789";
constexpr std::size_t max_name_bytes = 64;  // also limits the work of matches_pattern()

bool consists_of(std::string_view text, std::initializer_list<std::string_view> allowed) noexcept {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [c](auto set) { return set.find(c) != std::string_view::npos; });
  });
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

/// Returns what is wrong with the entry; empty if nothing is.
std::string Networks::read_entry(std::string_view text, Entry& into) {
  if (!text.empty() && text.front() == '^') {
    into.excludes = true;
    text.remove_prefix(1);
  }
  if (text.empty()) return into.excludes ? "excludes nothing" : "an empty entry";
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  const bool is_address = slash != std::string_view::npos || host.find(':') != std::string::npos ||
                          consists_of(host, {digits, "."});
  if (!is_address) {
    if (text.size() > max_name_bytes || !consists_of(text, {alphabet, digits, "_-.*@"}))
      return "is no name of an interface or device";
    if (std::count(text.begin(), text.end(), '*') > 2) return "has more than two *";
    into.name = text;
    return {};
  }
  into.family = host.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (::inet_pton(into.family, host.c_str(), into.prefix.data()) != 1) return "is no address";
  const unsigned most = into.family == AF_INET ? 32 : 128;
  into.bits = most;
  if (slash == std::string_view::npos) return {};
  const auto length = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), into.bits);
  if (error != std::errc() || end != length.data() + length.size() || into.bits > most)
    return "needs a number from 0 to " + std::to_string(most) + " after the /";
  return {};
}

std::optional<Networks> Networks::parse(std::string_view text, std::string& why_not) {
  Networks out;
  for (std::string_view left = text; !left.empty();) {
    const auto comma = left.find(',');
    const auto part = trimmed(left.substr(0, comma));
    if (const auto wrong = read_entry(part, out.entries_.emplace_back()); !wrong.empty()) {
      why_not = "WEFT_NET=" + std::string(text) + ": " +
                (part.empty() ? "" : "'" + std::string(part) + "' ") + wrong;
      return std::nullopt;
    }
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
    if (left.empty()) {
      why_not = "WEFT_NET=" + std::string(text) + ": an empty entry";
      return std::nullopt;
    }
  }
  return out;
}

bool Networks::Entry::matches(const Network& network) const noexcept {
  if (!name.empty())
    return std::any_of(network.names.begin(), network.names.end(),
                       [this](const std::string& one) { return matches_pattern(name, one); });
  return std::any_of(network.addresses.begin(), network.addresses.end(), [this](const auto& address) {
    std::array<std::uint8_t, 16> bytes{};
    return address.ss_family == family && bytes_of(address, bytes) != 0 && same_bits(bytes, prefix, bits);
  });
}

bool Networks::accepts(const Network& network) const noexcept {
  bool some_include = false, included = false;
  for (const auto& entry : entries_) {
    const bool matches = entry.matches(network);
    if (entry.excludes && matches) return false;
    some_include |= !entry.excludes;
    included |= !entry.excludes && matches;
  }
  return included || !some_include;
}

std::vector<Network> interfaces() {
  std::vector<Network> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return out;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_UP) == 0) continue;
    auto known = std::find_if(out.begin(), out.end(),
                              [&](const Network& n) { return n.names.front() == at->ifa_name; });
    if (known == out.end()) known = out.insert(out.end(), Network{{at->ifa_name}, {}});
    if (at->ifa_addr == nullptr) continue;
    const auto family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage address{};
    std::memcpy(&address, at->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    known->addresses.push_back(address);
  }
  return out;
}

std::string to_text(const sockaddr_storage& address) {
  std::array<std::uint8_t, 16> bytes{};
  char text[INET6_ADDRSTRLEN];
  if (bytes_of(address, bytes) == 0) return "?";
  return ::inet_ntop(address.ss_family, bytes.data(), text, sizeof text) == nullptr ? "?" : text;
}

std::string to_text(const Network& network) {
  std::string out;
  for (const auto& name : network.names) out += (out.empty() ? "" : "=") + name;
  std::string addresses;
  for (const auto& address : network.addresses)
    addresses += (addresses.empty() ? "" : ", ") + to_text(address);
  return addresses.empty() ? out : out + " (" + addresses + ")";
}

}  // namespace weft::transport
