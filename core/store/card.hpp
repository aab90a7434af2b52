// SPDX-License-Identifier: BSD-3-Clause
// Cards outside the segment: the bytes that a fence or a direct modex carries between nodes.
//
//   node blob = u32 magic, u32 bytes, then cards
//   card      = text nspace (empty: as the card before), u32 rank, u32 from / 8, u32 to / 8, u32 bytes, then records
//   record    = u8 scope, text key, bytes value
//
// Hosts hand back the blobs of all nodes one after the other, in any order; read_cards() walks them all.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/data/wire.hpp"
#include "core/store/keyed_log.hpp"

namespace weft::store {

class BlobWriter {
 public:
  BlobWriter();
  /// Every record that other nodes may see (scope remote or global), from byte `from` of the card's log on; nothing where
  /// there is none. How far other nodes then know it. Errors: corrupt.
  Result<std::uint64_t> add(std::string_view nspace, std::uint32_t rank, const KeyedLog& card,
                            std::uint64_t from = 0);
  std::vector<std::byte> finish() &&;

 private:
  data::Writer out_;
  std::string nspace_;  ///< of the card before
};

struct CardRecord {
  std::uint8_t scope;
  std::string_view key;
  Bytes value;
};

/// What one rank committed between two positions of its log. Borrows from the bytes that it was read from.
struct Card {
  std::string_view nspace;
  std::uint32_t rank;
  std::uint64_t from, to;
  std::span<const CardRecord> records;  ///< for other nodes, oldest first
};

/// Calls see() with each card that is whole. Errors: corrupt, with nothing said about the cards that were seen before.
Result<void> read_cards(Bytes blobs, const std::function<void(const Card&)>& see);

/// How a card lies on its own node (JobHeader::card_first, card_capacity of the job there): `first` bytes of data follow
/// the log's header in its page, the other capacity - first bytes lie elsewhere (Local::card_rest).
struct CardShape {
  std::uint64_t first;
  std::uint64_t capacity;
};

/// Data of a card from byte `from` on, which is the end of a record: as much as was read of each piece.
struct CardWindow {
  std::uint64_t from = 0;
  Bytes page, rest;
};

struct CardImage {
  std::uint64_t published = 0;  ///< bytes of data that the rank has committed; 0: nothing yet
  bool whole = false;           ///< all of them from `from` on were at hand
  std::uint64_t page_bytes = 0, rest_bytes = 0;  ///< of each piece, from `from` on: that hold them all
  std::vector<CardRecord> records;               ///< for other nodes, oldest first; only where it is whole
};

/// A card, or what is new of it, as bytes that were read from another node's memory. header: KeyedLog::Header, or the
/// start of it with the published length. A pure function that trusts no byte; the records borrow from the window.
/// Errors: corrupt (a length that cannot be). again: the bytes do not agree with each other, because the rank was
/// writing while they were read. Read the same once more: what the first image said to be published is then complete,
/// and if it still does not agree, its writer damaged it.
Result<CardImage> read_card_image(Bytes header, const CardWindow& window, CardShape shape);

}  // namespace weft::store
