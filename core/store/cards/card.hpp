// SPDX-License-Identifier: BSD-3-Clause
// Cards outside the segment: the bytes that a fence or a direct modex carries between nodes.
//
//   body of a blob of cards (blob.hpp) = cards
//   card      = text nspace (empty: as the card before), u32 rank, u32 from / 8, u32 to / 8, u32 bytes,
//               then records
//   record    = u8 scope, text key, bytes value
//
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/store/cards/blob.hpp"
#include "core/store/cards/keyed_log.hpp"

namespace weft::store {

class BlobWriter {
 public:
  /// most: bytes of the blob; its lengths have 32 bits.
  explicit BlobWriter(std::uint64_t most = 0xffffffff);
  /// Adds every record that other nodes may see (scope remote or global) from byte `from` of the card's log
  /// on; adds no card if there is none. Returns the position up to which other nodes know the card then.
  /// Errors, with nothing added: corrupt, no_space (the blob would be larger than it may be).
  Result<std::uint64_t> add(std::string_view nspace, std::uint32_t rank, const KeyedLog& card,
                            std::uint64_t from = 0);
  std::vector<std::byte> finish() &&;

 private:
  data::Writer out_;
  const std::uint64_t most_;
  std::string nspace_;  ///< of the card added before
};

struct CardRecord {
  std::uint8_t scope;
  std::string_view key;
  Bytes value;
};

/// The records that a rank committed between two positions of its log. Borrows from the bytes that it was
/// read from.
struct Card {
  std::string_view nspace;
  std::uint32_t rank;
  std::uint64_t from, to;
  std::span<const CardRecord> records;  ///< for other nodes, oldest first
};

/// Calls see() with each complete card of all blobs of cards. Errors: corrupt; see() may have been called for
/// cards before the damaged one.
Result<void> read_cards(Bytes blobs, const std::function<void(const Card&)>& see);

/// The layout of a card on its own node (JobHeader::card_first and card_capacity of the job there): `first`
/// bytes of data follow the header of the log in its page, the other capacity - first bytes are elsewhere
/// (Local::card_rest).
struct CardShape {
  std::uint64_t first;
  std::uint64_t capacity;
};

/// Data of a card from byte `from` on, which must be the end of a record: as much of each piece as was read.
struct CardWindow {
  std::uint64_t from = 0;
  Bytes page, rest;
};

struct CardImage {
  std::uint64_t published = 0;  ///< bytes of data that the rank has committed; 0: none yet
  bool whole = false;           ///< all bytes from `from` on were in the window
  /// Bytes of each piece, from `from` on, that contain all of them.
  std::uint64_t page_bytes = 0, rest_bytes = 0;
  std::vector<CardRecord> records;  ///< for other nodes, oldest first; only if whole
};

/// Parses a card, or the part of it after `from`, from bytes that were read from another node's memory.
/// header: KeyedLog::Header, or the start of it with the published length. A pure function that trusts no
/// byte; the records borrow from the window.
/// Errors: corrupt (an impossible length). again: the bytes do not agree with each other, because the rank
/// was writing while they were read, or they are not what it wrote. The caller then reads the same range once
/// more: by then everything that the first image declared as published is complete; if the bytes still do not
/// agree, the rank has damaged its card.
Result<CardImage> read_card_image(Bytes header, const CardWindow& window, CardShape shape,
                                  const RecordCheck& check);

}  // namespace weft::store
