// SPDX-License-Identifier: BSD-3-Clause
// The writer of node names and of ranks.
#include <algorithm>
#include <optional>

#include "core/data/node_map.hpp"
#include "core/data/node_map_format.hpp"

namespace weft::data {
namespace {

using namespace map_format;

// --- node names ---

// A name cut at one run of digits.
struct NumberedName {
  std::string_view prefix, suffix;
  std::uint64_t number = 0;
  std::size_t width = 0;

  bool spells(std::uint64_t value, std::string_view name) const {
    if (!name.starts_with(prefix) || name.size() < prefix.size() + suffix.size()) return false;
    name.remove_prefix(prefix.size());
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    std::string expected;
    append_number(expected, value, width);
    return name == expected;
  }
};

// Cuts `name` where `next` first differs from it, if what differs is inside one run of digits.
std::optional<NumberedName> common_number(std::string_view name, std::string_view next) {
  const auto differs = std::mismatch(name.begin(), name.end(), next.begin(), next.end());
  auto begin = static_cast<std::size_t>(differs.first - name.begin());
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  std::size_t end = begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  if (end == begin || end - begin > max_width) return std::nullopt;

  NumberedName cut{name.substr(0, begin), name.substr(end), 0, 0};
  std::from_chars(name.data() + begin, name.data() + end, cut.number);
  if (name[begin] == '0' && end - begin > 1) cut.width = end - begin;
  return cut.spells(cut.number + 1, next) ? std::optional(cut) : std::nullopt;
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr char hex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool graphic = byte > 0x20 && byte < 0x7f;
    if (graphic && c != ',' && c != '[' && c != ']' && c != '%') {
      out += c;
    } else {
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
}

// How many names from `at` on count up by one; 1 if `at` stands alone.
std::size_t run_of_names(std::span<const std::string> names, std::size_t at,
                         std::optional<NumberedName>& cut) {
  if (at + 1 == names.size()) return 1;
  cut = common_number(names[at], names[at + 1]);
  if (!cut) return 1;
  std::size_t length = 2;
  while (at + length < names.size() && cut->spells(cut->number + length, names[at + length])) ++length;
  return length;
}

Result<void> check_names(std::span<const std::string> names) {
  if (names.empty()) return fail(Errc::invalid, "a node map needs a name");
  std::size_t bytes = 0;
  for (const auto& name : names) {
    if (name.empty() || name.find('\0') != std::string::npos) return fail(Errc::invalid, "bad node name");
    bytes += name.size();
  }
  if (names.size() > max_map_nodes || bytes > max_map_name_bytes) return fail(Errc::no_space, "node map");
  return {};
}

// --- ranks ---

// A run of ranks with one distance between neighbours.
struct Run {
  std::uint32_t from, step;
  std::size_t length;
};

Run run_at(std::span<const std::uint32_t> ranks, std::size_t at) {
  Run run{ranks[at], 1, 1};
  if (at + 1 == ranks.size() || ranks[at + 1] <= ranks[at]) return run;
  run.step = ranks[at + 1] - ranks[at];
  run.length = 2;
  while (at + run.length < ranks.size() && ranks[at + run.length] > ranks[at + run.length - 1] &&
         ranks[at + run.length] - ranks[at + run.length - 1] == run.step) {
    ++run.length;
  }
  // Two ranks far apart are shorter, and easier to read, as two ranks.
  if (run.length == 2 && run.step != 1) run.length = 1;
  return run;
}

void append_runs(std::string& out, std::span<const std::uint32_t> ranks) {
  for (std::size_t at = 0; at < ranks.size();) {
    const Run run = run_at(ranks, at);
    if (at != 0) out += ',';
    append_number(out, run.from);
    if (run.length > 1) {
      out += '-';
      append_number(out, ranks[at + run.length - 1]);
      if (run.step != 1) {
        out += '+';
        append_number(out, run.step);
      }
    }
    at += run.length;
  }
}

// By how much every rank of `next` is higher than its counterpart in `node`.
std::optional<std::uint32_t> shift_between(const Ranks& node, const Ranks& next) {
  if (node.size() != next.size()) return std::nullopt;
  if (node.empty()) return 0;
  if (next[0] < node[0]) return std::nullopt;
  const std::uint32_t shift = next[0] - node[0];
  for (std::size_t i = 1; i < node.size(); ++i) {
    if (next[i] < node[i] || next[i] - node[i] != shift) return std::nullopt;
  }
  return shift;
}

Result<void> check_ranks(std::span<const Ranks> nodes) {
  if (nodes.empty()) return fail(Errc::invalid, "a process map needs a node");
  std::size_t total = 0;
  for (const auto& ranks : nodes) {
    total += ranks.size();
    for (const auto rank : ranks) {
      if (rank > max_map_rank) return fail(Errc::invalid, "rank out of range");
    }
  }
  if (nodes.size() > max_map_nodes || total > max_map_ranks) return fail(Errc::no_space, "process map");
  return {};
}

}  // namespace

Result<std::string> encode_node_map(std::span<const std::string> names) {
  if (const auto checked = check_names(names); !checked) return fail(checked.error());
  std::string out(tag);
  for (std::size_t at = 0; at < names.size();) {
    if (at != 0) out += ',';
    std::optional<NumberedName> cut;
    const std::size_t length = run_of_names(names, at, cut);
    if (length == 1) {
      append_escaped(out, names[at]);
    } else {
      append_escaped(out, cut->prefix);
      out += '[';
      append_number(out, cut->width);
      out += ':';
      append_number(out, cut->number);
      out += '-';
      append_number(out, cut->number + length - 1);
      out += ']';
      append_escaped(out, cut->suffix);
    }
    at += length;
  }
  return out;
}

Result<std::string> encode_proc_map(std::span<const std::vector<std::uint32_t>> ranks_of_node) {
  if (const auto checked = check_ranks(ranks_of_node); !checked) return fail(checked.error());
  std::string out(tag);
  for (std::size_t at = 0; at < ranks_of_node.size();) {
    if (at != 0) out += ';';
    append_runs(out, ranks_of_node[at]);
    std::size_t count = 1;
    std::optional<std::uint32_t> shift;
    while (at + count < ranks_of_node.size()) {
      const auto next = shift_between(ranks_of_node[at + count - 1], ranks_of_node[at + count]);
      if (!next || (shift && *next != *shift)) break;
      shift = next;
      ++count;
    }
    if (count > 1) {
      out += '*';
      append_number(out, count);
      out += '@';
      append_number(out, *shift);
    }
    at += count;
  }
  return out;
}

}  // namespace weft::data
