// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/processor_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::placement {
namespace {

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= most_processors)
    return std::nullopt;
  return value;
}

/// "3" or "0-3".
std::optional<CoreRange> range_of(std::string_view text) {
  const auto dash = std::min(text.find('-'), text.size());
  const auto first = number_of(text.substr(0, dash));
  const auto last = dash == text.size() ? first : number_of(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return CoreRange{std::nullopt, *first, *last};
}

/// see(part) for what stands between commas, until it returns false.
template <class See>
bool each_part(std::string_view text, See&& see) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (!see(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::optional<std::vector<unsigned>> read_processor_list(std::string_view text, std::string& complaint) {
  std::vector<bool> named(most_processors);
  const bool is_list = each_part(text, [&](std::string_view part) {
    const auto range = range_of(part);
    if (range)
      std::fill(named.begin() + range->first, named.begin() + range->last + 1, true);
    else
      complaint = fmt::format("'{}' is no processor and no range of processors, as in 0-3,8", part);
    return range.has_value();
  });
  if (!is_list) return std::nullopt;
  std::vector<unsigned> numbers;
  for (unsigned i = 0; i < most_processors; ++i)
    if (named[i]) numbers.push_back(i);
  return numbers;
}

std::optional<std::vector<CoreRange>> read_core_list(std::string_view text, std::string& complaint) {
  std::vector<CoreRange> ranges;
  std::optional<std::uint32_t> socket;
  const bool is_list = each_part(text, [&](std::string_view part) {
    const auto whole = part;
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      socket = number_of(part.substr(0, colon));
      if (!socket) {
        complaint = fmt::format("'{}' names no socket before its colon, as in 1:0-2", whole);
        return false;
      }
      part.remove_prefix(colon + 1);
    }
    auto range = part == "*" ? CoreRange{} : range_of(part);
    if (!range) {
      complaint = fmt::format("'{}' is no core and no range of cores, as in 0-3 or 1:0-2", whole);
      return false;
    }
    range->socket = socket;
    ranges.push_back(*range);
    return true;
  });
  if (!is_list) return std::nullopt;
  return ranges;
}

}  // namespace weft::placement
