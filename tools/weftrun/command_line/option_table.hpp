// SPDX-License-Identifier: BSD-3-Clause
// All options of weftrun, one row each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun {

/// The settings of one program, from the words before it.
struct Section {
  explicit Section(Options& all) : options(all) {}
  Options& options;  ///< of the whole job
  job::App app;
  std::vector<std::string> hosts;  ///< the values of --host
  std::string app_file;            ///< --app; empty: none
  bool wants_help = false;
  bool wants_list = false;  ///< --jobs
};

/// An option as it was written, with its values.
struct Given {
  std::string option;
  std::string value, second;
};

/// Before which programs an option may stand; in --help they come in this order.
enum class Topic { program, nodes, placement, output, job, service };

struct Option {
  std::string_view names;  ///< "-n, --np"; each long one may have a single dash, too
  std::string_view
      values;   ///< as --help names them: "N", "NAME VALUE"; "[=WHAT]": it may have one; empty: none
  Topic topic;  ///< all but `program` speak of the whole job
  std::string_view help;
  void (*take)(Section& section, const Given& given);
  bool may_repeat = false;

  bool has_value() const noexcept { return !is_flag(); }
  bool may_have_value() const noexcept { return values.starts_with('['); }
  bool has_two_values() const noexcept { return values.find(' ') != std::string_view::npos; }
  bool is_flag() const noexcept { return values.empty() || may_have_value(); }
};

std::span<const Option> all_options() noexcept;

/// name: with its dashes. Null: there is none.
const Option* find_option(std::string_view name) noexcept;

/// see(name) for each name of an option.
template <class See>
void each_name(const Option& option, See&& see) {
  constexpr std::string_view separator = ", ";
  for (auto rest = option.names; !rest.empty();) {
    const auto end = rest.find(separator);
    see(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + separator.size());
  }
}

}  // namespace weft::weftrun
