// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts as Slurm writes them: n[01-03,7],m2,a[1-2]b[3-4] (slurm.conf(5), scontrol(1) "show
// hostnames").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::allocation {

inline constexpr std::size_t most_hosts = 1U << 20;

/// The names in Slurm's order: the last brackets of a name vary fastest, of those before them the first ones.
/// Numbers have the width of the first of their range. Nothing: the text is no host list, or names more than
/// `most`; complaint is then a line that says what is wrong. The empty text has no names.
std::optional<std::vector<std::string>> expand_hostlist(std::string_view text, std::string& complaint,
                                                        std::size_t most = most_hosts);

/// The shortest list that expand_hostlist() expands to these names in this order, with brackets only at the
/// end of names: every release of Slurm reads that.
std::string compress_hostlist(const std::vector<std::string>& names);

/// Splits at commas outside of brackets.
std::vector<std::string_view> split_hostlist(std::string_view text);

}  // namespace weft::allocation
