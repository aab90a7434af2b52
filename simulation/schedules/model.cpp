// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/model.hpp"

#include <algorithm>

namespace weft::simulation {
namespace {

std::uint32_t ns(double value) noexcept {
  return static_cast<std::uint32_t>(std::clamp(value + 0.5, 0.0, 1e9));
}

}  // namespace

collectives::Costs model_of(const Costs& costs) noexcept {
  collectives::Costs out;
  out.source = collectives::Costs::Source::measured;
  out.cores = costs.server.cores;
  out.latency = ns(static_cast<double>(costs.message.latency + costs.server.turn));
  // A sender goes on when both the processor and the card can take the next one.
  out.message =
      ns(static_cast<double>(std::max(costs.message.overhead, costs.message.gap) + costs.server.message));
  out.wire_kib = ns(costs.message.gap_per_byte * 1024);
  out.work_kib = ns(costs.server.byte * 1024);
  return out;
}

}  // namespace weft::simulation
