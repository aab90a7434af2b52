// SPDX-License-Identifier: BSD-3-Clause
// A figure that a server reports of itself. Each room has a table of its own beside its class;
// reports/counters.cpp puts them in order.
#pragma once

#include <cstdint>

namespace weft::server {

/// What a figure is: things that have happened since the start of the server, or how many there are now.
enum class Measure : std::uint8_t { events, bytes, things_now, bytes_now };

template <class Room>
struct Counter {
  const char* name;  ///< as tools print it
  const char* text;  ///< what it counts
  std::uint64_t (*get)(Room&);
  Measure measure = Measure::events;
};

}  // namespace weft::server
