// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/choices/choices.hpp"

#include <algorithm>
#include <array>

namespace weft::server {
namespace {

constexpr std::array<std::uint64_t, 5> sizes{64, 1024, 16'384, 262'144, 1'048'576};

ChoiceEntry entry_of(std::uint64_t bytes, const collectives::Rule::Reason& why) {
  return {bytes, collectives::to_text(why.chosen), collectives::to_text(why.other),
          static_cast<std::uint64_t>(why.cost), static_cast<std::uint64_t>(why.other_cost)};
}

/// A node that has not answered in time is there all the same.
bool takes_part(NodeEntry::State state) {
  return state == NodeEntry::State::here || state == NodeEntry::State::silent ||
         state == NodeEntry::State::unreadable;
}

}  // namespace

void add_choices(const collectives::Engine::Options& engine, ClusterReport& report) {
  const auto n = static_cast<std::uint32_t>(
      std::count_if(report.nodes.begin(), report.nodes.end(),
                    [](const NodeEntry& node) { return takes_part(node.state); }));
  if (n < 2) return;
  const auto& rule = *engine.rule;
  report.costs = collectives::to_text(rule.costs());
  report.choices.push_back(entry_of(0, rule.why_barrier(n)));
  for (const auto bytes : sizes)
    report.choices.push_back(entry_of(bytes, rule.why_exchange(n, bytes, engine.most_eager(n))));
}

}  // namespace weft::server
