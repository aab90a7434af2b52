// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/choice.hpp"

#include <array>
#include <charconv>

namespace weft::collectives {
namespace {

struct Name {
  std::string_view text;
  Algorithm algorithm;
  unsigned numbers;  ///< that may follow
};
constexpr std::array names{Name{"dissemination", Algorithm::dissemination, 1},
                           Name{"bruck", Algorithm::bruck, 0},
                           Name{"recursive_doubling", Algorithm::recursive_doubling, 0},
                           Name{"ring", Algorithm::ring, 0}, Name{"tree", Algorithm::tree, 2}};
constexpr std::uint32_t most_wide = 65536;
constexpr std::uint32_t usual_arity = 4;

/// Takes ":number" off the front.
Result<std::uint32_t> take_number(std::string_view& rest) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), value);
  if (rest.front() != ':' || error != std::errc{} || value == 0 || value > most_wide)
    return fail(Errc::invalid, "a number from 1 to 65536 has to follow the colon");
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

}  // namespace

Schedule schedule_for(const Choice& choice, std::uint32_t n, Index me) {
  switch (choice.algorithm) {
    case Algorithm::dissemination:
      return dissemination(n, me, choice.width);
    case Algorithm::bruck:
      return bruck(n, me);
    case Algorithm::recursive_doubling:
      return recursive_doubling(n, me);
    case Algorithm::ring:
      return ring(n, me);
    case Algorithm::tree:
      return tree(n, me, choice.width, choice.chunks);
  }
  return {};
}

Result<Choice> parse_choice(std::string_view text) {
  for (const auto& name : names) {
    if (!text.starts_with(name.text)) continue;
    auto rest = text.substr(name.text.size());
    if (!rest.empty() && rest.front() != ':') continue;
    Choice choice{name.algorithm, name.algorithm == Algorithm::tree ? usual_arity : 1, 1};
    std::uint32_t* const numbers[] = {&choice.width, &choice.chunks};
    for (unsigned i = 0; !rest.empty(); ++i) {
      if (i == name.numbers) return fail(Errc::invalid, "more numbers than the algorithm takes");
      const auto number = take_number(rest);
      if (!number) return fail(number.error());
      *numbers[i] = *number;
    }
    return choice;
  }
  return fail(Errc::invalid,
              "none of bruck, recursive_doubling, ring, tree[:arity[:chunks]], dissemination[:ports]");
}

std::string to_text(const Choice& choice) {
  std::string text;
  for (const auto& name : names) {
    if (name.algorithm != choice.algorithm) continue;
    text = name.text;
    if (name.numbers > 0) text += ":" + std::to_string(choice.width);
    if (name.numbers > 1) text += ":" + std::to_string(choice.chunks);
  }
  return text;
}

}  // namespace weft::collectives
