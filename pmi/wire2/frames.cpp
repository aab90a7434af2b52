// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weft::pmi::wire2 {
namespace {

/// Of a key: MPICH's documents allow 64 characters, of which the interface takes one less.
constexpr std::size_t longest_name = 64;

bool is_letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_command(std::string_view text) noexcept {
  const auto is_allowed = [](char c) { return is_letter_or_digit(c) || c == '-'; };
  return !text.empty() && text.size() <= longest_name && std::all_of(text.begin(), text.end(), is_allowed);
}

bool is_key(std::string_view text) noexcept {
  const auto is_allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= longest_name && std::all_of(text.begin(), text.end(), is_allowed);
}

/// The text to the next semicolon that is not doubled, removed from `rest`.
std::string take_field(std::string_view& rest) {
  std::string out;
  for (;;) {
    const auto end = rest.find(';');
    out += rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (end == std::string_view::npos || rest.empty() || rest.front() != ';') return out;
    out += ';';
    rest.remove_prefix(1);
  }
}

/// What is wrong with the field; empty: nothing, and it was appended.
std::string_view append_field(std::string field, std::vector<KeyValue>& fields) {
  const auto equals = field.find('=');
  if (equals == std::string::npos) return "a field has no '='";
  if (!is_key(std::string_view(field).substr(0, equals))) return "a field's name is none";
  if (fields.size() == most_fields) return "too many fields";
  fields.push_back({field.substr(0, equals), field.substr(equals + 1)});
  return {};
}

/// Digits, with blanks before them, as MPICH's documents have it, or behind them, as its client writes.
std::optional<std::size_t> length_of(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

std::string doubled(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ';') out += ';';
    out += c;
  }
  return out;
}

}  // namespace

const std::string* Message::find(std::string_view key) const {
  const auto at =
      std::find_if(fields.begin(), fields.end(), [key](const KeyValue& field) { return field.key == key; });
  return at == fields.end() ? nullptr : &at->value;
}

std::optional<Message> read_message(std::string_view frame) {
  constexpr std::string_view first = "cmd=";
  const auto command = take_field(frame);
  if (command.substr(0, first.size()) != first || !is_command(std::string_view(command).substr(first.size())))
    return std::nullopt;
  Message message;
  message.command = command.substr(first.size());
  while (!frame.empty() && message.fault.empty())
    message.fault = append_field(take_field(frame), message.fields);
  return message;
}

FrameReader::Result FrameReader::next(std::string_view& bytes) {
  while (!has_failed_ && !bytes.empty()) {
    const auto wanted = length_digits + length_.value_or(0) - held_.size();
    const auto part = bytes.substr(0, wanted);
    held_ += part;
    bytes.remove_prefix(part.size());
    if (part.size() < wanted) return {};
    if (length_) {
      auto result = take_frame();
      if (result.message || result.is_error) return result;
    } else {
      length_ = length_of(held_);
      if (!length_ || *length_ == 0) return fail(held_);
    }
  }
  if (!has_failed_) return {};
  return {std::nullopt, true, held_};
}

FrameReader::Result FrameReader::take_frame() {
  const auto frame = std::exchange(held_, {});
  length_.reset();
  auto message = read_message(without_excess(std::string_view(frame).substr(length_digits)));
  return message ? join(std::move(*message), frame.size()) : fail(frame);
}

/// The client of MPICH 4.0 counts the digits of the length as well, and sends as many bytes behind the last
/// semicolon, of whatever its buffer has there.
std::string_view FrameReader::without_excess(std::string_view frame) {
  if (frame.size() <= length_digits) return frame;
  const auto last = frame.size() - length_digits - 1;
  if (frame.back() != ';' && frame[last] == ';') has_excess_ = true;
  return has_excess_ ? frame.substr(0, last + 1) : frame;
}

/// A continuation goes to the part that it names; what has a continuation itself waits for that.
FrameReader::Result FrameReader::join(Message message, std::size_t bytes) {
  Part part{{}, std::move(message), bytes};
  if (part.message.command == "concat") {
    const auto* const id = part.message.find("concatid");
    const auto at = std::find_if(parts_.begin(), parts_.end(),
                                 [id](const Part& each) { return id != nullptr && each.id == *id; });
    if (at == parts_.end()) return {std::move(part.message), false, {}};
    auto whole = std::exchange(*at, {});
    parts_.erase(at);
    for (auto& field : part.message.fields)
      if (field.key != "concatid") whole.message.fields.push_back(std::move(field));
    whole.bytes += part.bytes;
    if (!part.message.fault.empty()) whole.message.fault = part.message.fault;
    part = std::move(whole);
  }
  if (part.bytes > most_message_bytes || part.message.fields.size() > most_fields)
    part.message.fault = "a message of too many parts";
  if (!part.message.fault.empty() || part.message.fields.empty() ||
      part.message.fields.back().key != "concat")
    return {std::move(part.message), false, {}};
  return hold(std::move(part));
}

FrameReader::Result FrameReader::hold(Part part) {
  part.id = std::move(part.message.fields.back().value);
  part.message.fields.pop_back();
  if (parts_.size() == most_parts) {
    part.message.fault = "too many messages in parts";
    return {std::move(part.message), false, {}};
  }
  parts_.push_back(std::move(part));
  return {};
}

FrameReader::Result FrameReader::fail(std::string_view text) {
  has_failed_ = true;
  held_ = text;
  return {std::nullopt, true, held_};
}

Reply::Reply(std::string_view command, std::string_view thread)
    : body_(fmt::format("cmd={}-response;", command)) {
  if (!thread.empty()) add("thrid", thread);
}

Reply& Reply::add(std::string_view key, std::string_view value) {
  body_ += fmt::format("{}={};", key, doubled(value));
  return *this;
}

std::string Reply::end(int code, std::string_view text) {
  body_ += fmt::format("rc={};", code);
  if (!text.empty()) add("errmsg", text);
  return fmt::format("{:6}{}", body_.size(), body_);
}

}  // namespace weft::pmi::wire2
