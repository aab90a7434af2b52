// SPDX-License-Identifier: BSD-3-Clause
// Node names and the ranks on each node as one printable string: what PMIx_generate_regex and
// PMIx_generate_ppn hand to a host, and what comes back in PMIX_NODE_MAP and PMIX_PROC_MAP.
//
// Three spellings are read: the caller's own plain list; ours, which starts with the tag "weft1:"; and
// OpenPMIx's, "pmix[...]": names as "node[3:1-3,7].net,login", where 3 is the least number of digits, and
// ranks as "0-3;4-7". The Standard wants a NUL after the tag; hosts copy the string with strdup, so here the
// colon alone ends it.
//
//   node map  weft1:<group>{,<group>}     group = <text> | <text>[<width>:<from>-<to>]<text>
//             width = least number of digits (leading zeros), 0 = none. In <text> every byte that is not a
//             graphic ASCII character, and each of , [ ] %, is written as %XX: nothing can be misread.
//   proc map  weft1:<node>{;<node>}       node = [<run>{,<run>}][*<count>@<shift>]
//             run = <rank> | <from>-<to> | <from>-<to>+<step>
//             *<count>@<shift>: this node and count-1 further ones, each with ranks <shift> higher.
//
// So 10,000 nodes named node00000.. take 27 bytes, and so do their ranks, placed by slot or by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

// The most that a parser accepts, so that a short malicious string cannot ask for much memory.
inline constexpr std::size_t max_map_nodes = std::size_t{1} << 20;
inline constexpr std::size_t max_map_ranks = std::size_t{1} << 24;
inline constexpr std::size_t max_map_name_bytes = std::size_t{1} << 26;  ///< of all names together
inline constexpr std::uint32_t max_map_rank = 0xffffffffU - 51;          ///< above are PMIX_RANK_* markers

/// Order and repetitions are kept. Errors: invalid (no name at all, an empty name, a NUL inside a name),
/// no_space (more than max_map_*). Cost: linear in the names' bytes.
Result<std::string> encode_node_map(std::span<const std::string> names);

/// The order within a node is kept. A node may be empty. Errors: invalid (no node, a rank above
/// max_map_rank), no_space. Cost: linear in the number of ranks.
Result<std::string> encode_proc_map(std::span<const std::vector<std::uint32_t>> ranks_of_node);

/// Reads our spelling, OpenPMIx's, "a,b,c", or "raw:a,b,c". Errors: invalid (malformed, an empty name),
/// no_space (more than max_map_*), not_supported (another library's or version's spelling).
Result<std::vector<std::string>> parse_node_map(std::string_view text);

/// Reads our spelling, OpenPMIx's, or "0,1;2,3", "0-1;2-3", each optionally after "raw:"; one element a node.
/// Errors as above.
Result<std::vector<std::vector<std::uint32_t>>> parse_proc_map(std::string_view text);

/// The text of a map as hosts pass it: a string, or the bytes of a PMIX_REGEX. Empty: of another type.
/// Borrowed.
std::string_view map_text(const pmix_value_t& value) noexcept;

}  // namespace weft::data
