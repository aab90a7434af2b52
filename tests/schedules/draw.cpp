// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>
#include <random>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  /// In [0, below).
  std::uint32_t below(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  std::uint32_t between(std::uint32_t least, std::uint32_t most) { return least + below(most - least + 1); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// Mostly none or short; now and then as long as whole operations.
  microseconds pause() {
    if (one_in(3)) return microseconds(0);
    return microseconds(below(one_in(8) ? 5000 : 60));
  }
  std::vector<Rank> some_of(std::uint32_t ranks, std::uint32_t least) {
    std::vector<Rank> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t i = all.size() - 1; i > 0; --i)
      std::swap(all[i], all[below(static_cast<std::uint32_t>(i + 1))]);
    all.resize(between(std::min(least, ranks), ranks));
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::mt19937_64 random_;
};

struct Group {
  std::string name;
  std::vector<Rank> members;
};

Operation draw_operation(Dice& dice, std::uint32_t ranks, std::vector<Group>& groups, std::uint32_t number) {
  using Kind = Operation::Kind;
  Operation out;
  const auto choice = dice.below(10);
  if (choice < 4 && !groups.empty()) {
    const auto at = dice.below(static_cast<std::uint32_t>(groups.size()));
    out.kind = dice.one_in(2) ? Kind::fence_group : Kind::destruct;
    out.members = groups[at].members;
    out.group = groups[at].name;
    if (out.kind == Kind::destruct) groups.erase(groups.begin() + at);
  } else if (choice < 7) {
    out.kind = Kind::construct;
    out.members = dice.some_of(ranks, 2);
    out.group = "group" + std::to_string(number);
    out.adjusts = dice.one_in(3);
    groups.push_back({out.group, out.members});
  } else if (choice == 7) {
    out.kind = Kind::get;
    out.members = {dice.below(ranks)};
    out.target = dice.below(ranks);
  } else {
    out.kind = dice.one_in(3) ? Kind::fence_set : Kind::fence_job;
    out.collects = dice.one_in(2);
    out.members = dice.some_of(ranks, out.kind == Kind::fence_job ? ranks : 2);
  }
  for (std::size_t i = 0; i < out.members.size(); ++i) out.pauses.push_back(dice.pause());
  return out;
}

/// About as long as a run without faults takes: faults are to come while something is under way.
microseconds length_of(const Schedule& schedule) {
  constexpr microseconds of_one{20};
  microseconds out{10};
  for (const auto& each : schedule.operations)
    out += of_one + *std::max_element(each.pauses.begin(), each.pauses.end());
  return out;
}

}  // namespace

sim::Parameters usual_network() {
  sim::Parameters out;
  out.message = {.latency = 2000, .overhead = 300, .gap = 300, .gap_per_byte = 0.1};
  out.get = {.latency = 2500, .overhead = 300, .gap = 300, .gap_per_byte = 0.1};
  return out;
}

Schedule draw(std::uint64_t seed, const Bounds& bounds) {
  Dice dice(seed);
  Schedule out;
  auto& shape = out.shape;
  shape.nodes = dice.between(2, bounds.most_nodes);
  shape.ranks_a_node = dice.between(1, bounds.most_ranks_a_node);
  shape.seed = seed;
  shape.network = usual_network();
  shape.network.jitter = dice.one_in(4) ? 0 : dice.one_in(4) ? 200000 : 5000;  // ns
  const auto ranks = shape.nodes * shape.ranks_a_node;
  std::vector<Group> groups;
  const auto operations = dice.between(1, bounds.most_operations);
  for (std::uint32_t i = 0; i < operations; ++i)
    out.operations.push_back(draw_operation(dice, ranks, groups, i));
  out.finalizes = dice.one_in(2);
  const auto length = length_of(out);
  const auto faults = dice.below(bounds.most_faults + 1);
  std::uint32_t lost = 0;
  for (std::uint32_t i = 0; i < faults; ++i) {
    Fault fault;
    fault.at = microseconds(dice.below(static_cast<std::uint32_t>(length.count())));
    if (lost + 1 < shape.nodes && dice.one_in(2)) {
      fault.kind = Fault::Kind::node_lost;
      fault.which = dice.below(shape.nodes);
      ++lost;
    } else {
      fault.which = dice.below(ranks);
    }
    out.faults.push_back(fault);
  }
  std::stable_sort(out.faults.begin(), out.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return out;
}

}  // namespace weft::schedules
