// SPDX-License-Identifier: BSD-3-Clause
// What servers say to each other of published names. docs/design/published.md has the charts.
#pragma once

#include <string>
#include <vector>

#include "core/server/published/name.hpp"

namespace weft::server {

struct NamedValue {
  std::string key;
  std::vector<std::byte> value;
};
template <class Archive>
void fields(Archive& archive, NamedValue& m) {
  archive(m.key, m.value);
}
inline bool is_valid(const NamedValue& m) {
  return !m.key.empty() && m.key.size() <= PMIX_MAX_KEYLEN;
}

/// name_publish: to the keeper of these keys, which takes all of them or none. Replied to with NameStatus.
struct PublishNames {
  static constexpr std::uint16_t wire_version = 1;
  Publication by;
  std::vector<NamedValue> names;
};
template <class Archive>
void fields(Archive& archive, PublishNames& m) {
  archive(m.by, m.names);
}
inline bool is_valid(const PublishNames& m) {
  return !m.names.empty();
}

struct NameStatus {
  static constexpr std::uint16_t wire_version = 1;
  pmix_status_t status = PMIX_SUCCESS;  ///< for the publisher
};
template <class Archive>
void fields(Archive& archive, NameStatus& m) {
  archive(m.status);
}

/// name_look_up: to the keeper of these keys. Replied to with LookedUp.
struct LookUpNames {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t id = 0;  ///< of the requester's server, for EndWait
  Looker looker;
  std::vector<std::string> keys;
  bool waits = false;  ///< of one key: the reply comes when it is in sight, or at an EndWait
};
template <class Archive>
void fields(Archive& archive, LookUpNames& m) {
  archive(m.id, m.looker, m.keys, m.waits);
}
inline bool is_valid(const LookUpNames& m) {
  return !m.keys.empty() && (!m.waits || m.keys.size() == 1);
}

struct SeenName {
  Sight sight = Sight::none;
  std::string nspace{};  ///< of the publisher
  std::uint32_t rank = 0;
  std::vector<std::byte> value{};
  bool is_taken = false;  ///< it has gone with this look
};
template <class Archive>
void fields(Archive& archive, SeenName& m) {
  archive(m.sight, m.nspace, m.rank, m.value, m.is_taken);
}
inline bool is_valid(const SeenName& m) {
  return m.sight <= Sight::seen && m.nspace.size() <= PMIX_MAX_NSLEN;
}

struct LookedUp {
  static constexpr std::uint16_t wire_version = 1;
  std::vector<SeenName> seen;  ///< of each key
};
template <class Archive>
void fields(Archive& archive, LookedUp& m) {
  archive(m.seen);
}

/// name_wait_over: the lookup of that id waits no more; its own reply says so.
struct EndWait {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t id = 0;
  std::string key;
};
template <class Archive>
void fields(Archive& archive, EndWait& m) {
  archive(m.id, m.key);
}

struct NameOfCall {
  std::string key;
  std::uint64_t number = 0;  ///< Publication::number
};
template <class Archive>
void fields(Archive& archive, NameOfCall& m) {
  archive(m.key, m.number);
}

/// name_forget: to the keeper, from the origin of these names. Replied to without a body.
struct ForgetNames {
  static constexpr std::uint16_t wire_version = 1;
  std::vector<NameOfCall> names;
};
template <class Archive>
void fields(Archive& archive, ForgetNames& m) {
  archive(m.names);
}
inline bool is_valid(const ForgetNames& m) {
  return !m.names.empty();
}

/// name_taken: to the origin: a process has read a name that goes with that. Replied to without a body.
struct NameTaken {
  static constexpr std::uint16_t wire_version = 1;
  pmix_proc_t publisher{};
  NameOfCall name;
};
template <class Archive>
void fields(Archive& archive, NameTaken& m) {
  archive(m.publisher, m.name);
}

/// name_copies: the sender keeps, from now on, the keys of that home. Replied to with NameCopies.
struct CopyRequest {
  static constexpr std::uint16_t wire_version = 1;
  NodeNumber home = 0;
};
template <class Archive>
void fields(Archive& archive, CopyRequest& m) {
  archive(m.home);
}

/// What processes of that node have published of them.
struct NameCopies {
  static constexpr std::uint16_t wire_version = 1;
  std::vector<PublishNames> published;
};
template <class Archive>
void fields(Archive& archive, NameCopies& m) {
  archive(m.published);
}

}  // namespace weft::server
