// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/rule.hpp"

#include <algorithm>
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
/// Of its cost, what another one may have at most. There the kernel decides more than the model knows: which
/// process has its turn when.
constexpr double worth_it = 0.9, worth_it_there = 0.7;

/// The usual one, unless another one has so much less. weight(choice): what it costs.
template <class Weight>
Choice least(std::span<const Choice> choices, std::uint32_t n, const Costs& costs, Weight&& weight) noexcept {
  if (n <= 2) return choices.front();  // all are one message each way
  const bool is_shared = costs.cores != 0;
  auto best = is_shared ? fewest_messages : choices.front();
  auto least = (is_shared ? worth_it_there : worth_it) * weight(best);
  for (const auto& choice : choices)
    if (const auto cost = weight(choice); cost < least) {
      best = choice;
      least = cost;
    }
  return best;
}

Choice cheapest(std::span<const Choice> choices, std::uint32_t n, std::uint64_t bytes, std::uint64_t largest,
                const Costs& costs) noexcept {
  return least(choices, n, costs,
               [&](const Choice& choice) { return cost_of(choice, n, bytes, largest, costs); });
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
  return is_forced_exchange() ? *forced_ : cheapest(of_exchanges, n, bytes, largest, costs_);
}

Choice Rule::exchange_up_to(std::uint32_t n, std::uint64_t most) const noexcept {
  if (is_forced_exchange()) return *forced_;
  const auto cost = [&](const Choice& choice, std::uint64_t each) {
    return cost_of(choice, n, n * each, each, costs_);
  };
  auto best_of_few = cost(of_exchanges.front(), 0), best_of_most = cost(of_exchanges.front(), most);
  for (const auto& choice : of_exchanges) {
    best_of_few = std::min(best_of_few, cost(choice, 0));
    best_of_most = std::min(best_of_most, cost(choice, most));
  }
  // Products in place of quotients, of which a cost of 0 has none.
  return least(of_exchanges, n, costs_, [&](const Choice& choice) {
    return std::max(cost(choice, 0) * best_of_most, cost(choice, most) * best_of_few);
  });
}

Rule::Reason Rule::why_barrier(std::uint32_t n) const {
  return reason_of(barrier(n), of_barriers, n, 0, 0, costs_);
}

Rule::Reason Rule::why_exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t most) const {
  const auto chosen = bytes <= most ? exchange_up_to(n, most) : exchange(n, n * bytes, bytes);
  return reason_of(chosen, of_exchanges, n, n * bytes, bytes, costs_);
}

}  // namespace weft::collectives
