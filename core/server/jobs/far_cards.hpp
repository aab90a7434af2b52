// SPDX-License-Identifier: BSD-3-Clause
// Cards of ranks on other nodes, on their way into the segment; of one that the segment has no room for, what
// the Get that fetched it reads, once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/server/jobs/jobs.hpp"
#include "core/store/cards/card.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {

struct UnkeptCard {
  std::uint32_t rank = 0;
  std::vector<std::byte> bytes;
  std::vector<store::CardRecord> records;  ///< oldest first; in `bytes`

  explicit UnkeptCard(const store::Card& card);
  UnkeptCard(UnkeptCard&&) = default;
  UnkeptCard& operator=(UnkeptCard&&) = default;
};

/// The newest value that this rank gave to the key, for a caller on another node. Errors: not_found,
/// outside_scope.
Result<store::Encoded> find_in(const std::vector<UnkeptCard>& cards, std::uint32_t rank, std::string_view key,
                               const store::GetDirectives& how);

/// The results of take_cards() beside its status.
struct BesideCards {
  /// Gets the ranks of whose cards something in between is missing here; without it that is an error.
  Procs* behind = nullptr;
  std::vector<UnkeptCard>* unkept = nullptr;  ///< gets what is left out
  /// Of cards that come together: what those of one job may rest on in the segment (JobWriter::add_card).
  store::RemoteCards::Link* base = nullptr;
};
/// Cards of other nodes, from a fence or a fetch: appended for every client of this node. Records before a
/// malformed byte are kept. A card that there is no room for is left out, which is no error: a Get of what
/// is in it finds nothing here that is older, and fetches it again. PMIX_ERR_UNPACK_FAILURE,
/// PMIX_ERR_OUT_OF_RESOURCE.
pmix_status_t take_cards(Jobs& jobs, Bytes blobs, BesideCards beside);
pmix_status_t take_card(Jobs& jobs, const store::Card& card, BesideCards beside);

}  // namespace weft::server
