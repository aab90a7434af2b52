// SPDX-License-Identifier: BSD-3-Clause
// The parser of node names and of ranks, in the spellings of this library, of others, and of people.
#include "core/data/node_map.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/data/node_map_format.hpp"

namespace weft::data {
namespace {

using namespace map_format;

// Walks over a text; every take_* leaves the position alone when it fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : left_(text) {}

  bool at_end() const noexcept { return left_.empty(); }
  std::optional<char> peek() const noexcept {
    return left_.empty() ? std::nullopt : std::optional(left_.front());
  }
  bool take(char c) noexcept {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) noexcept {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  char take_any() noexcept {
    const char c = left_.front();
    left_.remove_prefix(1);
    return c;
  }
  std::optional<std::uint64_t> take_number() noexcept {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return value;
  }
  std::optional<char> take_hex_byte() noexcept {
    unsigned value = 0;
    if (left_.size() < 2) return std::nullopt;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + 2, value, 16);
    if (error != std::errc{} || end != left_.data() + 2) return std::nullopt;
    left_.remove_prefix(2);
    return static_cast<char>(value);
  }

 private:
  std::string_view left_;
};

// The text that PMIx_generate_regex and PMIx_generate_ppn of OpenPMIx write around names and ranks, as Open
// MPI and Slurm pass it on.
constexpr std::string_view openpmix_tag = "pmix[";

// A string that names its format, but none that is read here. Without this check "pmix:..." would be taken
// for the name of a node.
bool is_foreign(std::string_view text) noexcept {
  if (text.starts_with("pmix:") || text.starts_with("blob:")) return true;
  if (!text.starts_with("weft")) return false;
  text.remove_prefix(4);
  const std::size_t digits = text.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && text[digits] == ':';
}

// The reserved spelling "raw:" is followed by a NUL where the string came as bytes.
void skip_raw_tag(Scanner& in) noexcept {
  if (in.take(std::string_view("raw:"))) in.take('\0');
}

// --- node names ---

// Collects parsed names within the limits.
class NameList {
 public:
  Result<void> add(std::string name) {
    if (name.empty()) return fail(Errc::invalid, "empty node name");
    bytes_ += name.size();
    if (names_.size() == max_map_nodes || bytes_ > max_map_name_bytes)
      return fail(Errc::no_space, "node map");
    names_.push_back(std::move(name));
    return {};
  }
  std::vector<std::string> take() && { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::size_t bytes_ = 0;
};

Result<std::vector<std::string>> parse_plain_names(std::string_view text) {
  NameList names;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name.find('\0') != std::string_view::npos) return fail(Errc::invalid, "NUL in a node name");
    if (const auto added = names.add(std::string(name)); !added) return fail(added.error());
    if (comma == std::string_view::npos) return std::move(names).take();
    text.remove_prefix(comma + 1);
  }
}

Result<std::string> parse_text(Scanner& in) {
  std::string out;
  while (const auto c = in.peek()) {
    if (*c == ',' || *c == '[') break;
    const auto byte = static_cast<unsigned char>(in.take_any());
    if (byte <= 0x20 || byte >= 0x7f || byte == ']') return fail(Errc::invalid, "bad byte in a node map");
    if (byte != '%') {
      out += *c;
      continue;
    }
    const auto escaped = in.take_hex_byte();
    if (!escaped || *escaped == '\0') return fail(Errc::invalid, "bad escape in a node map");
    out += *escaped;
  }
  return out;
}

/// Takes the brackets of "pmix[...]" away.
Result<std::string_view> inside_openpmix(std::string_view text) {
  text.remove_prefix(openpmix_tag.size());
  if (text.empty() || text.back() != ']') return fail(Errc::invalid, "a map without its closing bracket");
  text.remove_suffix(1);
  return text;
}

std::string take_plain_text(Scanner& in) {
  std::string out;
  for (auto c = in.peek(); c && *c != ',' && *c != '[' && *c != ']'; c = in.peek()) out += in.take_any();
  return out;
}

/// "prefix[width:1-3,5]suffix", or a name. Numbers are padded with zeros to the width.
Result<void> parse_openpmix_group(Scanner& in, NameList& names) {
  const auto prefix = take_plain_text(in);
  if (!in.take('[')) return names.add(prefix);
  const auto width = in.take_number();
  if (!width || *width > max_width || !in.take(':')) return fail(Errc::invalid, "bad width in a node map");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  do {
    const auto from = in.take_number();
    if (!from) return fail(Errc::invalid, "bad range in a node map");
    auto to = from;
    if (in.take('-')) to = in.take_number();
    if (!to || *to < *from || *to > highest_number) return fail(Errc::invalid, "bad range in a node map");
    if (*to - *from >= max_map_nodes || ranges.size() >= max_map_nodes)
      return fail(Errc::no_space, "range in a node map");
    ranges.emplace_back(*from, *to);
  } while (in.take(','));
  if (!in.take(']')) return fail(Errc::invalid, "bad range in a node map");
  const auto suffix = take_plain_text(in);
  for (const auto& [from, to] : ranges)
    for (auto number = from; number <= to; ++number) {
      auto name = prefix;
      append_number(name, number, static_cast<std::size_t>(*width));
      name += suffix;
      if (auto added = names.add(std::move(name)); !added) return added;
    }
  return {};
}

Result<std::vector<std::string>> parse_openpmix_names(std::string_view text) {
  const auto inside = inside_openpmix(text);
  if (!inside) return fail(inside.error());
  if (inside->find('\0') != std::string_view::npos) return fail(Errc::invalid, "NUL in a node name");
  Scanner in(*inside);
  NameList names;
  do {
    if (const auto group = parse_openpmix_group(in, names); !group) return fail(group.error());
  } while (in.take(','));
  if (!in.at_end()) return fail(Errc::invalid, "bytes after a node map");
  return std::move(names).take();
}

struct NumberRange {
  std::size_t width;
  std::uint64_t from, to;
};

Result<NumberRange> parse_number_range(Scanner& in) {
  const auto width = in.take_number();
  if (!width || *width > max_width || !in.take(':')) return fail(Errc::invalid, "bad width in a node map");
  const auto from = in.take_number();
  if (!from || !in.take('-')) return fail(Errc::invalid, "bad range in a node map");
  const auto to = in.take_number();
  if (!to || !in.take(']') || *to < *from) return fail(Errc::invalid, "bad range in a node map");
  if (*to - *from >= max_map_nodes) return fail(Errc::no_space, "range in a node map");
  return NumberRange{static_cast<std::size_t>(*width), *from, *to};
}

Result<void> parse_name_group(Scanner& in, NameList& names) {
  auto prefix = parse_text(in);
  if (!prefix) return fail(prefix.error());
  if (!in.take('[')) return names.add(std::move(*prefix));

  const auto range = parse_number_range(in);
  if (!range) return fail(range.error());
  const auto suffix = parse_text(in);
  if (!suffix) return fail(suffix.error());
  for (std::uint64_t number = range->from;; ++number) {
    std::string name = *prefix;
    append_number(name, number, range->width);
    name += *suffix;
    if (auto added = names.add(std::move(name)); !added) return added;
    if (number == range->to) return {};
  }
}

// --- ranks ---

class RankList {
 public:
  Result<void> add_run(Ranks& node, std::uint64_t from, std::uint64_t to, std::uint64_t step) {
    if (to < from || to > max_map_rank || step == 0 || (to - from) % step != 0) {
      return fail(Errc::invalid, "bad range in a process map");
    }
    if (auto room = reserve((to - from) / step + 1); !room) return room;
    for (std::uint64_t rank = from; rank <= to; rank += step)
      node.push_back(static_cast<std::uint32_t>(rank));
    return {};
  }
  Result<void> add_nodes(Ranks first, std::uint64_t count, std::uint64_t shift) {
    if (count == 0) return fail(Errc::invalid, "bad repetition in a process map");
    if (count > max_map_nodes - nodes_.size()) return fail(Errc::no_space, "process map");
    const std::uint64_t highest = first.empty() ? 0 : *std::max_element(first.begin(), first.end());
    if (shift > max_map_rank || (!first.empty() && highest + shift * (count - 1) > max_map_rank)) {
      return fail(Errc::invalid, "rank out of range");
    }
    // At most 2^20 nodes of 2^24 ranks: the product cannot overflow.
    if (auto room = reserve(first.size() * (count - 1)); !room) return room;
    nodes_.push_back(std::move(first));
    for (std::uint64_t i = 1; i < count; ++i) {
      Ranks next = nodes_.back();
      for (auto& rank : next) rank += static_cast<std::uint32_t>(shift);
      nodes_.push_back(std::move(next));
    }
    return {};
  }
  std::vector<Ranks> take() && { return std::move(nodes_); }

 private:
  Result<void> reserve(std::uint64_t ranks) {
    if (ranks > max_map_ranks - total_) return fail(Errc::no_space, "process map");
    total_ += ranks;
    return {};
  }

  std::vector<Ranks> nodes_;
  std::uint64_t total_ = 0;
};

Result<void> parse_run(Scanner& in, bool encoded, Ranks& node, RankList& list) {
  const auto from = in.take_number();
  if (!from) return fail(Errc::invalid, "bad rank in a process map");
  std::uint64_t to = *from, step = 1;
  if (in.take('-')) {
    const auto end = in.take_number();
    if (!end) return fail(Errc::invalid, "bad range in a process map");
    to = *end;
    if (encoded && in.take('+')) {
      const auto distance = in.take_number();
      if (!distance) return fail(Errc::invalid, "bad step in a process map");
      step = *distance;
    }
  }
  return list.add_run(node, *from, to, step);
}

Result<void> parse_node_ranks(Scanner& in, bool encoded, RankList& list) {
  Ranks node;
  const auto first = in.peek();
  if (first && *first != ';' && *first != '*') {
    do {
      if (auto run = parse_run(in, encoded, node, list); !run) return run;
    } while (in.take(','));
  }
  if (!encoded || !in.take('*')) return list.add_nodes(std::move(node), 1, 0);
  const auto count = in.take_number();
  if (!count || !in.take('@')) return fail(Errc::invalid, "bad repetition in a process map");
  const auto shift = in.take_number();
  if (!shift) return fail(Errc::invalid, "bad repetition in a process map");
  return list.add_nodes(std::move(node), *count, *shift);
}

}  // namespace

Result<std::vector<std::string>> parse_node_map(std::string_view text) {
  Scanner in(text);
  if (!in.take(tag)) {
    if (text.starts_with(openpmix_tag)) return parse_openpmix_names(text);
    if (is_foreign(text)) return fail(Errc::not_supported, "node map in another library's spelling");
    if (text.starts_with("raw:")) {
      text.remove_prefix(4);
      if (!text.empty() && text.front() == '\0') text.remove_prefix(1);
    }
    return parse_plain_names(text);
  }
  NameList names;
  do {
    if (const auto group = parse_name_group(in, names); !group) return fail(group.error());
  } while (in.take(','));
  if (!in.at_end()) return fail(Errc::invalid, "bytes after a node map");
  return std::move(names).take();
}

Result<std::vector<std::vector<std::uint32_t>>> parse_proc_map(std::string_view text) {
  if (text.starts_with(openpmix_tag)) {
    const auto inside = inside_openpmix(text);
    if (!inside) return fail(inside.error());
    if (inside->empty()) return fail(Errc::invalid, "empty process map");
    text = *inside;
  }
  Scanner in(text);
  const bool encoded = in.take(tag);
  if (!encoded) {
    if (is_foreign(text)) return fail(Errc::not_supported, "process map in another library's spelling");
    skip_raw_tag(in);
    if (in.at_end()) return fail(Errc::invalid, "empty process map");
  }
  RankList list;
  do {
    if (const auto node = parse_node_ranks(in, encoded, list); !node) return fail(node.error());
  } while (in.take(';'));
  if (!in.at_end()) return fail(Errc::invalid, "bytes after a process map");
  return std::move(list).take();
}

std::string_view map_text(const pmix_value_t& value) noexcept {
  if (value.type == PMIX_STRING && value.data.string != nullptr) return value.data.string;
  if ((value.type != PMIX_REGEX && value.type != PMIX_BYTE_OBJECT) || value.data.bo.bytes == nullptr)
    return {};
  // As bytes the tag may end with a NUL: "raw:", NUL, text.
  const std::string_view bytes(value.data.bo.bytes, value.data.bo.size);
  const std::size_t from = bytes.starts_with(std::string_view("raw:\0", 5)) ? 5 : 0;
  return bytes.substr(0, bytes.find('\0', from));
}

}  // namespace weft::data
