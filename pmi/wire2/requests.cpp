// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/requests.hpp"

#include <algorithm>
#include <charconv>

#include "pmi/job/job.hpp"

namespace weft::pmi::wire2 {
namespace {

/// The texts of requests: where each goes, and what is said where it is missing or too long.
struct FieldRow {
  Need need;
  std::string_view name;
  std::string Request::*text;
  std::size_t room;
  bool may_be_empty;
  Code too_long;
  std::string_view missing_text, too_long_text;
};
constexpr FieldRow field_rows[] = {
    {need_key, "key", &Request::key, key_room, false, Code::invalid_key_length, "there is no key",
     "the key is too long"},
    {need_value, "value", &Request::value, value_room, true, Code::invalid_value_length, "there is no value",
     "the value is too long"},
    {need_job, "jobid", &Request::job, name_room, false, Code::invalid_length, "there is no jobid",
     "the jobid is too long"},
    {need_name, "name", &Request::service, service_room, false, Code::invalid_length, "there is no name",
     "the name is too long"},
    {need_port, "port", &Request::port, port_room, true, Code::invalid_length, "there is no port",
     "the port is too long"},
    {need_nothing, "msg", &Request::text, value_room, true, Code::invalid_length, {}, "the msg is too long"},
};

/// Takes one text. Texts go into calls that end them at a zero.
Reading read_field(const FieldRow& row, const Message& message, std::uint8_t needs, Request& request) {
  const auto* const text = message.find(row.name);
  const bool is_needed = (needs & row.need) != 0;
  if (text == nullptr || (text->empty() && !row.may_be_empty))
    return is_needed ? Reading{{}, Code::invalid_argument, row.missing_text} : Reading{};
  if (text->size() >= row.room) return {{}, row.too_long, row.too_long_text};
  if (text->find('\0') != std::string::npos) return {{}, Code::invalid_value, "a text has a zero in it"};
  request.*row.text = *text;
  return {};
}

bool is_true(const std::string* text) {
  return text != nullptr && (*text == "TRUE" || *text == "true");
}
bool is_false(const std::string* text) {
  return text != nullptr && (*text == "FALSE" || *text == "false");
}

/// A hint, so what is no rank is none.
std::optional<std::uint32_t> rank_of(const std::string* text) {
  if (text == nullptr) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool is_whole = error == std::errc() && end == text->data() + text->size();
  return is_whole ? std::optional(number) : std::nullopt;
}

const CommandRow* row_of(std::string_view name) {
  const auto* const at = std::find_if(command_rows.begin(), command_rows.end(),
                                      [name](const CommandRow& row) { return row.name == name; });
  return at == command_rows.end() ? nullptr : at;
}

}  // namespace

Reading read_request(const Message& message) {
  const auto* const row = row_of(message.command);
  if (row == nullptr) return {{}, Code::other, "the command is not known"};
  if (!message.fault.empty()) return {{}, Code::invalid_argument, message.fault};
  Request request;
  request.command = row->command;
  for (const auto& field : field_rows)
    if (const auto read = read_field(field, message, row->needs, request); read.code != Code::success)
      return read;
  request.source = rank_of(message.find("srcid"));
  request.is_waiting = is_true(message.find("wait"));
  request.is_whole_job = !is_false(message.find("isworld"));
  return {std::move(request), Code::success, {}};
}

std::string thread_of(const Message& message) {
  const auto* const text = message.find("thrid");
  return text != nullptr && text->size() < value_room ? *text : std::string();
}

std::string_view answered_command(const Message& message) {
  return message.command == "spawn-cmd" ? std::string_view("spawn") : std::string_view(message.command);
}

}  // namespace weft::pmi::wire2
