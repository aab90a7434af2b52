// SPDX-License-Identifier: BSD-3-Clause
// The credential that the servers of a run make themselves: which process its owner is, and which user the
// kernel has named for it, under a MAC whose key only these servers have. Pure functions.
//
//   "WEFT:" base64(owner, time, nonce; HMAC-SHA-512-256 of these) NUL
//
// Time      A token counts for `lifetime` from its time, by the clock of the server that checks it; clocks of
//           nodes may differ by most_skew.
// Replay    A token is not used up: whatever process it is shown to may have it checked, on each node, until
//           it expires. A process that wants each token once compares the bytes with those it has seen: no
//           two are equal.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.hpp"
#include "weft/result.hpp"

namespace weft::server {

using CredentialKey = std::array<std::uint8_t, 32>;

/// Seconds since 1970.
using WallTime = std::chrono::seconds;

struct CredentialOwner {
  std::uint32_t uid = 0, gid = 0;
  std::string nspace;
  std::uint32_t rank = 0;

  bool operator==(const CredentialOwner&) const = default;
};
template <class Archive>
void fields(Archive& archive, CredentialOwner& m) {
  archive(m.uid, m.gid, m.nspace, m.rank);
}

struct RunToken {
  static constexpr std::string_view prefix = "WEFT:";
  static constexpr std::chrono::seconds lifetime{300}, most_skew{60};
  /// Longer text is none.
  static constexpr std::size_t most_bytes = 1024;

  CredentialOwner owner;
  std::uint64_t issued = 0;  ///< WallTime
  std::array<std::uint8_t, 16> nonce{};

  /// With the NUL at its end, so that a program may print it.
  static std::vector<std::byte> make(const CredentialOwner& owner, WallTime now, const CredentialKey& key);
  /// text: with a NUL at its end, or without. Errors: corrupt (no such token), denied (another key's, or
  /// changed), timeout (expired, or of a time to come).
  static Result<CredentialOwner> check(std::string_view text, WallTime now, const CredentialKey& key);
};
template <class Archive>
void fields(Archive& archive, RunToken& m) {
  archive(m.owner, m.issued, m.nonce);
}

/// The text of a credential: its bytes without a NUL at their end.
std::string_view text_of_credential(Bytes credential) noexcept;

}  // namespace weft::server
