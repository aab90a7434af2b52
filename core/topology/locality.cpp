// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/locality.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "core/topology/topology.hpp"

namespace weft::topology {
namespace {

struct Kind {
  std::string_view token;
  pmix_locality_t bit;
};
constexpr std::array kinds = {
    Kind{"NM", PMIX_LOCALITY_SHARE_NUMA},     Kind{"SK", PMIX_LOCALITY_SHARE_PACKAGE},
    Kind{"L3", PMIX_LOCALITY_SHARE_L3CACHE},  Kind{"L2", PMIX_LOCALITY_SHARE_L2CACHE},
    Kind{"L1", PMIX_LOCALITY_SHARE_L1CACHE},  Kind{"CR", PMIX_LOCALITY_SHARE_CORE},
    Kind{"HT", PMIX_LOCALITY_SHARE_HWTHREAD},
};

struct Range {
  std::uint32_t from, to;
};
using Ranges = std::vector<Range>;  // ascending and disjoint once parsed
using Location = std::array<Ranges, kinds.size()>;

// "0-3,8". Kept as ranges, not as single numbers: a short text must not become a long list.
Result<void> parse_list(std::string_view text, Ranges& out) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    Range range{};
    auto parsed = std::from_chars(at, end, range.from);
    if (parsed.ec != std::errc{}) return fail(Errc::invalid, "bad number in a locality");
    at = parsed.ptr;
    range.to = range.from;
    if (at != end && *at == '-') {
      parsed = std::from_chars(at + 1, end, range.to);
      if (parsed.ec != std::errc{} || range.to < range.from)
        return fail(Errc::invalid, "bad range in a locality");
      at = parsed.ptr;
    }
    out.push_back(range);
    if (at == end) break;
    if (*at++ != ',') return fail(Errc::invalid, "bad list in a locality");
  }
  std::sort(out.begin(), out.end(), [](const Range& a, const Range& b) { return a.from < b.from; });
  return {};
}

Result<Location> parse(std::string_view whole) {
  const auto parts = without_source(whole);
  if (!parts) return fail(parts.error());
  Location location;
  for (std::string_view text = *parts; !text.empty();) {
    const std::size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
    const auto kind =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return part.starts_with(k.token); });
    if (kind == kinds.end()) continue;
    auto& ranges = location[static_cast<std::size_t>(kind - kinds.begin())];
    if (const auto parsed = parse_list(part.substr(kind->token.size()), ranges); !parsed)
      return fail(parsed.error());
  }
  return location;
}

bool overlap(const Ranges& a, const Ranges& b) noexcept {
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (x->from <= y->to && y->from <= x->to) return true;
    // Ranges of one list may overlap each other, so the range that ends first is advanced.
    x->to < y->to ? ++x : ++y;
  }
  return false;
}

}  // namespace

Result<pmix_locality_t> relative_locality(std::string_view first, std::string_view second) {
  const auto a = parse(first);
  if (!a) return fail(a.error());
  const auto b = parse(second);
  if (!b) return fail(b.error());
  unsigned shared = PMIX_LOCALITY_SHARE_NODE;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (overlap((*a)[i], (*b)[i])) shared |= kinds[i].bit;
  }
  return static_cast<pmix_locality_t>(shared);
}

}  // namespace weft::topology
