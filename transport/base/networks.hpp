// SPDX-License-Identifier: BSD-3-Clause
// WEFT_NET: which networks of this node a transport may use.
//
// A list, separated by commas, of interfaces (`eth0`, `ib*`), devices (`mlx5_0`), addresses and subnets (`10.1.0.0/16`,
// `fd00::/8`); one that begins with `^` is excluded. What an exclusion names is never used; of the rest, what one of the
// others names, or all if there is no other.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::transport {

/// One way out of this node, under all names that it has.
struct Network {
  std::vector<std::string> names;           ///< of the interface and of the device
  std::vector<sockaddr_storage> addresses;  ///< other families than IPv4 and IPv6 match no subnet
};

class Networks {
 public:
  /// Nothing: `text` is wrong; complaint says in one line which part of it.
  static std::optional<Networks> parse(std::string_view text, std::string& complaint);
  bool take(const Network& network) const noexcept;

 private:
  struct Entry {
    bool excludes = false;
    std::string name;  ///< with `*` for any characters; empty: a subnet
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

/// `10.1.2.3` or `fd00::1`; of other families `?`.
std::string to_text(const sockaddr_storage& address);

/// For a list of what there is: `eth0 (10.1.2.3, fd00::1)`.
std::string to_text(const Network& network);

}  // namespace weft::transport
