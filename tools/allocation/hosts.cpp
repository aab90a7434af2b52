// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/hosts.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "tools/allocation/hostlist.hpp"
#include "tools/allocation/node_keys.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::allocation {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr std::size_t longest_name = 255;

/// One line, whatever the user's text holds.
[[noreturn]] void refuse(std::string_view where, std::string_view what) {
  throw Stop(exit_status::usage, messages::usage(messages::on_one_line(fmt::format("{}: {}", where, what))));
}

std::uint32_t slot_count(std::string_view text, std::string_view where) {
  std::uint32_t slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error != std::errc() || end != text.data() + text.size() || slots == 0 ||
      slots > job::most_ranks_a_node)
    refuse(where,
           fmt::format("'{}' is not a number of slots; it can be 1 to {}", text, job::most_ranks_a_node));
  return slots;
}

void add_keys(const job::KeyValues& keys, Host& host, std::string_view where) {
  const auto wrong = add_node_keys(keys, host.keys);
  if (!wrong.empty()) refuse(where, fmt::format("of '{}', {}", host.name, wrong));
}

/// Hosts in the order of their first mention; each is found at once.
class Collector {
 public:
  Host& add(const std::string& name, std::uint32_t slots) {
    const auto [at, is_new] = places_.emplace(name, hosts_.size());
    if (is_new) {
      if (hosts_.size() == most_hosts)
        refuse("the host list", fmt::format("it has more than {} hosts", most_hosts));
      hosts_.push_back({name, 0, job::most_ranks_a_node, false});
    }
    Host& host = hosts_[at->second];
    host.slots = std::min(host.slots + slots, job::most_ranks_a_node);
    return host;
  }
  Hosts take() && {
    for (auto& host : hosts_) host.max_slots = std::max(host.max_slots, host.slots);
    return std::move(hosts_);
  }

 private:
  Hosts hosts_;
  std::unordered_map<std::string, std::size_t> places_;
};

std::string_view without_blanks(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_six(std::string_view text) noexcept {
  in6_addr address;
  return ::inet_pton(AF_INET6, std::string(text.substr(0, text.find('%'))).c_str(), &address) == 1;
}

/// "name:N" as the two. An IPv6 address has colons of its own: with a number it stands in brackets, [::1]:2.
struct NameAndSlots {
  std::string_view name;
  std::optional<std::string_view> slots;
  bool is_address = false;
};
NameAndSlots split_at_colon(std::string_view text) {
  const auto close = text.find(']');
  if (!text.empty() && text.front() == '[' && close != std::string_view::npos &&
      is_six(text.substr(1, close - 1))) {
    const auto address = text.substr(1, close - 1), rest = text.substr(close + 1);
    if (rest.empty()) return {address, std::nullopt, true};
    if (rest.front() == ':') return {address, rest.substr(1), true};
    return {text, std::nullopt, true};
  }
  if (is_six(text)) return {text, std::nullopt, true};
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::vector<std::string> names_of(const NameAndSlots& mention, std::string_view where) {
  std::string complaint;
  const auto names =
      mention.is_address ? std::vector{std::string(mention.name)} : expand_hostlist(mention.name, complaint);
  if (!names) refuse(where, complaint);
  if (names->empty()) refuse(where, "a host has no name; is a comma too many there?");
  for (const auto& name : *names) check_host_name(name, where);
  return *names;
}

/// Quotes around a word of a file belong to it as little as around one of a shell.
std::string_view without_quotes(std::string_view word) noexcept {
  const bool is_quoted =
      word.size() >= 2 && word.front() == word.back() && (word.front() == '"' || word.front() == '\'');
  return is_quoted ? word.substr(1, word.size() - 2) : word;
}

/// The words of a line without its comment; "slots = 2" is one word. Behind its first '=' a word is a value,
/// which may end in another one.
std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line.substr(0, line.find('#')))};
  std::vector<std::string> words;
  bool goes_on = false;
  for (std::string word; stream >> word;) {
    if (words.size() > 1 && (goes_on || word.front() == '='))
      words.back() += word;
    else
      words.emplace_back(without_quotes(word));
    const auto equals = words.back().find('=');
    goes_on = equals != std::string::npos && equals + 1 == words.back().size();
  }
  return words;
}

void read_line(std::string_view line, const std::string& where, Collector& hosts) {
  const auto words = words_of(line);
  if (words.empty()) return;
  std::optional<std::uint32_t> slots, most;
  job::KeyValues keys;
  constexpr std::string_view data = "data:";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto& word = words[i];
    const auto equals = std::min(word.find('='), word.size());
    const auto key = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
    if (key.starts_with(data)) {
      const auto wrong =
          add_node_key(fmt::format("{}={}", key.substr(data.size()), without_quotes(value)), keys);
      if (!wrong.empty()) refuse(where, wrong);
      continue;
    }
    auto& target = key == "slots" ? slots : most;
    if ((key != "slots" && key != "max_slots" && key != "max-slots") || equals == word.size())
      refuse(
          where,
          fmt::format("'{}' is unknown; after the name there can be slots=N, max_slots=N and data:KEY=VALUE",
                      word));
    if (target) refuse(where, fmt::format("'{}' is a second number for the same", word));
    target = slot_count(without_quotes(value), where);
  }
  for (const auto part : split_hostlist(words.front())) {
    const auto mention = split_at_colon(part);
    const auto own = mention.slots ? std::optional(slot_count(*mention.slots, where)) : std::nullopt;
    if (own && slots) refuse(where, fmt::format("slots={} is a second number for the same", *slots));
    // A host with a limit and no slots has as many slots as the limit allows, as mpirun(1) has it.
    const std::uint32_t room = own ? *own : slots ? *slots : most.value_or(1);
    if (most && *most < room) refuse(where, fmt::format("max_slots={} is less than slots={}", *most, room));
    for (const auto& host_name : names_of(mention, where)) {
      Host& host = hosts.add(host_name, room);
      if (most) host.max_slots = *most;
      add_keys(keys, host, where);
    }
  }
}

}  // namespace

void check_host_name(std::string_view name, std::string_view where) {
  const auto is_fine = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  };
  if (name.empty()) refuse(where, "a host has no name");
  if (name.find_first_of("\"'") != std::string_view::npos)
    refuse(where, fmt::format("'{}' has quotes in it; leave them out", name));
  if (name.find('@') != std::string_view::npos)
    refuse(where, fmt::format("'{}' has a user's name in it; say that with --agent 'ssh -l USER'", name));
  if (name.size() > longest_name || name.front() == '-' || !std::all_of(name.begin(), name.end(), is_fine) ||
      (name.find(':') != std::string_view::npos && !is_six(name)))
    refuse(where, fmt::format("'{}' is not the name of a host", name.substr(0, longest_name)));
}

Hosts read_host_option(const std::vector<std::string>& texts) {
  Collector hosts;
  for (const auto& text : texts) {
    const auto where = fmt::format("--host '{}'", text);
    for (const auto part : split_hostlist(text)) {
      const auto mention = split_at_colon(without_blanks(part));
      const auto room = mention.slots ? slot_count(*mention.slots, where) : 1;
      for (const auto& host_name : names_of(mention, where)) hosts.add(host_name, room);
    }
  }
  return std::move(hosts).take();
}

Hosts read_hostfile(std::string_view text, const std::string& file) {
  Collector hosts;
  // Editors of other systems begin a file with the mark of its byte order.
  if (constexpr std::string_view mark = "\xef\xbb\xbf"; text.substr(0, mark.size()) == mark)
    text.remove_prefix(mark.size());
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const auto end = std::min(text.find('\n', begin), text.size());
    read_line(text.substr(begin, end - begin), fmt::format("--hostfile {}, line {}", file, number), hosts);
    begin = end + 1;
  }
  Hosts read = std::move(hosts).take();
  if (read.empty()) refuse(fmt::format("--hostfile {}", file), "it names no host");
  return read;
}

Hosts read_hostfile(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  std::error_code error;
  if (stream && !std::filesystem::is_directory(file, error))
    text << stream.rdbuf();
  else
    refuse(fmt::format("--hostfile {}", file), "it cannot be read; check its name and permissions");
  return read_hostfile(text.str(), file);
}

Hosts merged(const Hosts& hosts) {
  constexpr const char* where = "the host list";
  Collector collected;
  for (const auto& host : hosts) {
    check_host_name(host.name, where);
    Host& known = collected.add(host.name, host.slots);
    add_keys(host.keys, known, where);
  }
  return std::move(collected).take();
}

Hosts with_own_name(const Hosts& hosts, const std::string& own_name,
                    const std::function<bool(const std::string&)>& is_here) {
  Collector named;
  for (const auto& host : hosts) {
    const bool here = is_here(host.name);
    Host& merged = named.add(here ? own_name : host.name, host.slots);
    merged.max_slots = std::min(merged.max_slots, host.max_slots);
    merged.here = here;
    add_keys(host.keys, merged, "the host list");
  }
  return std::move(named).take();
}

}  // namespace weft::allocation
