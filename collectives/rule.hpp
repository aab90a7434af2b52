// SPDX-License-Identifier: BSD-3-Clause
// The choice without WEFT_COLLECTIVE: the algorithm that the cost model has as the cheapest. Every member
// computes the same one, as all have the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "collectives/cost.hpp"

namespace weft::collectives {

class Rule {
 public:
  Rule() = default;
  /// forced: for every collective that it can do: bruck, recursive_doubling and ring for exchanges,
  /// dissemination for barriers, tree for both.
  explicit Rule(const std::optional<Choice>& forced, const Costs& costs = Costs{})
      : forced_(forced), costs_(costs) {}

  /// From the next collective on.
  void take(const Costs& costs) noexcept { costs_ = costs; }
  const Costs& costs() const noexcept { return costs_; }
  const std::optional<Choice>& forced() const noexcept { return forced_; }

  Choice barrier(std::uint32_t n) const noexcept;
  /// bytes: of all contributions together, of which the largest has `largest`.
  Choice exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t largest) const noexcept;
  /// Of contributions that may have up to so many bytes each, or next to none: what is never far from the
  /// best.
  Choice exchange_up_to(std::uint32_t n, std::uint64_t most) const noexcept;

  /// What a choice rests on: what it takes, and the cheapest of the others. ns, as cost_of() has it.
  struct Reason {
    Choice chosen, other;
    double cost = 0, other_cost = 0;
  };
  Reason why_barrier(std::uint32_t n) const;
  /// Where each member gives so many bytes. most: known to have no more before they are exchanged.
  Reason why_exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t most) const;

  /// What is chosen among, the usual one first: another one has to be a tenth cheaper. Where members share
  /// processors the usual one is a tree of few messages, and another has to be three tenths cheaper.
  static std::span<const Choice> barriers() noexcept;
  static std::span<const Choice> exchanges() noexcept;

 private:
  bool is_forced_exchange() const noexcept {
    return forced_ && forced_->algorithm != Algorithm::dissemination;
  }

  std::optional<Choice> forced_;
  Costs costs_;
};

}  // namespace weft::collectives
