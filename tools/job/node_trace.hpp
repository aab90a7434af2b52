// SPDX-License-Identifier: BSD-3-Clause
// What a node has of the trace of a job (docs/scale/trace.md).
#pragma once

#include <cstdint>

#include "base/trace.hpp"

namespace weft::job {

/// Times are nanoseconds of the node's CLOCK_MONOTONIC.
struct NodeTrace {
  std::uint64_t ordered = 0;  ///< the order to launch was here
  std::uint64_t started = 0;  ///< its ranks were, before it has reported so; 0: it never came so far
  base::ServerTrace server{};
};
template <class Archive>
void fields(Archive& archive, NodeTrace& trace) {
  archive(trace.ordered, trace.started, trace.server);
}

}  // namespace weft::job
