// SPDX-License-Identifier: BSD-3-Clause
// Values of options: text in, values out. Each throws Stop (usage) with a line that names the option, what is
// wrong with its value, and what it can be.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/job/app.hpp"
#include "tools/job/input_target.hpp"
#include "tools/job/mapping.hpp"
#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun {

/// The value that has this name; option: as in "--bind-to".
template <class Value, std::size_t n>
Value named(std::string_view option, const std::string& text, const job::Names<Value, n>& names);

std::string lower_case(std::string_view text);

std::optional<std::uint32_t> whole_number(std::string_view text);

/// what: as in "is not a number of ranks".
std::uint32_t count_of(std::string_view option, std::string_view text, std::string_view what,
                       std::uint32_t least, std::uint32_t most);

VirtualNodes virtual_nodes(const std::string& text);

/// --map-by: "numa", "ppr:2:node", with ":pe=N" or ":oversubscribe" after it, into the options.
void read_map(const std::string& text, Options& options);

/// pe=N, --cpus-per-rank N: of all that say it, the number is the same.
void set_cores_each(std::uint32_t cores, Options& options);

/// --display map,allocation,bindings
void read_display(const std::string& text, Options& options);

/// --stop-...[=RANKS]: all (no text), none, or a list like 0-3,7.
job::StoppedRanks stopped_ranks(std::string_view option, const std::string& text);
job::InputTarget input_target(const std::string& text);
std::chrono::milliseconds time_limit(std::string_view option, const std::string& text);
job::EnvironmentSetting environment_setting(const std::string& text);
/// --mca NAME VALUE: the variable from which Open MPI reads that parameter.
job::EnvironmentSetting open_mpi_parameter(const std::string& name, const std::string& value);
std::string process_set(const std::string& name);
/// --names-of: any text but an empty one; what leads to no run is told when it is looked for.
std::string names_of(const std::string& option, const std::string& text);
std::string service_name(const std::string& option, const std::string& name);

[[noreturn]] void refuse_value(std::string_view option, const std::string& text, const std::string& known);

template <class Value, std::size_t n>
Value named(std::string_view option, const std::string& text, const job::Names<Value, n>& names) {
  for (const auto& [name, value] : names)
    if (text == name) return value;
  std::string known = names[0].first;
  for (std::size_t i = 1; i < n; ++i) {
    known += i + 1 == n ? " or " : ", ";
    known += names[i].first;
  }
  refuse_value(option, text, known);
}

}  // namespace weft::weftrun
