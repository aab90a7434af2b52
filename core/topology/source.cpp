// SPDX-License-Identifier: BSD-3-Clause
#include <strings.h>

#include "core/topology/topology.hpp"

namespace weft::topology {

bool is_our_source(std::string_view source) noexcept {
  constexpr std::string_view own = source_name;
  return source.size() >= own.size() && ::strncasecmp(source.data(), own.data(), own.size()) == 0 &&
         (source.size() == own.size() || source[own.size()] == ':');
}

Result<std::string_view> without_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  // Lists begin with a digit, and parts of a locality contain one: a word without digits is the name of a
  // source.
  const bool named = first.find_first_of("0123456789") == std::string_view::npos && !first.empty();
  if (!named) return text;
  if (!is_our_source(first)) return fail(Errc::not_supported, "from another source of topologies");
  return colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
}

}  // namespace weft::topology
