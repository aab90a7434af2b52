// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/preput.hpp"

#include <charconv>
#include <cstdlib>

#include "base/settings.hpp"

namespace weft::pmi {
namespace {

void append(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
  out += ',';
}

/// The next text, removed from `rest`.
std::optional<std::string> take(std::string_view& rest) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (rest.empty() || rest.front() != ':' || rest.size() < 2 || length > rest.size() - 2) return std::nullopt;
  if (rest[length + 1] != ',') return std::nullopt;
  std::string text(rest.substr(1, length));
  rest.remove_prefix(length + 2);
  return text;
}

}  // namespace

std::optional<std::string> encode_preput(const std::vector<KeyValue>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) {
    append(out, key);
    append(out, value);
    if (out.size() > preput_room) return std::nullopt;
  }
  return out;
}

std::optional<std::vector<KeyValue>> decode_preput(std::string_view text) {
  std::vector<KeyValue> out;
  while (!text.empty()) {
    auto key = take(text);
    auto value = key ? take(text) : std::nullopt;
    if (!value) return std::nullopt;
    out.push_back({std::move(*key), std::move(*value)});
  }
  return out;
}

std::optional<std::vector<KeyValue>> own_preput() {
  // An empty text is one of a spawned job as well, so the table's reader, for which it is the default, is no
  // help.
  const char* text = std::getenv(base::setting_of(base::Variable::pmi_preput).name);
  return text == nullptr ? std::nullopt : decode_preput(text);
}

}  // namespace weft::pmi
