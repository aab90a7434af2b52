// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/words.hpp"

#include <charconv>
#include <string>

namespace weft::pmi {
namespace {

constexpr std::size_t most_pairs = 64;

}  // namespace

std::optional<std::uint32_t> count_of(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

bool begin_pair(std::vector<KeyValue>& pairs, std::string_view key) {
  if (key.empty() || key.size() >= key_room) return false;
  std::erase_if(pairs, [key](const KeyValue& pair) { return pair.key == key; });
  if (pairs.size() == most_pairs) return false;
  pairs.push_back({std::string(key), {}});
  return true;
}

bool end_pair(std::vector<KeyValue>& pairs, std::string_view value, std::size_t room) {
  if (pairs.empty() || value.size() >= room) return false;
  pairs.back().value = value;
  return true;
}

}  // namespace weft::pmi
