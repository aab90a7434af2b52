// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>
#include <vector>

#include "tools/placement/processor_lists.hpp"
#include "tools/weftrun/command_line/other_launchers.hpp"
#include "tools/weftrun/command_line/seconds.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;

constexpr std::uint32_t most_virtual_nodes = 4096;

enum class Display { map, allocation, bindings };
constexpr job::Names<Display, 4> display_names{{{"map", Display::map},
                                                {"allocation", Display::allocation},
                                                {"bind", Display::bindings},
                                                {"bindings", Display::bindings}}};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Reads a modifier, which stands behind the place of --map-by as mpirun has it: "pe=4,oversubscribe".
void read_modifier(const std::string& given, const std::string& text, Options& options) {
  const auto modifier = lower_case(text);
  if (modifier.compare(0, 3, "pe=") == 0)
    set_cores_each(count_of("--map-by pe=", text.substr(3), "cores", 1, placement::most_processors), options);
  else if (modifier == "oversubscribe")
    options.oversubscribe = true;
  else
    refuse_value("--map-by", given, "a place with :pe=N or :oversubscribe after it");
}

/// "ppr:N:node". A number for each of other objects can be had by binding.
std::uint32_t ranks_per_node(const std::string& given, const std::vector<std::string>& parts) {
  if (parts.size() < 3 || parts[2] != "node")
    refuse(
        fmt::format("--map-by '{}' is unknown; with ppr it is ppr:N:node, N ranks on each node; "
                    "--map-by socket or numa gives each of those a rank in turn",
                    given));
  return count_of("--map-by ppr:", parts[1], "ranks", 1, job::most_ranks_a_node);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

void refuse_value(std::string_view option, const std::string& text, const std::string& known) {
  if (const auto instead = instead_of_placement(text); !instead.empty())
    refuse(fmt::format("{} '{}' is unknown here: {}", option, text, instead));
  refuse(fmt::format("{} '{}' is unknown; it can be {}", option, text, known));
}

std::optional<std::uint32_t> whole_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::uint32_t count_of(std::string_view option, std::string_view text, std::string_view what,
                       std::uint32_t least, std::uint32_t most) {
  const auto count = whole_number(text);
  if (!count || *count < least || *count > most)
    refuse(fmt::format("{} '{}' is not a number of {}; it can be {} to {}", option, text, what, least, most));
  return *count;
}

VirtualNodes virtual_nodes(const std::string& text) {
  const auto colon = std::min(text.find(':'), text.size());
  VirtualNodes made;
  made.nodes = count_of("--virtual-nodes", text.substr(0, colon), "nodes", 1, most_virtual_nodes);
  if (colon < text.size())
    made.slots = count_of("--virtual-nodes K:", text.substr(colon + 1), "slots", 1, job::most_ranks_a_node);
  return made;
}

void read_map(const std::string& text, Options& options) {
  const auto parts = split(text, ':');
  const bool is_per_node = parts.front() == "ppr";
  if (is_per_node) {
    if (options.per_node) refuse("-N and --map-by ppr:N:node say the same; give one of them");
    options.per_node = ranks_per_node(text, parts);
  } else if (!parts.front().empty()) {  // ":oversubscribe" leaves the place open
    if (parts.size() == 1 || instead_of_placement(parts.front()).empty())
      options.mapping.map = named("--map-by", parts.front(), job::map_names);
    else
      refuse_value("--map-by", text, {});
  }
  for (std::size_t i = is_per_node ? 3 : 1; i < parts.size(); ++i)
    for (const auto& modifier : split(parts[i], ',')) read_modifier(text, modifier, options);
}

void set_cores_each(std::uint32_t cores, Options& options) {
  auto& each = options.mapping.cores_each;
  if (each != 0 && each != cores)
    refuse(
        fmt::format("each rank is to have {} cores and {}; --map-by WHAT:pe=N and --cpus-per-rank N say the "
                    "same: give one of them",
                    std::min(each, cores), std::max(each, cores)));
  each = cores;
}

void read_display(const std::string& text, Options& options) {
  for (const auto& part : split(text, ',')) {
    switch (named("--display", part, display_names)) {
      case Display::map:
        options.shows_map = true;
        break;
      case Display::allocation:
        options.shows_allocation = true;
        break;
      case Display::bindings:
        options.report_bindings = true;
        break;
    }
  }
}

job::StoppedRanks stopped_ranks(std::string_view option, const std::string& text) {
  if (text.empty() || text == "all") return {true, {}};
  if (text == "none") return {};
  std::set<Rank> ranks;
  for (const auto& part : split(text, ',')) {
    const auto ends = split(part, '-');
    const auto first = whole_number(ends.front());
    const auto last = whole_number(ends.back());
    if (ends.size() > 2 || !first || !last || *first > *last || *last >= job::most_ranks)
      refuse(fmt::format("{} '{}' names no ranks; it can be all, none, or a list like 0-3,7", option, text));
    for (auto rank = *first; rank <= *last; ++rank) ranks.insert(Rank{rank});
  }
  return {false, {ranks.begin(), ranks.end()}};
}

job::InputTarget input_target(const std::string& text) {
  using Kind = job::InputTarget::Kind;
  constexpr std::string_view push = "push";
  if (text == "all") return {Kind::all, Rank{0}};
  if (text == "none") return {Kind::none, Rank{0}};
  if (text == push) return {Kind::all, Rank{0}, true};
  const bool is_pushed = text.starts_with("push:");
  const auto rank = whole_number(is_pushed ? text.substr(push.size() + 1) : text);
  if (!rank)
    refuse(fmt::format(
        "--stdin '{}' is unknown; it can be all, none, the number of a rank, push or push:RANK", text));
  return {Kind::one, Rank{*rank}, is_pushed};
}

std::chrono::milliseconds time_limit(std::string_view option, const std::string& text) {
  constexpr double most = 1e9;  // some 30 years
  const auto limit = read_seconds(text, most);
  if (!limit) refuse(fmt::format("{} '{}' is not a time; it is in seconds and above 0", option, text));
  return *limit;
}

job::EnvironmentSetting environment_setting(const std::string& text) {
  const auto equals = text.find('=');
  job::EnvironmentSetting setting{text.substr(0, equals), std::nullopt};
  if (equals != std::string::npos) setting.value = text.substr(equals + 1);
  if (setting.name.empty())
    refuse(fmt::format("-x '{}' names no variable; write -x NAME or -x NAME=VALUE", text));
  return setting;
}

job::EnvironmentSetting open_mpi_parameter(const std::string& name, const std::string& value) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!std::all_of(name.begin(), name.end(), is_plain))
    refuse(fmt::format("--mca '{}' is no name of a parameter; write --mca NAME VALUE", name));
  if (const auto instead = instead_of_parameter(name); !instead.empty())
    refuse(fmt::format("--mca {} is for another launcher and means nothing here; {}", name, instead));
  return {"OMPI_MCA_" + name, value};
}

std::string process_set(const std::string& name) {
  constexpr std::size_t longest = 255;  // PMIX_MAX_NSLEN
  if (name.empty() || name.size() > longest || name.find(',') != std::string::npos)
    refuse(fmt::format(
        "--pset '{}' is no name of a process set; it has 1 to {} characters, none of them a comma", name,
        longest));
  return name;
}

std::string names_of(const std::string& option, const std::string& text) {
  if (text.empty())
    refuse(fmt::format("{} needs a pid, a URI, file:PATH or a namespace of a run, and has an empty text",
                       option));
  return text;
}

std::string service_name(const std::string& option, const std::string& name) {
  constexpr std::size_t longest = 64;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  };
  if (name.size() > longest || !std::all_of(name.begin(), name.end(), is_plain))
    refuse(fmt::format("{}={}: a name has 1 to {} letters, digits, dots, dashes and underscores", option,
                       name, longest));
  return name;
}

}  // namespace weft::weftrun
