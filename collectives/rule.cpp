// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/rule.hpp"

#include <array>

namespace weft::collectives {
namespace {

using A = Algorithm;
constexpr std::array of_barriers{Choice{A::dissemination, 1, 1}, Choice{A::dissemination, 2, 1},
                                 Choice{A::dissemination, 3, 1}, Choice{A::dissemination, 7, 1},
                                 Choice{A::tree, 2, 1},          Choice{A::tree, 4, 1},
                                 Choice{A::tree, 8, 1},          Choice{A::tree, 16, 1}};
constexpr std::array of_exchanges{Choice{A::bruck, 1, 1}, Choice{A::ring, 1, 1}, Choice{A::tree, 2, 1},
                                  Choice{A::tree, 4, 1},  Choice{A::tree, 8, 1}, Choice{A::tree, 16, 1}};
/// The usual one where servers share processors: of what costs the same, the one that wakes the fewest is the
/// fastest there.
constexpr Choice fewest_messages{A::tree, 16, 1};
constexpr double worth_it = 0.9;

Choice cheapest(std::span<const Choice> choices, std::uint32_t n, std::uint64_t bytes, std::uint64_t largest,
                const Costs& costs) noexcept {
  if (n <= 2) return choices.front();  // all are one message each way
  auto best = costs.cores == 0 ? choices.front() : fewest_messages;
  auto least = worth_it * cost_of(best, n, bytes, largest, costs);
  for (const auto& choice : choices)
    if (const auto cost = cost_of(choice, n, bytes, largest, costs); cost < least) {
      best = choice;
      least = cost;
    }
  return best;
}

Rule::Reason reason_of(const Choice& chosen, std::span<const Choice> choices, std::uint32_t n,
                       std::uint64_t bytes, std::uint64_t largest, const Costs& costs) {
  Rule::Reason out{chosen, chosen, cost_of(chosen, n, bytes, largest, costs), 0};
  for (const auto& choice : choices) {
    if (choice == chosen) continue;
    const auto cost = cost_of(choice, n, bytes, largest, costs);
    if (out.other == chosen || cost < out.other_cost) out.other = choice, out.other_cost = cost;
  }
  return out;
}

}  // namespace

std::span<const Choice> Rule::barriers() noexcept {
  return of_barriers;
}

std::span<const Choice> Rule::exchanges() noexcept {
  return of_exchanges;
}

Choice Rule::barrier(std::uint32_t n) const noexcept {
  const bool can = forced_ && (forced_->algorithm == A::dissemination || forced_->algorithm == A::tree);
  return can ? *forced_ : cheapest(of_barriers, n, 0, 0, costs_);
}

Choice Rule::exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t largest) const noexcept {
  const bool can = forced_ && forced_->algorithm != A::dissemination;
  return can ? *forced_ : cheapest(of_exchanges, n, bytes, largest, costs_);
}

Rule::Reason Rule::why_barrier(std::uint32_t n) const {
  return reason_of(barrier(n), of_barriers, n, 0, 0, costs_);
}

Rule::Reason Rule::why_exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t largest) const {
  return reason_of(exchange(n, bytes, largest), of_exchanges, n, bytes, largest, costs_);
}

}  // namespace weft::collectives
