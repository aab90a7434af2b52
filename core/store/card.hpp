// SPDX-License-Identifier: BSD-3-Clause
// Cards outside the segment: the bytes that a fence or a direct modex carries between nodes.
//
//   node blob = u32 magic, u32 bytes, then cards;  card = text nspace, u32 rank, u32 bytes, then records
//   record    = u8 scope, text key, bytes value
//
// Hosts hand back the blobs of all nodes one after the other, in any order; read_cards() walks them all.
#pragma once

#include <functional>

#include "core/data/wire.hpp"
#include "core/store/keyed_log.hpp"

namespace weft::store {

class BlobWriter {
 public:
  BlobWriter();
  /// Every record that other nodes may see (scope remote or global), from byte `from` of the card on.
  Result<void> add(std::string_view nspace, std::uint32_t rank, const KeyedLog& card, std::uint64_t from = 0);
  std::vector<std::byte> finish() &&;

 private:
  data::Writer out_;
};

struct CardRecord {
  std::string_view nspace;
  std::uint32_t rank;
  std::uint8_t scope;
  std::string_view key;
  Bytes value;
};

/// Errors: corrupt, with nothing said about the records that were seen before it.
Result<void> read_cards(Bytes blobs, const std::function<void(const CardRecord&)>& see);

}  // namespace weft::store
