// SPDX-License-Identifier: BSD-3-Clause
// Where an endpoint is reached, and on which of this node's addresses it listens.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "transport/base/networks.hpp"
#include "transport/tcp/tls/tls.hpp"
#include "weft/transport.hpp"

namespace weft::tcp {

/// An IPv6 address, or an IPv4 address as IPv6 has it (::ffff:10.1.2.3), and a port.
struct SocketAddress {
  std::array<std::uint8_t, 16> host{};
  std::uint16_t port = 0;

  /// Nothing: another family, or an address that means something on its own link only.
  static std::optional<SocketAddress> from(const sockaddr_storage& address) noexcept;
  bool is_loopback() const noexcept;
  int family() const noexcept;
  /// Returns the length of the address in `into`.
  socklen_t to(sockaddr_storage& into) const noexcept;
  /// `10.1.2.3:4711`, `[fd00::1]:4711`
  std::string text() const;
  friend bool operator==(const SocketAddress&, const SocketAddress&) = default;
};
template <class Archive>
constexpr void fields(Archive& archive, SocketAddress& m) {
  archive(m.host, m.port);
}

/// The contents of an Address. Without places the endpoint listens nowhere: it connects to others.
struct PackedAddress {
  static constexpr std::uint8_t wire_version = 1;
  static constexpr std::size_t most_places = 12;
  EndpointId id{};
  std::vector<SocketAddress> places;
};
template <class Archive>
void fields(Archive& archive, PackedAddress& m) {
  archive(m.id, base::at_most(m.places, PackedAddress::most_places));
}
inline bool is_valid(const PackedAddress& m) {
  for (const auto& place : m.places)
    if (place.port == 0) return false;
  return true;
}
static_assert(1 + sizeof(EndpointId) + 4 + PackedAddress::most_places * base::fixed_bytes<SocketAddress> <=
              Address::max_bytes);

/// The ports on which an endpoint may listen: WEFT_PORTS.
struct Ports {
  std::uint16_t first = 0, last = 0;  ///< both 0: as the kernel has one free
  bool none = false;                  ///< listen nowhere
  /// "", "none", "4711" or "20000-20999". Nothing: malformed.
  static std::optional<Ports> parse(std::string_view text) noexcept;
};

/// The addresses of this node on which to listen, without ports: of the networks that are chosen; if none is
/// chosen, those from which the kernel sends to `toward`, or all but the loopback's where there are others.
std::vector<SocketAddress> listening_addresses(const transport::Networks* chosen,
                                               const std::vector<SocketAddress>& toward);

}  // namespace weft::tcp
