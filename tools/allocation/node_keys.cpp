// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/node_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::allocation {
namespace {

using job::NodeKey;

/// A key of up to that many bytes is shown whole.
constexpr std::size_t longest_shown = 64;

std::string wrong_with_key(std::string_view key) {
  const auto shown = key.substr(0, longest_shown);
  const auto is_graphic = [](unsigned char c) { return c > ' ' && c != 0x7f; };
  if (key.size() > NodeKey::longest_key)
    return fmt::format("the key '{}...' has {} bytes; it can have {}", shown, key.size(),
                       NodeKey::longest_key);
  if (!std::all_of(key.begin(), key.end(), is_graphic))
    return fmt::format("the key '{}' has blanks in it; leave them out", shown);
  if (key.starts_with("pmix") || key.starts_with("weft."))
    return fmt::format(
        "the key '{}' is reserved; choose one that begins neither with 'pmix' nor with 'weft.'", shown);
  return {};
}

std::string add(job::KeyValue added, job::KeyValues& to) {
  const auto known =
      std::find_if(to.begin(), to.end(), [&](const auto& one) { return one.key == added.key; });
  if (known == to.end())
    to.push_back(std::move(added));
  else if (known->value != added.value)
    return fmt::format("'{}' has a value already, '{}'; give it one of them", added.key,
                       known->value.substr(0, longest_shown));
  return {};
}

}  // namespace

std::string add_node_key(std::string_view text, job::KeyValues& to) {
  const auto equals = std::min(text.find('='), text.size());
  const auto key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
  if (key.empty()) return fmt::format("'{}' names no key; write KEY=VALUE", text.substr(0, longest_shown));
  if (auto wrong = wrong_with_key(key); !wrong.empty()) return wrong;
  if (value.empty()) return fmt::format("the key '{}' has no value; write KEY=VALUE", key);
  if (value.size() > NodeKey::longest_value)
    return fmt::format("the value of '{}' has {} bytes; it can have {}", key, value.size(),
                       NodeKey::longest_value);
  if (value.find('\0') != std::string_view::npos)
    return fmt::format("the value of '{}' has a zero byte in it; leave it out", key);
  return add({std::string(key), std::string(value)}, to);
}

std::string add_node_keys(const job::KeyValues& from, job::KeyValues& to) {
  for (const auto& one : from)
    if (auto wrong = add(one, to); !wrong.empty()) return wrong;
  return {};
}

}  // namespace weft::allocation
