// SPDX-License-Identifier: BSD-3-Clause
// The nodes that the user names with --host and --hostfile. Pure functions. Errors are thrown as Stop (usage)
// with one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/node_keys.hpp"
#include "tools/job/rank.hpp"

namespace weft::allocation {

struct Host {
  std::string name;
  std::uint32_t slots = 1;  ///< ranks that it has room for
  std::uint32_t max_slots =
      job::most_ranks_a_node;  ///< ranks that it takes when oversubscription is allowed; never below slots
  bool here = false;           ///< this machine: weftrun itself serves it
  job::KeyValues keys{};       ///< its own: what a hostfile says behind data:
  bool operator==(const Host&) const = default;
};
using Hosts = std::vector<Host>;

/// The values of all --host: "a:2,b", "n[01-04]:8", "[::1]:2". Without a number a mention is one slot. A host
/// that is named twice has the sum of its slots, at the place of its first mention.
Hosts read_host_option(const std::vector<std::string>& texts);

/// Lines "name [slots=N] [max_slots=N] [data:KEY=VALUE]..." or as read_host_option() reads them, '#' begins a
/// comment. Blanks around '=' and quotes around a word make no difference. `file` is its name, for error
/// messages.
Hosts read_hostfile(std::string_view text, const std::string& file);
Hosts read_hostfile(const std::string& file);

/// Each host once, as in a host list. Names that can be none of a host are refused.
Hosts merged(const Hosts& hosts);

/// Hosts whose names mean this machine, as is_here() tells, become one host with the name `own_name`.
Hosts with_own_name(const Hosts& hosts, const std::string& own_name,
                    const std::function<bool(const std::string&)>& is_here);

/// Throws Stop unless `name` can be a host's name or address, and no option of ssh. The error message begins
/// with `where`.
void check_host_name(std::string_view name, std::string_view where);

}  // namespace weft::allocation
