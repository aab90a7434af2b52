// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::messages {
namespace {

/// Bytes of the character that the text begins with; 0: it is no UTF-8.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Shorter forms of what has one, halves of pairs, and numbers behind the last.
  const bool is_none = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
                       (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
  return is_none ? 0 : bytes;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const auto bytes = utf8_bytes(text);
    if (c == '"' || c == '\\') out += '\\';
    if (bytes == 0)
      out += "\\ufffd";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out + '"';
}

}  // namespace

Json& Json::end() {
  out_ += open_.back();
  open_.pop_back();
  is_first_ = false;
  return *this;
}

Json& Json::key(std::string_view name) {
  separate();
  out_ += quoted(name) + ": ";
  is_first_ = true;
  return *this;
}

Json& Json::value(std::string_view text) {
  return raw(quoted(text));
}

Json& Json::thousandths(std::uint64_t number) {
  return raw(fmt::format("{}.{:03}", number / 1000, number % 1000));
}

Json& Json::open(char bracket) {
  separate();
  out_ += bracket;
  open_ += bracket == '{' ? '}' : ']';
  is_first_ = true;
  return *this;
}

Json& Json::raw(std::string_view text) {
  separate();
  out_ += text;
  is_first_ = false;
  return *this;
}

void Json::separate() {
  if (!is_first_) out_ += ", ";
}

}  // namespace weft::messages
