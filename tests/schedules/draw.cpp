// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

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

/// As far as it is known: which of those that may be in it are, is seen in the run.
struct Group {
  std::string name;
  std::vector<Rank> members;
  bool adjusts = false;
};

void add(std::vector<Rank>& members, Rank rank) {
  const auto place = std::lower_bound(members.begin(), members.end(), rank);
  if (place == members.end() || *place != rank) members.insert(place, rank);
}

class Drawer {
 public:
  Drawer(Dice& dice, simulation::World::Shape& shape, const Bounds& bounds, bool loses)
      : dice_(dice),
        shape_(shape),
        places_(shape.places()),
        ranks_(places_.count()),
        is_plain_(loses && bounds.is_plain),
        loses_(loses),
        draws_names_(bounds.draws_names),
        draws_spawns_(bounds.draws_spawns),
        draws_output_(bounds.draws_output),
        most_children_(2 * bounds.most_ranks_a_node) {}

  Operation operation() {
    Operation out;
    const bool spawns = draws_spawns_ && places_.jobs() < most_jobs && dice_.one_in(3);
    const bool prints = draws_output_ && !spawns && dice_.one_in(3);
    if (spawns || prints || (draws_names_ && dice_.one_in(2))) {
      out = spawns ? spawn() : prints ? of_output() : of_name();
      for (std::size_t i = 0; i < out.members.size(); ++i) out.pauses.push_back(dice_.pause());
      ++number_;
      return out;
    }
    const auto choice = dice_.below(18);
    if (choice < 4 && !groups_.empty()) {
      out = of_group(dice_.one_in(2) ? Kind::fence_group : Kind::destruct);
    } else if (choice < 7 && !groups_.empty()) {
      out = of_members();
    } else if (choice < 10) {
      out = dice_.one_in(2) ? invitation() : construct();
    } else if (choice < 12) {
      out = of_card();
    } else if (choice < 13) {
      out = connection();
    } else if (choice < 14) {
      out.kind = Kind::notify;
      out.members = {dice_.below(ranks_)};
      out.is_local = dice_.one_in(4);
    } else {
      out.kind = dice_.one_in(3) ? Kind::fence_set : Kind::fence_job;
      out.collects = dice_.one_in(2);
      out.members = out.kind == Kind::fence_job ? all_of_a_job() : dice_.some_of(ranks_, 2);
      if (out.kind == Kind::fence_set) give_timeout(out);
    }
    for (std::size_t i = 0; i < out.members.size(); ++i) out.pauses.push_back(dice_.pause());
    ++number_;
    return out;
  }

 private:
  /// Often about as long as it takes to know of a loss.
  void give_timeout(Operation& operation) {
    if (loses_ && !is_plain_ && operation.timeout == 0 && dice_.one_in(6))
      operation.timeout = dice_.between(1, 3);
  }

  std::vector<Rank> all_of_a_job() {
    const auto job = places_.jobs() == 1 ? 0 : dice_.below(static_cast<std::uint32_t>(places_.jobs()));
    std::vector<Rank> out(places_.end_of(job) - places_.first_of(job));
    std::iota(out.begin(), out.end(), places_.first_of(job));
    return out;
  }

  /// Few print, so that processes meet.
  Operation of_output() {
    Operation out;
    const auto printing = ranks_ - 1 - dice_.below(std::min(ranks_, 3U));
    if (dice_.one_in(2)) {
      out.kind = Kind::print;
      out.members = {printing};
      return out;
    }
    out.kind = Kind::pull;
    out.members = dice_.some_of(ranks_, 1);
    out.target = printing;
    return out;
  }

  /// From here on its processes are among those that are drawn.
  Operation spawn() {
    Operation out;
    out.kind = Kind::spawn;
    out.members = {dice_.below(ranks_)};
    out.job = places_.jobs();
    std::vector<simulation::NodeNumber> nodes(dice_.between(1, most_children_));
    for (auto& node : nodes) node = dice_.below(shape_.nodes);
    shape_.spawned.push_back(std::move(nodes));
    places_ = shape_.places();
    ranks_ = places_.count();
    return out;
  }

  /// Of the first card, or of what is committed by an operation before.
  Operation of_card() {
    Operation out;
    out.members = {dice_.below(ranks_)};
    if (dice_.one_in(3)) {
      out.kind = Kind::commit;
      commits_.emplace_back(number_, out.members.front());
      return out;
    }
    out.kind = Kind::get;
    out.target = dice_.below(ranks_);
    if (commits_.empty() || dice_.one_in(3)) return out;
    std::tie(out.late, out.target) = commits_[dice_.below(static_cast<std::uint32_t>(commits_.size()))];
    return out;
  }

  /// Of one of few keys, so that processes meet.
  Operation of_name() {
    Operation out;
    const auto choice = dice_.below(8);
    if (choice == 0 && !published_.empty()) {
      out = published_[dice_.below(static_cast<std::uint32_t>(published_.size()))];
      out.kind = Kind::unpublish;
      out.members = {any_of(out.members)};
      out.pauses.clear();
      out.timeout = 0;
      return out;
    }
    out.name = dice_.below(4);
    out.members = dice_.one_in(3) ? dice_.some_of(ranks_, 1) : std::vector<Rank>{dice_.below(ranks_)};
    if (choice < 4) {
      static constexpr pmix_persistence_t persistences[] = {PMIX_PERSIST_APP, PMIX_PERSIST_SESSION,
                                                            PMIX_PERSIST_PROC, PMIX_PERSIST_FIRST_READ};
      out.kind = Kind::publish;
      out.persistence = persistences[dice_.below(4)];
      out.range = dice_.one_in(6)   ? PMIX_RANGE_LOCAL
                  : dice_.one_in(4) ? PMIX_RANGE_NAMESPACE
                                    : PMIX_RANGE_SESSION;
      if (dice_.one_in(8)) out.timeout = dice_.between(1, 3);
      published_.push_back(out);
      return out;
    }
    out.kind = Kind::look_up;
    out.waits = dice_.one_in(2);
    if (out.waits) out.timeout = longest_lookup;
    return out;
  }

  Operation connection() {
    Operation out;
    if (!connected_.empty() && dice_.one_in(2)) {
      out.kind = Kind::disconnect;
      const auto at = dice_.below(static_cast<std::uint32_t>(connected_.size()));
      out.members = connected_[at];
      connected_.erase(connected_.begin() + at);
      return out;
    }
    out.kind = Kind::connect;
    out.members = dice_.some_of(ranks_, 2);
    give_timeout(out);
    if (std::find(connected_.begin(), connected_.end(), out.members) == connected_.end())
      connected_.push_back(out.members);
    return out;
  }

  Group& any_group() { return groups_[dice_.below(static_cast<std::uint32_t>(groups_.size()))]; }
  Rank any_of(const std::vector<Rank>& ranks) {
    return ranks[dice_.below(static_cast<std::uint32_t>(ranks.size()))];
  }

  Operation of_group(Operation::Kind kind) {
    const auto at = dice_.below(static_cast<std::uint32_t>(groups_.size()));
    Operation out;
    out.kind = kind;
    out.members = groups_[at].members;
    out.group = groups_[at].name;
    give_timeout(out);
    if (kind == Kind::destruct) {
      ended_.push_back(groups_[at]);
      groups_.erase(groups_.begin() + at);
    }
    return out;
  }

  /// With the name of one that has ended, and its members, or with a new name.
  Group next_group() {
    if (!is_plain_ && !ended_.empty() && dice_.one_in(3)) {
      const auto at = dice_.below(static_cast<std::uint32_t>(ended_.size()));
      auto out = std::move(ended_[at]);
      ended_.erase(ended_.begin() + at);
      return out;
    }
    return {"group" + std::to_string(last_++), {}};
  }

  Operation construct() {
    Operation out;
    out.kind = Kind::construct;
    // An array of members that have constructed before may have a board.
    out.members = constructed_.empty() || dice_.one_in(2)
                      ? dice_.some_of(ranks_, 2)
                      : constructed_[dice_.below(static_cast<std::uint32_t>(constructed_.size()))];
    out.is_bare = dice_.one_in(2);
    const auto before = next_group();
    out.group = before.name;
    out.adjusts = !out.is_bare && dice_.one_in(3);
    out.asks = !out.is_bare && dice_.one_in(4);
    out.differs = !out.is_bare && dice_.one_in(2);
    out.refuses = out.asks && dice_.one_in(3);
    // Processes that know the name alone: where something is lost, what others have called by it before may
    // be taken for their group.
    const bool is_alone = before.members.empty() || !loses_;
    if (!is_plain_ && is_alone && !out.is_bare && dice_.one_in(4)) {
      out.leaders = dice_.between(1, 2);
      // A leader that ends before it calls: no other process knows of it.
      if (loses_) out.timeout = dice_.between(2, 4);
    }
    give_timeout(out);
    if (out.leaders == 0) constructed_.push_back(out.members);
    const bool is_given =
        !out.differs || std::any_of(out.members.begin(), out.members.end(), gives_directives);
    groups_.push_back({out.group, out.members, out.adjusts && is_given});
    return out;
  }

  Operation invitation() {
    Operation out;
    out.kind = Kind::invite;
    out.members = dice_.some_of(ranks_, 2);
    if (!groups_.empty() && dice_.one_in(3)) {
      auto& group = any_group();
      out.group = group.name;
      out.adjusts = group.adjusts;  // it may make the group, where the one before it has not
      out.target = any_of(group.members);
      add(out.members, out.target);
      for (const auto rank : out.members) add(group.members, rank);
    } else {
      out.group = next_group().name;
      out.target = any_of(out.members);
      out.adjusts = dice_.one_in(2);
      groups_.push_back({out.group, out.members, out.adjusts});
    }
    out.is_optional = dice_.one_in(3);
    out.decides = dice_.one_in(3);
    out.elects = dice_.one_in(2);
    bool is_silent = false;
    for (std::size_t m = 0; m < out.members.size(); ++m) {
      const auto answer = !dice_.one_in(6)  ? Answer::accepts
                          : dice_.one_in(3) ? Answer::none
                                            : Answer::declines;
      is_silent |= answer == Answer::none && out.members[m] != out.target;
      out.answers.push_back(answer);
    }
    if (is_silent || dice_.one_in(8)) out.timeout = dice_.between(1, 3);
    return out;
  }

  Operation of_members() {
    auto& group = any_group();
    Operation out;
    out.group = group.name;
    out.kind = dice_.one_in(2) ? Kind::leave : Kind::join;
    if (out.kind == Kind::leave) {
      out.members = {any_of(group.members)};
      out.is_loose = group.adjusts && dice_.one_in(2);
    } else {
      out.members = {dice_.below(ranks_)};
      out.refuses = dice_.one_in(6);
      add(group.members, out.members.front());
    }
    return out;
  }

  static constexpr simulation::JobNumber most_jobs = 4;

  Dice& dice_;
  simulation::World::Shape& shape_;
  simulation::Places places_;
  std::uint32_t ranks_;  ///< of all jobs so far
  const bool is_plain_, loses_, draws_names_, draws_spawns_, draws_output_;
  const std::uint32_t most_children_;
  std::vector<Group> groups_;
  std::vector<Group> ended_;
  std::vector<std::vector<Rank>> connected_, constructed_;
  std::vector<std::pair<std::size_t, Rank>> commits_;
  std::vector<Operation> published_;
  std::size_t number_ = 0;
  unsigned last_ = 0;
};

/// Mostly as long as some operations; now and then so long that the others ask, or take the node for lost.
microseconds pause_of_node(Dice& dice) {
  if (!dice.one_in(4)) return microseconds(dice.between(10, 5000));
  return dice.one_in(2) ? microseconds(dice.between(500'000, 3'000'000))
                        : microseconds(dice.between(5'000'000, 9'000'000));
}

/// About as long as a run without faults takes: faults are to come while something is under way.
microseconds length_of(const Schedule& schedule) {
  constexpr microseconds of_one{20};
  microseconds out{10};
  for (const auto& each : schedule.operations)
    out += of_one + *std::max_element(each.pauses.begin(), each.pauses.end());
  return out;
}

/// Where one of two operations that the servers know by one name has a time-out, some processes are in the
/// second while others try the first again: no program could do that.
void keep_apart(std::vector<Operation>& operations) {
  const auto is_fence = [](const Operation& each) {
    return each.kind == Kind::fence_job || each.kind == Kind::fence_set;
  };
  for (auto& one : operations) {
    if (is_of_name(one.kind) || one.timeout == 0 || one.leaders != 0 || one.kind == Kind::invite) continue;
    const auto count = std::count_if(operations.begin(), operations.end(), [&](const Operation& other) {
      const bool is_like = one.kind == other.kind || (is_fence(one) && is_fence(other));
      return is_like && (one.group.empty() ? one.members == other.members : one.group == other.group);
    });
    if (count > 1) one.timeout = 0;
  }
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
  shape.width_of_ends = bounds.width_of_ends;
  shape.network = usual_network();
  shape.network.jitter = dice.one_in(4) ? 0 : dice.one_in(4) ? 200000 : 5000;  // ns
  const auto faults = dice.below(bounds.most_faults + 1);
  Drawer drawer(dice, shape, bounds, faults != 0);
  const auto operations = dice.between(1, bounds.most_operations);
  for (std::uint32_t i = 0; i < operations; ++i) out.operations.push_back(drawer.operation());
  keep_apart(out.operations);
  out.finalizes = dice.one_in(2);
  const auto ranks = shape.places().count();
  const auto length = length_of(out);
  std::uint32_t lost = 0;
  for (std::uint32_t i = 0; i < faults; ++i) {
    Fault fault;
    fault.at = microseconds(dice.below(static_cast<std::uint32_t>(length.count())));
    if (lost + 1 < shape.nodes && dice.one_in(2)) {
      fault.kind = dice.one_in(4) ? Fault::Kind::node_leaves : Fault::Kind::node_lost;
      fault.which = dice.below(shape.nodes);
      ++lost;
    } else if (bounds.draws_pauses && dice.one_in(3)) {
      fault.kind = Fault::Kind::node_pauses;
      fault.which = dice.below(shape.nodes);
      fault.pause = pause_of_node(dice);
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
