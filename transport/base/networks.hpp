// SPDX-License-Identifier: BSD-3-Clause
// WEFT_NET: the networks of this node that a transport may use.
//
// The value is a list, separated by commas, of interfaces (`eth0`, `ib*`), devices (`mlx5_0`), addresses and
// subnets (`10.1.0.0/16`, `fd00::/8`). An entry that begins with `^` excludes what it names; excluded
// networks are never used. If there are other entries, only the networks that they name are used; if there
// are none, all others are.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::transport {

/// A network interface of this node, under all its names.
struct Network {
  std::vector<std::string> names;           ///< of the interface and of the device
  std::vector<sockaddr_storage> addresses;  ///< families other than IPv4 and IPv6 match no subnet
};

class Networks {
 public:
  /// Returns nothing if `text` is malformed; why_not then names the wrong part in one line.
  static std::optional<Networks> parse(std::string_view text, std::string& why_not);
  bool accepts(const Network& network) const noexcept;

 private:
  struct Entry {
    bool excludes = false;
    std::string name;  ///< `*` stands for any characters; empty: the entry is a subnet
    int family = 0;
    std::array<std::uint8_t, 16> prefix{};
    unsigned bits = 0;
    bool matches(const Network& network) const noexcept;
  };
  static std::string read_entry(std::string_view text, Entry& into);

  std::vector<Entry> entries_;
};

/// The interfaces of this node that are up, each with its addresses.
std::vector<Network> interfaces();

/// `10.1.2.3` or `fd00::1`; `?` for other families.
std::string to_text(const sockaddr_storage& address);

/// For messages that list the networks: `eth0 (10.1.2.3, fd00::1)`.
std::string to_text(const Network& network);

}  // namespace weft::transport
