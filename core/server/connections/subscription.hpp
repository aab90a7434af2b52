// SPDX-License-Identifier: BSD-3-Clause
// Which events a client wants, and which of the kept ones it was sent although it wants them no more.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pmix_common.h"

namespace weft::server {

bool holds(const std::vector<pmix_status_t>& codes, pmix_status_t code);

/// Codes by name; or all events that are for default handlers.
struct EventWishes {
  std::vector<pmix_status_t> codes;
  bool all = false;

  bool empty() const noexcept { return codes.empty() && !all; }
};

class Subscription {
 public:
  /// The side of an event that subscriptions look at. number: among the kept ones.
  struct Kind {
    pmix_status_t code;
    bool is_for_default_handlers;
  };

  const EventWishes& wishes() const noexcept { return wishes_; }
  bool wants(Kind kind) const;
  /// Whether the client was sent the kept event of that number, if its range allows.
  bool has_been_sent(std::uint64_t number, Kind kind) const;

  /// No code that is wanted already.
  void add(const EventWishes& wishes);
  /// Removes wishes; returns those of them that were there. kept: the codes of the kept events; first, last:
  /// their numbers.
  EventWishes remove(const EventWishes& wishes, const std::vector<pmix_status_t>& kept, std::uint64_t first,
                     std::uint64_t last);

 private:
  EventWishes wishes_;
  // Up to which number it was sent the kept events of what it has left: at most those of codes that were kept
  // at the time.
  std::map<pmix_status_t, std::uint64_t> left_codes_;
  std::uint64_t left_all_ = 0;
};

}  // namespace weft::server
