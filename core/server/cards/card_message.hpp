// SPDX-License-Identifier: BSD-3-Clause
// The request "card" between servers, and its reply: the card of a rank, from the server of its node.
#pragma once

#include <string>

#include "base/wire.hpp"
#include "core/server/types.hpp"

namespace weft::server {

struct CardMessage {
  std::string nspace;
  std::uint32_t rank = 0;
  std::uint64_t from = 0;    ///< up to here the requester knows the rank's log
  std::uint64_t beyond = 0;  ///< the reply comes when the log is longer than this,
  bool waits = true;         ///< or at once
};
template <class Archive>
void fields(Archive& archive, CardMessage& m) {
  archive(m.nspace, m.rank, m.from, m.beyond, m.waits);
}

/// The reply of a rank that has committed. cards: as store::BlobWriter makes them.
struct CardMessageReply {
  std::uint64_t end = 0;  ///< length of the rank's log
  Blob cards;
};
template <class Archive>
void fields(Archive& archive, CardMessageReply& m) {
  archive(m.end, m.cards);
}

}  // namespace weft::server
