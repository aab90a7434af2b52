// SPDX-License-Identifier: BSD-3-Clause
// What one node hands to a fence, as bytes between nodes: blobs of several kinds, one after the other.
//
//   blob = u32 kind, u32 bytes, the body of that kind
//
// A host returns the blobs of all nodes one after the other, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/data/types/wire.hpp"

namespace weft::store {

enum class BlobKind : std::uint32_t {
  cards = 0x32424657,      ///< "WFB2": core/store/cards/card.hpp
  generated = 0x31474657,  ///< "WFG1": core/server/fences/exchange/generated_info.hpp
  group = 0x31504657,      ///< "WFP1": core/server/groups/table/group_part.hpp
  failure = 0x31464657,    ///< "WFF1": i32 status with which the fence failed on that node
};

/// Begins a blob; finish_blob() ends it.
data::Writer begin_blob(BlobKind kind);
std::vector<std::byte> finish_blob(data::Writer blob);

/// The blob of a node where the fence failed. status: not PMIX_SUCCESS.
std::vector<std::byte> failure_blob(std::int32_t status);

/// Calls see() with each blob. Errors: corrupt (also a kind that is not known here); see() may have been
/// called for those before.
Result<void> read_blobs(Bytes blobs, const std::function<void(BlobKind, Bytes body)>& see);

/// How many blobs of that kind there are; 0 where they are damaged.
std::size_t count_blobs(Bytes blobs, BlobKind kind);

/// The status of the first node where the fence failed; 0: there is none.
std::int32_t failure_in(Bytes blobs);

}  // namespace weft::store
