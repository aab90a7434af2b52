// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm a collective takes. Every member computes the same choice, from numbers that all of them
// know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/schedules/schedules.hpp"
#include "weft/result.hpp"

namespace weft::collectives {

enum class Algorithm : std::uint8_t { dissemination, bruck, recursive_doubling, ring, tree };

struct Choice {
  Algorithm algorithm = Algorithm::bruck;
  std::uint32_t width = 1;   ///< ports of dissemination, arity of tree
  std::uint32_t chunks = 1;  ///< of tree
};

Schedule schedule_for(const Choice& choice, std::uint32_t n, Index me);

/// "bruck", "recursive_doubling", "ring", "tree[:arity[:chunks]]", "dissemination[:ports]", as
/// WEFT_COLLECTIVE has it.
/// Errors: invalid.
Result<Choice> parse_choice(std::string_view text);
std::string to_text(const Choice& choice);

/// The choice without WEFT_COLLECTIVE: two measured thresholds, not a cost model. A barrier is a
/// dissemination; an exchange is Bruck's, or a ring where contributions are large on average (32 KiB) and
/// even (the largest at most 4 times the average). recursive_doubling and tree are taken on request only.
class Rule {
 public:
  Rule() = default;
  /// For every collective that it can do: an exchange for exchanges, a barrier for barriers.
  explicit Rule(const Choice& forced) : forced_(forced), is_forced_(true) {}

  Choice barrier(std::uint32_t n) const noexcept;
  /// bytes: of all contributions together, of which the largest has `largest`.
  Choice exchange(std::uint32_t n, std::uint64_t bytes, std::uint64_t largest) const noexcept;

 private:
  Choice forced_;
  bool is_forced_ = false;
};

}  // namespace weft::collectives
