// SPDX-License-Identifier: BSD-3-Clause
// What is open at the servers of a run.
#include <fmt/format.h>

#include "tests/schedules/record.hpp"

namespace weft::schedules {
namespace {

std::string text_of(server::NodeNumber node, const server::FencePart& part) {
  std::string procs, missing, nodes;
  for (const auto& run : part.name.procs) procs += fmt::format(" {}-{}", run.first, run.last);
  for (const auto& each : part.missing) missing += fmt::format(" {}", each.rank);
  for (const auto each : part.waits_for) nodes += fmt::format(" {}", each);
  return fmt::format("node {}: {} of{}, {} of {} ranks have come{}{}{}{}", node,
                     part.name.operation.empty() ? "fence" : part.name.operation, procs, part.arrived, part.ranks,
                     missing.empty() ? "" : ", without", missing, nodes.empty() ? "" : ", waits for nodes", nodes);
}

}  // namespace

std::vector<std::string> open_at(simulation::World& world) {
  std::vector<std::string> out;
  for (server::NodeNumber number = 0; number < world.nodes(); ++number) {
    auto* const node = world.node(number);
    if (node == nullptr) continue;
    for (const auto& part : node->rooms().fences.open_parts()) out.push_back(text_of(number, part));
    for (const auto& part : node->rooms().gatherings.open_parts()) out.push_back(text_of(number, part));
  }
  return out;
}

}  // namespace weft::schedules
