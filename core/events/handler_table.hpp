// SPDX-License-Identifier: BSD-3-Clause
// The registered handlers in the order in which an event visits them. Not thread-safe.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/events/handler.hpp"

namespace weft::events {

using HandlerRef = std::shared_ptr<Handler>;

class HandlerTable {
 public:
  /// Error: no_space (another handler has the only position of that kind); the table is unchanged.
  Result<void> add(HandlerRef handler);
  HandlerRef find(std::size_t id) const;
  void remove(std::size_t id);
  std::size_t size() const noexcept;
  bool names(pmix_status_t code) const noexcept;

  /// The live handlers that match and are not catching up, in the order of calls: `first`, one code, several
  /// codes, any code, `last`. In a category the latest comes first unless it was appended (Observed with
  /// OpenPMIx 4.2.2; the Standard leaves it open); then before/after are honoured for neighbours that are in
  /// this chain and in the same category.
  std::vector<HandlerRef> chain_for(const Event& event, const Identity& identity) const;

 private:
  using List = std::vector<HandlerRef>;
  List& list_of(const HandlerSpec& spec) noexcept;

  std::array<List, 5> lists_;  // first, the three categories, last
};

}  // namespace weft::events
