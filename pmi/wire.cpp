// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "pmi/job/job.hpp"

namespace weft::pmi {
namespace {

using Words = std::map<std::string_view, std::string_view>;

/// The word "value" is the last, and all that follows belongs to it.
Words words_of(std::string_view line) {
  Words words;
  while (!line.empty()) {
    const auto equals = line.find('=');
    const auto name = line.substr(0, std::min(equals, line.find(' ')));
    auto end = line.find(' ', name.size());
    if (name == "value") end = std::string_view::npos;
    if (equals == name.size() && !name.empty())
      words.emplace(name, line.substr(equals + 1, end == std::string_view::npos ? end : end - equals - 1));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return words;
}

std::optional<std::int32_t> number_of(const Words& words, std::string_view name) {
  const auto at = words.find(name);
  if (at == words.end()) return std::nullopt;
  const auto& text = at->second;
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// False: the word is missing or longer than it may be.
bool take(const Words& words, std::string_view name, std::size_t room, std::string& out) {
  const auto at = words.find(name);
  if (at == words.end() || at->second.size() >= room) return false;
  out = at->second;
  return true;
}

/// The words that the command needs.
bool take_words(const Words& words, Request& request) {
  switch (request.command) {
    case Command::init: {
      const auto version = number_of(words, "pmi_version");
      request.version = version.value_or(0);
      return version.has_value();
    }
    case Command::put:
      return take(words, "kvsname", name_room, request.space) && take(words, "key", key_room, request.key) &&
             take(words, "value", value_room, request.value) && !request.key.empty();
    case Command::get:
      return take(words, "kvsname", name_room, request.space) && take(words, "key", key_room, request.key) &&
             !request.key.empty();
    case Command::publish_name:
      return take(words, "service", service_room, request.service) && !request.service.empty() &&
             take(words, "port", port_room, request.port);
    case Command::unpublish_name:
    case Command::lookup_name:
      return take(words, "service", service_room, request.service) && !request.service.empty();
    case Command::abort:
      request.exit_status = number_of(words, "exitcode").value_or(1);
      return true;
    default:
      return true;
  }
}

bool is_text(std::string_view line) {
  return line.find('\0') == std::string_view::npos;
}

}  // namespace

std::optional<Request> read_request(std::string_view line) {
  if (!is_text(line)) return std::nullopt;
  const auto words = words_of(line);
  const auto command = words.find("cmd");
  if (command == words.end()) return std::nullopt;
  for (const auto& [name, value] : command_names) {
    if (name != command->second) continue;
    Request request;
    request.command = value;
    return take_words(words, request) ? std::optional(std::move(request)) : std::nullopt;
  }
  return std::nullopt;
}

bool is_value(std::string_view text) noexcept {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return text.size() < value_room && std::none_of(text.begin(), text.end(), is_control);
}

RequestReader::Result RequestReader::next(std::string_view& bytes) {
  while (!has_failed_ && !bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (line_.size() + part.size() > longest_line) {
      has_failed_ = true;
      break;
    }
    line_ += part;
    bytes.remove_prefix(end == std::string_view::npos ? part.size() : end + 1);
    if (end == std::string_view::npos) return {};
    auto result = take_line();
    if (result.request || result.is_error) return result;
  }
  if (!has_failed_) return {};
  return {std::nullopt, true, line_};
}

RequestReader::Result RequestReader::take_line() {
  const auto line = std::exchange(line_, {});
  if (is_in_spawn_) return take_line_of_spawn(line);
  if (line == "mcmd=spawn") {
    is_in_spawn_ = true;
    return {};
  }
  auto request = spawn_.is_between_blocks() ? std::nullopt : read_request(line);
  return request ? Result{std::move(request), false, {}} : fail(line);
}

RequestReader::Result RequestReader::take_line_of_spawn(std::string_view line) {
  const auto step = spawn_.take(line);
  is_in_spawn_ = step == SpawnReader::Step::more;
  if (step == SpawnReader::Step::is_wrong) return fail(line);
  if (step != SpawnReader::Step::order_ends) return {};
  Request request;
  request.command = Command::spawn;
  request.spawn = spawn_.release();
  return {std::move(request), false, {}};
}

RequestReader::Result RequestReader::fail(std::string_view line) {
  has_failed_ = true;
  line_ = line;
  return {std::nullopt, true, line_};
}

}  // namespace weft::pmi
