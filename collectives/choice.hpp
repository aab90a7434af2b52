// SPDX-License-Identifier: BSD-3-Clause
// Algorithms and their names. Which of them a collective takes: rule.hpp.
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

  bool operator==(const Choice&) const = default;
};

Schedule schedule_for(const Choice& choice, std::uint32_t n, Index me);

/// "bruck", "recursive_doubling", "ring", "tree[:arity[:chunks]]", "dissemination[:ports]", as
/// WEFT_COLLECTIVE has it.
/// Errors: invalid.
Result<Choice> parse_choice(std::string_view text);
std::string to_text(const Choice& choice);

}  // namespace weft::collectives
