// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/hostlist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace weft::allocation {
namespace {

using Names = std::vector<std::string>;

/// Digits that fit 64 bits with room for one more.
constexpr std::size_t most_digits = 18;

std::optional<std::uint64_t> number_of(std::string_view digits) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && digits.size() <= most_digits ? std::optional(value) : std::nullopt;
}

/// "01-03,7": what stands between two brackets.
std::optional<Names> numbers_between(std::string_view brackets, std::string& complaint, std::size_t most) {
  Names numbers;
  for (const auto range : split_hostlist(brackets)) {
    const auto dash = range.find('-');
    const auto low_digits = range.substr(0, dash);
    const auto low = number_of(low_digits);
    const auto high = dash == std::string_view::npos ? low : number_of(range.substr(dash + 1));
    if (!low || !high || *high < *low) {
      complaint = fmt::format("'{}' is no range of numbers", range);
      return std::nullopt;
    }
    if (*high - *low >= most - numbers.size()) {
      complaint = fmt::format("'{}' has more than {} hosts", range, most);
      return std::nullopt;
    }
    for (auto value = *low; value <= *high; ++value)
      numbers.push_back(fmt::format("{:0{}}", value, low_digits.size()));
  }
  return numbers;
}

/// A name taken apart: text, numbers, text, numbers, ..., text.
struct Pattern {
  std::vector<std::string_view> texts;
  std::vector<Names> numbers;  // one fewer than texts
};

std::optional<Pattern> take_apart(std::string_view name, std::string& complaint, std::size_t most) {
  Pattern pattern;
  for (;;) {
    const auto open = name.find_first_of("[]");
    pattern.texts.push_back(name.substr(0, open));
    if (open == std::string_view::npos) break;
    const auto close = name.find_first_of("[]", open + 1);
    if (name[open] != '[' || close == std::string_view::npos || name[close] != ']') {
      complaint = fmt::format("'{}' has brackets that do not match", name);
      return std::nullopt;
    }
    auto numbers = numbers_between(name.substr(open + 1, close - open - 1), complaint, most);
    if (!numbers) return std::nullopt;
    pattern.numbers.push_back(*std::move(numbers));
    name.remove_prefix(close + 1);
  }
  if (pattern.texts.size() == 1 && pattern.texts.front().empty()) {
    complaint = "a name is empty";
    return std::nullopt;
  }
  return pattern;
}

/// False: there would be more than `most`.
bool append(const Pattern& pattern, Names& names, std::size_t most) {
  std::size_t count = 1;
  for (const auto& numbers : pattern.numbers) {
    if (count > most / numbers.size()) return false;
    count *= numbers.size();
  }
  if (count > most - names.size()) return false;
  const std::size_t brackets = pattern.numbers.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::size_t> chosen(brackets);
    std::size_t rest = i;
    if (brackets > 0) {  // the last brackets first, then from the left
      chosen[brackets - 1] = rest % pattern.numbers.back().size();
      rest /= pattern.numbers.back().size();
    }
    for (std::size_t b = 0; b + 1 < brackets; ++b) {
      chosen[b] = rest % pattern.numbers[b].size();
      rest /= pattern.numbers[b].size();
    }
    std::string name(pattern.texts[0]);
    for (std::size_t b = 0; b < brackets; ++b)
      name.append(pattern.numbers[b][chosen[b]]).append(pattern.texts[b + 1]);
    names.push_back(std::move(name));
  }
  return true;
}

/// A name as text and the number at its end; no digits: no number that counts.
struct Numbered {
  std::string_view text, digits;
  std::uint64_t value = 0;
};

Numbered numbered(std::string_view name) noexcept {
  const auto last_text = name.find_last_not_of("0123456789");
  const auto begin = last_text == std::string_view::npos ? 0 : last_text + 1;
  const auto value = number_of(name.substr(begin));
  if (!value || begin == 0) return {name, {}, 0};
  return {name.substr(0, begin), name.substr(begin), *value};
}

/// Does `next` stand right behind `last` in a range that begins with `first`?
bool continues(const Numbered& first, const Numbered& last, const Numbered& next) {
  return next.value == last.value + 1 &&
         next.digits == fmt::format("{:0{}}", next.value, first.digits.size());
}

}  // namespace

std::vector<std::string_view> split_hostlist(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !inside)) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else if (text[i] == '[' || text[i] == ']') {
      inside = text[i] == '[';
    }
  }
  return parts;
}

std::optional<Names> expand_hostlist(std::string_view text, std::string& complaint, std::size_t most) {
  Names names;
  if (text.empty()) return names;
  for (const auto part : split_hostlist(text)) {
    const auto pattern = take_apart(part, complaint, most);
    if (!pattern) return std::nullopt;
    if (!append(*pattern, names, most)) {
      complaint = fmt::format("there are more than {} hosts", most);
      return std::nullopt;
    }
  }
  return names;
}

std::string compress_hostlist(const Names& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size();) {
    const Numbered head = numbered(names[i]);
    std::string ranges;
    std::size_t count = 0;
    // Ranges of names that differ in the number at their end share brackets.
    while (i < names.size() && !head.digits.empty()) {
      const Numbered first = numbered(names[i]);
      if (first.digits.empty() || first.text != head.text) break;
      Numbered last = first;
      std::size_t end = i + 1;
      for (; end < names.size(); ++end) {
        const Numbered next = numbered(names[end]);
        if (next.digits.empty() || next.text != head.text || !continues(first, last, next)) break;
        last = next;
      }
      ranges += fmt::format("{}{}", ranges.empty() ? "" : ",", first.digits);
      if (end - i > 1) ranges += fmt::format("-{}", last.digits);
      count += end - i;
      i = end;
    }
    if (!list.empty()) list += ',';
    if (count == 0)
      list += names[i++];
    else if (count == 1)
      list += names[i - 1];
    else
      list += fmt::format("{}[{}]", head.text, ranges);
  }
  return list;
}

}  // namespace weft::allocation
