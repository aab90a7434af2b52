// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/printed.hpp"

#include <algorithm>
#include <utility>

namespace weft::simulation {

void Printed::print(const std::vector<NodeNumber>& to, Text text, TimePoint now) {
  for (const auto node : to) {
    const std::chrono::microseconds delay(random_() % (random_() % 8 == 0 ? 3000 : 60));
    last_[node] = std::max(last_[node], now + delay);
    text.node = node;
    texts_.emplace(last_[node], text);
  }
}

std::optional<Printed::Text> Printed::take(TimePoint now) {
  if (next() > now) return std::nullopt;
  return std::move(texts_.extract(texts_.begin()).mapped());
}

/// What comes behind it is put off as well, when it is taken, and so behind it.
void Printed::put_off(Text text, TimePoint until) {
  last_[text.node] = std::max(last_[text.node], until);
  texts_.emplace(until, std::move(text));
}

}  // namespace weft::simulation
