// SPDX-License-Identifier: BSD-3-Clause
// What the host tells nodes: each hears it after a time of its own, and all of it in the order in which it
// was said.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/server/loop/loop.hpp"
#include "simulation/places.hpp"

namespace weft::simulation {

/// Letter: has a `node`, to which it goes.
template <class Letter>
class Mail {
 public:
  using TimePoint = server::Loop::TimePoint;
  explicit Mail(NodeNumber nodes) : last_(nodes) {}

  void send(Letter letter, std::chrono::microseconds delay, TimePoint now) {
    auto& at = last_[letter.node];
    at = std::max(at, now + delay);
    letters_.emplace(at, std::move(letter));
  }
  /// When the next comes; max(): never.
  TimePoint next() const { return letters_.empty() ? TimePoint::max() : letters_.begin()->first; }
  /// The next that has come; nothing: none has.
  std::optional<Letter> take(TimePoint now) {
    if (next() > now) return std::nullopt;
    return std::move(letters_.extract(letters_.begin()).mapped());
  }
  /// The node does nothing until then. What comes behind it is put off as well, when it is taken, and so
  /// behind it.
  void put_off(Letter letter, TimePoint until) {
    last_[letter.node] = std::max(last_[letter.node], until);
    letters_.emplace(until, std::move(letter));
  }

 private:
  std::vector<TimePoint> last_;  ///< of each node: the last letter
  std::multimap<TimePoint, Letter> letters_;
};

}  // namespace weft::simulation
