// SPDX-License-Identifier: BSD-3-Clause
// Keys of nodes as bytes. Nodes of one cluster have values that begin alike, as addresses and host names do:
// each value says how much of the one before it has, and then what differs. Of 10,000 addresses of IPv4 that
// leaves some 5 bytes a node of 16.
//
//   key | number of values | each: bytes shared (u8) | bytes that differ (u16) | these
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/wire.hpp"
#include "tools/job/node_keys.hpp"

template <>
struct weft::base::Coding<weft::job::NodeKey> {
  using NodeKey = job::NodeKey;
  /// Of the values of one key: a few bytes may stand for many.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20U;
  static_assert(NodeKey::longest_value <= std::numeric_limits<std::uint16_t>::max());

  static void write(Writer& out, const NodeKey& key) {
    out(key.key);
    out.scalar(static_cast<std::uint32_t>(key.values.size()));
    std::string_view before;
    for (const std::string_view value : key.values) {
      const auto shared = length_shared(value, before);
      const auto rest = value.substr(shared);
      out.scalar(static_cast<std::uint8_t>(shared));
      out.scalar(static_cast<std::uint16_t>(rest.size()));
      out.raw(std::as_bytes(std::span(rest)));
      before = value;
    }
  }

  static void read(Reader& in, NodeKey& key) {
    in(key.key);
    key.values.clear();
    const auto count = in.u32();
    if (count == 0 || count > in.left() || key.key.empty() || key.key.size() > NodeKey::longest_key)
      return in.spoil();
    std::size_t bytes = 0;
    std::string value;
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      const std::size_t shared = in.u8();
      const auto rest = as_text(in.raw(in.u16()));
      bytes += shared + rest.size();
      if (shared > value.size() || shared + rest.size() > NodeKey::longest_value || bytes > most_bytes)
        return in.spoil();
      value.resize(shared);
      key.values.emplace_back(value.append(rest));
    }
  }

 private:
  static std::size_t length_shared(std::string_view one, std::string_view other) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::uint8_t>::max();
    one = one.substr(0, std::min(other.size(), most));
    return static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin());
  }
};
