// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/providers/rxm.hpp"

#include <algorithm>

#ifdef WEFT_HAS_VERBS
#include <infiniband/verbs.h>
#endif

namespace weft::ofi {
namespace {

constexpr std::uint32_t shortest_queue = 8, completions_at_once = 1024;

}  // namespace

RxmSizes rxm_sizes(std::uint32_t nodes, std::uint32_t entries) noexcept {
  const RxmSizes usual;
  RxmSizes out;
  // Few peers make small queues, which costs nothing: a queue of 65,536 entries takes 4 MiB of pinned memory.
  out.peers = nodes == 0 ? usual.peers : std::max<std::uint32_t>(16, nodes + (nodes + 2) / 3);
  const auto each = std::uint64_t{entries} / (2 * std::uint64_t{out.peers});
  out.queue = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, shortest_queue, usual.queue));
  return out;
}

std::optional<std::uint32_t> entries_of_devices() {
  std::optional<std::uint32_t> least;
#ifdef WEFT_HAS_VERBS
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  if (devices == nullptr) return least;
  for (int i = 0; i < count; ++i) {
    ibv_context* const context = ibv_open_device(devices[i]);
    if (context == nullptr) continue;
    ibv_device_attr attributes{};
    if (ibv_query_device(context, &attributes) == 0 && attributes.max_cqe > 0) {
      const auto here = static_cast<std::uint32_t>(attributes.max_cqe);
      least = std::min(least.value_or(here), here);
    }
    ibv_close_device(context);
  }
  ibv_free_device_list(devices);
#endif
  return least;
}

RxmEnvironment::RxmEnvironment(const std::optional<RxmSizes>& sizes) {
  set("FI_MR_CACHE_MAX_COUNT", "0");
  if (!sizes) return;
  set("FI_OFI_RXM_COMP_PER_PROGRESS", std::to_string(completions_at_once));
  set("FI_UNIVERSE_SIZE", std::to_string(sizes->peers));
  set("FI_OFI_RXM_MSG_TX_SIZE", std::to_string(sizes->queue));
  set("FI_OFI_RXM_MSG_RX_SIZE", std::to_string(sizes->queue));
  set("FI_OFI_RXM_BUFFER_SIZE", std::to_string(sizes->buffer));
}

}  // namespace weft::ofi
