// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/counters.hpp"

#include "core/server/cards/modex.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/fences/exchange/card_exchange.hpp"
#include "core/server/fences/fences.hpp"
#include "core/server/published/published.hpp"

namespace weft::server {
namespace {

/// A new table gets its line here.
template <class See>
constexpr void each_table(const CountedRooms& rooms, See&& see) {
  see(fence_counters, rooms.fences);
  see(modex_counters, rooms.modex);
  see(collective_counters, rooms.cluster);
  see(exchange_counters, rooms.exchange);
  see(published_counters, rooms.published);
  see(message_counters, rooms.cluster);
}

}  // namespace

std::vector<Count> counts_of(const CountedRooms& rooms) {
  std::vector<Count> out;
  each_table(rooms, [&](const auto& table, auto* room) {
    for (const auto& counter : table)
      out.push_back({counter.name, counter.text, room == nullptr ? 0 : counter.get(*room), counter.measure});
  });
  return out;
}

std::size_t count_of_counters() noexcept {
  std::size_t out = 0;
  each_table({}, [&](const auto& table, auto*) { out += std::size(table); });
  return out;
}

}  // namespace weft::server
