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
  const auto operation = to_text(part.name.operation);
  return fmt::format("node {}: {} of{}, {} of {} ranks have come{}{}{}{}", node,
                     operation.empty() ? "fence" : operation, procs, part.arrived, part.ranks,
                     missing.empty() ? "" : ", without", missing, nodes.empty() ? "" : ", waits for nodes",
                     nodes);
}

}  // namespace

std::vector<std::string> open_at(simulation::World& world) {
  std::vector<std::string> out;
  for (server::NodeNumber number = 0; number < world.nodes(); ++number) {
    auto* const node = world.node(number);
    if (node == nullptr) continue;
    for (const auto& part : node->rooms().fences.open_parts()) out.push_back(text_of(number, part));
    for (const auto& part : node->rooms().group_reports.open_parts()) out.push_back(text_of(number, part));
  }
  return out;
}

std::vector<std::string> kept_at(simulation::World& world, const std::vector<bool>& is_left,
                                 bool has_missed) {
  std::vector<std::string> out;
  // A node that has forgotten a job takes no part in what names it: what comes of that stays.
  bool is_any_for_lost = false;
  for (simulation::JobNumber job = 1; job < world.places().jobs(); ++job)
    is_any_for_lost |= world.end_of(job).has_value();
  for (server::NodeNumber number = 0; number < world.nodes(); ++number) {
    if (!is_left[number]) continue;
    for (const auto& part : world.node(number)->rooms().group_reports.open_parts())
      is_any_for_lost |= has_missed && part.arrived == 0;
  }
  for (server::NodeNumber number = 0; number < world.nodes(); ++number) {
    if (!is_left[number]) continue;
    auto& node = *world.node(number);
    auto& rooms = node.rooms();
    bool is_for_lost = false;
    const auto& servers = node.cluster().servers();
    bool keeps_for_left = false;
    for (server::NodeNumber other = 0; other < world.nodes(); ++other)
      keeps_for_left |= servers.has_left(other) && !servers.is_lost(other);
    auto parts = rooms.fences.open_parts();
    for (auto& part : rooms.group_reports.open_parts()) parts.push_back(std::move(part));
    for (const auto& part : parts) {
      is_for_lost |= has_missed && part.arrived == 0;
      if (!has_missed || part.arrived != 0)
        out.push_back("nothing is called, and still open is " + text_of(number, part));
    }
    const std::pair<const char*, std::size_t> counts[] = {
        {"collectives", is_for_lost ? 0 : node.cluster().engine().open().size()},
        {"undecided collectives", node.cluster().engine().has_undecided() ? 1 : 0},
        {"bytes of early messages",
         is_any_for_lost || keeps_for_left ? 0 : node.cluster().engine().counters().awaited_bytes},
        {"Gets", rooms.gets.waiting()},
        {"questions", rooms.questions.open()},
        {"acceptances of invitations", rooms.invited.joining()},
        {"changes of members", rooms.memberships.open()},
        {"requests about names", rooms.published.open()},
        {"outputs that no process has taken", node.undelivered()},
    };
    for (const auto& [what, count] : counts)
      if (count != 0)
        out.push_back(fmt::format("nothing is called, and node {} keeps {} {}", number, count, what));
  }
  return out;
}

}  // namespace weft::schedules
