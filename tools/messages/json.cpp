// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/json.hpp"

#include <fmt/format.h>

namespace weft::messages {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
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
