// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/start_message.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "tools/job/mapping.hpp"
#include "tools/launch/settings.hpp"
#include "tools/messages/stop.hpp"

namespace weft::launch {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr unsigned format_version = 5;
constexpr std::string_view first_words = "weft start ";
constexpr std::string_view last_line = "end\n";
constexpr std::string_view digits = "0123456789abcdef";
constexpr std::uint32_t most_servers = 1U << 20;
constexpr std::size_t longest_text = 4096;               // of one word, path or name
constexpr std::size_t longest_contact = 1U << 20;        // bytes
constexpr std::size_t longest_setting = 3 * 128 * 1024;  // the kernel's limit, with each byte escaped
constexpr std::size_t most_words = 256;
constexpr std::size_t most_settings = 4096;
constexpr job::Names<Agent::Kind, 3> kinds{
    {{"fork", Agent::Kind::fork}, {"remote", Agent::Kind::remote}, {"slurm", Agent::Kind::slurm}}};
constexpr job::Names<StartMessage::Audience, 2> audiences{
    {{"one", StartMessage::Audience::one}, {"all", StartMessage::Audience::all}}};

std::string hex(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<unsigned> nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

std::optional<std::string> bytes_of(std::string_view hex_digits) {
  std::string bytes;
  if (hex_digits.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < hex_digits.size(); i += 2) {
    const auto high = nibble(hex_digits[i]), low = nibble(hex_digits[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>(*high << 4 | *low);
  }
  return bytes;
}

/// Control characters and '%' as %XX: a path may hold anything, a line no end of line.
std::string escaped(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    if (c < 0x20 || c == 0x7f || c == '%')
      out += fmt::format("%{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return std::nullopt;
    if (c != '%') {
      out += text[i];
      continue;
    }
    const auto byte = bytes_of(text.substr(std::min(i + 1, text.size()), 2));
    if (!byte || byte->size() != 1) return std::nullopt;
    out += *byte;
    i += 2;
  }
  return out;
}

/// Reads a message line by line; every defect ends in refuse(), with the line's number.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  [[noreturn]] void refuse(std::string_view why) const {
    throw Stop(exit_status::own_failure,
               fmt::format("the start message on standard input is damaged (line {}: {}); this program is "
                           "started by weftrun and not by hand",
                           number_, why));
  }
  /// The next line begins with this word: what follows it.
  std::string_view value(std::string_view word) {
    const auto found = value_if(word);
    if (!found) {
      ++number_;
      refuse(fmt::format("there is no '{}'", word));
    }
    return *found;
  }
  std::optional<std::string_view> value_if(std::string_view word) {
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos || rest_.substr(0, word.size()) != word) return std::nullopt;
    auto after = rest_.substr(word.size(), end - word.size());
    if (end < word.size() || (!after.empty() && after.front() != ' ')) return std::nullopt;
    rest_.remove_prefix(end + 1);
    ++number_;
    return after.empty() ? after : after.substr(1);
  }
  std::string text(std::string_view word) { return text_of(value(word)); }
  std::string text_of(std::string_view value, std::size_t most = longest_text) const {
    auto text = unescaped(value);
    if (!text || value.size() > most) refuse("it is no text");
    return *std::move(text);
  }
  std::string contact(std::string_view hex_digits) const {
    auto bytes = bytes_of(hex_digits);
    if (!bytes || bytes->size() > longest_contact)
      refuse(fmt::format("a contact is not {} bytes at most", longest_contact));
    return *std::move(bytes);
  }
  base::Secret key() {
    const auto text = value("key");
    std::array<std::byte, StartMessage::key_bytes> raw;
    if (text.size() != 2 * raw.size()) refuse("the key has another length");
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const auto high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
      if (!high || !low) refuse("the key is no number");
      raw[i] = static_cast<std::byte>(*high << 4 | *low);
    }
    base::Secret key(raw);
    base::wipe(raw.data(), raw.size());
    return key;
  }
  std::uint32_t number(std::string_view text, std::uint32_t most) const {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most)
      refuse(fmt::format("it has no number of {} at most", most));
    return value;
  }
  template <class Value, std::size_t n>
  Value named(std::string_view text, const job::Names<Value, n>& names) const {
    for (const auto& [name, value] : names)
      if (text == name) return value;
    refuse(fmt::format("'{}' is unknown", escaped(text.substr(0, 40))));
  }
  bool is_at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
  unsigned number_ = 0;
};

std::pair<std::string_view, std::string_view> split(std::string_view text) noexcept {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return {text, {}};
  return {text.substr(0, space), text.substr(space + 1)};
}

void check_versions(Lines& lines, std::string_view own_release) {
  const auto [format, release] = split(lines.value("weft start"));
  const auto theirs = lines.text_of(release);
  if (theirs == own_release && format == std::to_string(format_version)) return;
  throw Stop(exit_status::own_failure,
             fmt::format("weftrun is of release {}, this daemon is of {}; install the same on all nodes, or "
                         "say with --weftd where the right one is",
                         theirs.empty() ? "(unknown)" : escaped(theirs), own_release));
}

NodeName read_node(const Lines& lines, std::string_view value, std::uint32_t servers) {
  const auto [number, host] = split(value);
  NodeName node{lines.number(number, servers - 1), lines.text_of(host)};
  if (node.host.empty()) lines.refuse("a node has no name");
  return node;
}

StartMessage::Above read_above(const Lines& lines, std::string_view value, std::uint32_t servers) {
  const auto [number, contact] = split(value);
  return {lines.number(number, servers - 1), lines.contact(contact)};
}

Agent read_agent(Lines& lines) {
  Agent agent;
  const auto [kind, arity] = split(lines.value("agent"));
  agent.kind = lines.named(kind, kinds);
  agent.arity = lines.number(arity, most_servers);
  while (const auto word = lines.value_if("word")) {
    agent.words.push_back(lines.text_of(*word));
    if (agent.words.size() > most_words) lines.refuse("the agent has too many words");
  }
  agent.weftd = lines.text("weftd");
  return agent;
}

void read_settings(Lines& lines, StartMessage& message) {
  while (const auto value = lines.value_if("setting")) {
    message.settings.push_back(lines.text_of(*value, longest_setting));
    if (message.settings.size() > most_settings) lines.refuse("there are too many settings");
    if (!is_server_setting(message.settings.back().c_str())) lines.refuse("that is no setting of a server");
  }
}

void read_nodes(Lines& lines, StartMessage& message) {
  while (const auto value = lines.value_if("node")) {
    NodeName node = read_node(lines, *value, message.servers);
    const bool ascends = message.nodes.empty() || message.nodes.back().number < node.number;
    if (!ascends || node.number == message.launcher.number) lines.refuse("the nodes are out of order");
    message.nodes.push_back(std::move(node));
  }
  if (message.nodes.empty()) lines.refuse("there is no node");
}

/// False: the bytes so far cannot begin a message, so waiting for more is of no use.
bool can_become_whole(std::string_view text) noexcept {
  const auto length = std::min(text.size(), first_words.size());
  return text.size() <= longest_start_message && text.substr(0, length) == first_words.substr(0, length);
}

bool is_whole(std::string_view text) noexcept {
  return text.size() > last_line.size() &&
         text.substr(text.size() - last_line.size() - 1) == "\n" + std::string(last_line);
}

}  // namespace

base::SecretText encode(const StartMessage& message, std::string_view release) {
  base::SecretText text;
  const auto add = [&](const std::string& lines) { text += lines; };
  add(fmt::format("{}{} {}\nnspace {}\nservers {} {}\n{}launcher {} {}\nkey ", first_words, format_version,
                  escaped(release), escaped(message.nspace), message.servers, message.first_servers,
                  message.are_names_at_launcher ? "names launcher\n" : "", message.launcher.number,
                  escaped(message.launcher.host)));
  for (const auto byte : message.key.bytes()) {  // by hand: a text of the library's would keep it
    text += digits[static_cast<unsigned>(byte) >> 4];
    text += digits[static_cast<unsigned>(byte) & 15];
  }
  add(fmt::format("\ntransport {}\ncontact {}\n", escaped(message.transport), hex(message.contact)));
  if (message.above) add(fmt::format("above {} {}\n", message.above->number, hex(message.above->contact)));
  for (const auto& setting : message.settings) add(fmt::format("setting {}\n", escaped(setting)));
  add(fmt::format("agent {} {}\n", job::name_in(kinds, message.agent.kind), message.agent.arity));
  for (const auto& word : message.agent.words) add(fmt::format("word {}\n", escaped(word)));
  add(fmt::format("weftd {}\naudience {}\n", escaped(message.agent.weftd),
                  job::name_in(audiences, message.audience)));
  for (const auto& node : message.nodes) add(fmt::format("node {} {}\n", node.number, escaped(node.host)));
  text += last_line;
  return text;
}

StartMessage decode_start_message(std::string_view text, std::string_view own_release) {
  Lines lines(text);
  check_versions(lines, own_release);
  StartMessage message;
  message.nspace = lines.text("nspace");
  const auto [servers, first_servers] = split(lines.value("servers"));
  message.servers = lines.number(servers, most_servers);
  message.first_servers = lines.number(first_servers, message.servers);
  if (message.nspace.empty() || message.servers < 2) lines.refuse("that is no launch of several servers");
  if (const auto names = lines.value_if("names")) {
    if (*names != "launcher") lines.refuse("names are not the launcher's");
    message.are_names_at_launcher = true;
  }
  message.launcher = read_node(lines, lines.value("launcher"), message.servers);
  message.key = lines.key();
  message.transport = lines.text("transport");
  message.contact = lines.contact(lines.value("contact"));
  if (const auto above = lines.value_if("above")) message.above = read_above(lines, *above, message.servers);
  read_settings(lines, message);
  message.agent = read_agent(lines);
  message.audience = lines.named(lines.value("audience"), audiences);
  read_nodes(lines, message);
  if (!lines.value("end").empty() || !lines.is_at_end()) lines.refuse("something follows its end");
  return message;
}

StartMessage read_start_message(int fd, std::string_view own_release) {
  base::SecretText text;
  while (!is_whole(text)) {
    const std::size_t had = text.size();
    if (!can_become_whole(text)) {
      throw Stop(exit_status::own_failure, "what stands on standard input is no start message of weftrun");
    }
    text.resize(had + 64 * 1024);
    const auto length = ::read(fd, text.data() + had, text.size() - had);
    const int error = errno;
    text.resize(had + (length > 0 ? static_cast<std::size_t>(length) : 0));
    if (length > 0 || (length < 0 && error == EINTR)) continue;
    throw Stop(exit_status::own_failure,
               fmt::format("standard input ended before the start message did ({} bytes came{}{}); this "
                           "program is started by weftrun, and an agent must hand its standard input on",
                           had, length < 0 ? ": " : "", length < 0 ? std::strerror(error) : ""));
  }
  return decode_start_message(text, own_release);
}

std::size_t find_self(const StartMessage& message, const allocation::OwnNames& own) {
  const auto& nodes = message.nodes;
  if (message.audience == StartMessage::Audience::one) {
    const auto& name = nodes.front().host;
    const bool is_virtual = message.agent.kind == Agent::Kind::fork;
    if (!is_virtual && !own.matches(name) && allocation::resolves_elsewhere(name)) {
      throw Stop(
          exit_status::own_failure,
          fmt::format("this machine is '{}', but the daemon for '{}' was started here, which has other "
                      "addresses; correct the host list, or where the agent goes for that name",
                      own.host, name));
    }
    return 0;
  }
  const auto find = [&](const auto& is_it) {
    return static_cast<std::size_t>(std::find_if(nodes.begin(), nodes.end(), is_it) - nodes.begin());
  };
  // Slurm's name for this node decides, since several of its nodes may be one machine.
  std::size_t at = find([&](const NodeName& node) { return node.host == own.slurm_node; });
  if (at == nodes.size() && own.slurm_node.empty())
    at = find([&](const NodeName& node) { return own.matches(node.host); });
  if (at < nodes.size()) return at;
  throw Stop(
      exit_status::own_failure,
      fmt::format("this machine is '{}'{}, which is none of the {} nodes of the start message ('{}' is "
                  "the first); the host list must have the names that Slurm has",
                  own.host, own.slurm_node.empty() ? "" : ", for Slurm '" + own.slurm_node + "'",
                  nodes.size(), nodes.front().host));
}

}  // namespace weft::launch
