// SPDX-License-Identifier: BSD-3-Clause
// A figure that a server reports of itself. Each room has a table of its own beside its class;
// reports/counters.cpp puts them in order.
#pragma once

#include <cstdint>

namespace weft::server {

template <class Room>
struct Counter {
  const char* name;  ///< as tools print it
  const char* text;  ///< what it counts, from the start of the server
  std::uint64_t (*get)(Room&);
};

}  // namespace weft::server
