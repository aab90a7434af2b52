// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/section_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "tools/weftrun/command_line/other_launchers.hpp"

namespace weft::weftrun {
namespace {

/// How many letters must be added, taken away or changed to make one of the other.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The long option that `word` (with two dashes) may have been meant for; empty: none is near.
std::string_view nearest(std::string_view word) {
  constexpr std::size_t near = 3;
  std::string_view found;
  std::size_t least = std::min(near, word.size() / 3 + 1);
  for (const Option& option : all_options()) {
    each_name(option, [&](std::string_view name) {
      const auto away = name.size() > 3 ? distance(word, name) : least;  // a short one is near to anything
      if (away >= least) return;
      least = away;
      found = name;
    });
  }
  return found;
}

[[noreturn]] void refuse_option(const std::string& name) {
  std::string line = fmt::format("there is no option '{}'", name);
  if (const auto instead = instead_of_option(name); !instead.empty())
    refuse(fmt::format("{}; {}", line, instead));
  const std::string longer = name.compare(0, 2, "--") == 0 ? name : "-" + name;
  if (const auto other = nearest(longer); !other.empty()) line += fmt::format("; is it {}?", other);
  refuse(line);
}

bool is_option(std::string_view word) noexcept {
  return word.size() > 1 && word.front() == '-';
}

/// Reads words from left to right up to the program.
class Reader {
 public:
  Reader(const std::vector<std::string>& words, bool is_first, Section& section)
      : words_(words), is_first_(is_first), section_(section) {}

  void read() {
    for (; at_ < words_.size() && is_option(words_[at_]) && words_[at_] != "--"; ++at_)
      read_word(words_[at_]);
    if (at_ < words_.size() && words_[at_] == "--") ++at_;
    section_.app.argv.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
  }

 private:
  /// Users of mpirun write long options with one dash: -np 4, -wdir /tmp.
  void read_word(const std::string& word) {
    const auto equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const Option* option = find_option(name);
    if (option == nullptr && name.size() > 2 && name[1] != '-') option = find_option("-" + name);
    if (option == nullptr) return read_short_form(name, word);
    Given given{name, {}, {}};
    if (option->is_flag()) {
      if (equals < word.size() && !option->may_have_value()) refuse(fmt::format("{} takes no value", name));
      if (equals < word.size()) given.value = checked(name, word.substr(equals + 1));
    } else {
      given.value = equals < word.size() ? checked(name, word.substr(equals + 1)) : next_word(*option, name);
      if (option->has_two_values()) given.second = next_word(*option, name);
    }
    take(*option, given);
  }

  /// -n4, -qv: short options without a blank. Only numbers are values then: -hosts and -Hosts are words of
  /// other launchers.
  void read_short_form(const std::string& name, const std::string& word) {
    const std::string_view rest = std::string_view(word).substr(std::min<std::size_t>(2, word.size()));
    const Option* first = find_option(word.substr(0, 2));
    if (first == nullptr || word[1] == '-' || rest.empty()) refuse_option(name);
    if (first->has_value()) {
      if (first->has_two_values() || rest.find_first_not_of("0123456789") != std::string_view::npos)
        refuse_option(name);
      return take(*first, {word.substr(0, 2), std::string(rest), {}});
    }
    const auto flag_of = [](char letter) { return find_option(std::string{'-', letter}); };
    if (!std::all_of(rest.begin(), rest.end(), [&](char letter) {
          const Option* flag = flag_of(letter);
          return flag != nullptr && flag->is_flag();
        }))
      refuse_option(name);
    for (const char letter : word.substr(1)) take(*flag_of(letter), {std::string{'-', letter}, {}, {}});
  }

  std::string next_word(const Option& option, const std::string& name) {
    if (++at_ >= words_.size()) refuse(fmt::format("{} lacks its value: {} {}", name, name, option.values));
    return checked(name, words_[at_]);
  }
  static std::string checked(const std::string& name, std::string value) {
    if (value.empty()) refuse(fmt::format("{} has an empty value; is a variable in it not set?", name));
    return value;
  }

  void take(const Option& option, const Given& given) {
    if (!is_first_ && option.topic != Topic::program)
      refuse(fmt::format("{} speaks of the whole job; write it on the command line, before the first program",
                         given.option));
    if (!option.may_repeat && !option.is_flag() && !taken_.insert(&option).second)
      refuse(fmt::format("{} is given twice", given.option));
    note_topic(option, given);
    option.take(section_, given);
  }

  /// For --dvm, which has no job, and --attach, which has no nodes.
  void note_topic(const Option& option, const Given& given) {
    auto& service = section_.options.service;
    const bool is_of_job = option.topic == Topic::placement || option.topic == Topic::output ||
                           option.topic == Topic::job ||
                           (option.topic == Topic::program && !option.names.ends_with("--host"));
    const bool is_of_both = option.names.starts_with("-q") || option.names.starts_with("-v") ||
                            option.names.starts_with("--allow-run-as-root");
    auto& first = option.topic == Topic::nodes ? service.first_of_nodes : service.first_of_job;
    if ((option.topic == Topic::nodes || is_of_job) && !is_of_both && first.empty()) first = given.option;
  }

  const std::vector<std::string>& words_;
  const bool is_first_;
  Section& section_;
  std::size_t at_ = 0;
  std::set<const Option*> taken_;
};

}  // namespace

void read_section(const std::vector<std::string>& words, bool is_first, Section& section) {
  Reader(words, is_first, section).read();
}

}  // namespace weft::weftrun
