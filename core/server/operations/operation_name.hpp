// SPDX-License-Identifier: BSD-3-Clause
// What servers call an operation: in requests to each other, in the signatures of their collectives, in
// reports. People read to_text().
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <tuple>

#include "base/wire.hpp"

namespace weft::server {

struct OperationName {
  enum class Kind : std::uint8_t {
    fence,  ///< of processes; their set alone names it
    connect,
    disconnect,
    // Of a group:
    construct,
    destruct,
    group_fence,
    // One server keeps these, and no other can end them:
    invitation,
    leave,
    join,
    bootstrap,
    lookup,  ///< of keys that no process has published
  };
  Kind kind = Kind::fence;
  std::string group{};  ///< empty: of no group; of a lookup the keys, for people
  /// Of a fence and of the end of a group: the members that it had then (Group::series). No part of what a
  /// call belongs to: a member may call when the members are others than for those that have called before.
  std::uint64_t series = 0;

  bool operator==(const OperationName& other) const { return kind == other.kind && group == other.group; }
  std::weak_ordering operator<=>(const OperationName& other) const {
    return std::tie(kind, group) <=> std::tie(other.kind, other.group);
  }

  bool is_fence() const noexcept { return kind == Kind::fence; }
  bool is_kept_by_one_server() const noexcept { return kind >= Kind::invitation; }
};
template <class Archive>
void fields(Archive& archive, OperationName& m) {
  archive(m.kind, m.group, m.series);
}
inline bool is_valid(const OperationName& m) {
  const bool is_of_group = m.kind >= OperationName::Kind::construct;
  return m.kind <= OperationName::Kind::lookup && m.group.empty() != is_of_group;
}

/// "construct of group g", "connect". Of a fence: empty.
inline std::string to_text(const OperationName& name) {
  static constexpr const char* kinds[] = {
      "",         "connect", "disconnect",   "construct of", "destruct of", "fence of", "invitation to",
      "leave of", "join of", "bootstrap of", "lookup of"};
  const std::string kind = kinds[static_cast<std::size_t>(name.kind)];
  if (name.kind == OperationName::Kind::lookup) return kind + " " + name.group;
  return name.group.empty() ? kind : kind + " group " + name.group;
}

}  // namespace weft::server
