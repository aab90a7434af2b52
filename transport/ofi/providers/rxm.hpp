// SPDX-License-Identifier: BSD-3-Clause
// The queues and buffers of ofi_rxm over verbs, made to fit the card, the cluster and the memory that may be
// locked.
//
// ofi_rxm makes one completion queue for all its connections, with room for (transmits + receives of a
// connection) x peers, by default 65,536 entries; a card that allows fewer (Soft-RoCE: 32,767) refuses it,
// and with more than 256 peers it overruns (fi_rxm(7)). The provider reads these numbers from the environment
// when libfabric is first asked for anything in the process, and nowhere else, so they stand in the
// environment during that call, where the user has not chosen them.
//
// The provider registers 2,048 buffers when it opens, and as many as a receive queue is long for each
// connection: with its own 16 KiB that is 34 MiB of pinned memory, more than the 8 MiB that a user may lock
// on most systems (docs/fabrics.md has the figures).
//
// The provider would keep what is registered in a cache, and others could go on reading a region that its
// owner has closed: so it has none (FI_MR_CACHE_MAX_COUNT). Servers register a few regions a job.
//
// ofi_rxm of libfabric before 2.7 ends the process when a connection is closed, by this side or the other,
// and what had come over it still lies in the queue (its issue 11828): so one look at the queue empties it
// (FI_OFI_RXM_COMP_PER_PROGRESS), instead of taking one entry, and an endpoint waits before it closes
// (OfiEndpoint::drain).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/base/lent_environment.hpp"

namespace weft::ofi {

struct RxmSizes {
  std::uint32_t peers = 256;    ///< FI_UNIVERSE_SIZE
  std::uint32_t queue = 64;     ///< FI_OFI_RXM_MSG_TX_SIZE and FI_OFI_RXM_MSG_RX_SIZE, of each connection
  std::uint32_t buffer = 2048;  ///< FI_OFI_RXM_BUFFER_SIZE, bytes; longer messages go in pieces
  bool operator==(const RxmSizes&) const = default;
};

/// Sizes for so many nodes (0: not known) on a card whose completion queues have at most `entries`: room for
/// a third more connections than there are nodes, since one that is replaced has its entries for a while.
/// Where even the shortest queues do not fit, the shortest.
RxmSizes rxm_sizes(std::uint32_t nodes, std::uint32_t entries) noexcept;

/// The least that any verbs device here allows a completion queue (max_cqe); nothing: there is none, or this
/// is built without libibverbs.
std::optional<std::uint32_t> entries_of_devices();

/// The variables above, as long as it lives.
class RxmEnvironment : private transport::LentEnvironment {
 public:
  /// Without sizes, which are only known of cards that libibverbs knows, those of ofi_rxm stand; there is no
  /// cache in any case.
  explicit RxmEnvironment(const std::optional<RxmSizes>& sizes);
};

}  // namespace weft::ofi
