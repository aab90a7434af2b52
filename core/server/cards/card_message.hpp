// SPDX-License-Identifier: BSD-3-Clause
// The request "card" between servers, and its reply: the card of a rank, from the server of its node.
#pragma once

#include <optional>
#include <string>

#include "core/data/wire.hpp"
#include "core/server/types.hpp"

namespace weft::server {

struct CardMessage {
  std::string nspace;
  std::uint32_t rank = 0;
  std::uint64_t from = 0;    ///< up to here the requester knows the rank's log
  std::uint64_t beyond = 0;  ///< the reply comes when the log is longer than this,
  bool waits = true;         ///< or at once

  Blob encode() const {
    data::Writer out;
    out.text(nspace);
    out.u32(rank);
    out.u64(from);
    out.u64(beyond);
    out.u8(waits ? 1 : 0);
    return std::move(out).take();
  }
  static std::optional<CardMessage> decode(Bytes body) {
    data::Reader in(body);
    CardMessage out;
    out.nspace = in.text();
    out.rank = in.u32();
    out.from = in.u64();
    out.beyond = in.u64();
    out.waits = in.u8() != 0;
    return in.done() ? std::optional(std::move(out)) : std::nullopt;
  }
};

/// The reply of a rank that has committed. cards: as store::BlobWriter makes them.
struct CardMessageReply {
  std::uint64_t end = 0;  ///< length of the rank's log
  Blob cards;

  Blob encode() const {
    data::Writer out;
    out.u64(end);
    out.bytes(cards);
    return std::move(out).take();
  }
  static std::optional<CardMessageReply> decode(Bytes body) {
    data::Reader in(body);
    CardMessageReply out;
    out.end = in.u64();
    const Bytes cards = in.bytes();
    out.cards.assign(cards.begin(), cards.end());
    return in.done() ? std::optional(std::move(out)) : std::nullopt;
  }
};

}  // namespace weft::server
