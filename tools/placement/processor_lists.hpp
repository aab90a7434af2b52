// SPDX-License-Identifier: BSD-3-Clause
// Lists of processors and of cores as users write them. Text in, values out.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::placement {

/// A number above any of a processor, a core or a socket.
inline constexpr std::uint32_t most_processors = 65'536;

/// "0-3,8" as its numbers, ascending and each once. Nothing: it is no such list; complaint says why.
std::optional<std::vector<unsigned>> read_processor_list(std::string_view text, std::string& complaint);

/// The cores `first` to `last` of a socket, or of the node.
struct CoreRange {
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  std::optional<std::uint32_t> socket;
  std::uint32_t first = 0, last = all;  ///< all: to the last that there is
  bool operator==(const CoreRange&) const = default;
};

/// The text of a rank file after slot=: "0-3,8" (cores of the node), "1:0-2,5" (cores 0 to 2 and 5 of socket
/// 1), "0:*,1:0" (socket 0, and the first core of socket 1), "*". A socket holds until the next is named.
std::optional<std::vector<CoreRange>> read_core_list(std::string_view text, std::string& complaint);

}  // namespace weft::placement
