// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::placement {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

using AppShare = Distribution::AppShare;

/// Fills the nodes with one program after the other.
class Placer {
 public:
  Placer(const allocation::Hosts& hosts, const PlacementRules& rules, std::uint64_t wanted)
      : hosts_(hosts), rules_(rules), wanted_(wanted), used_(hosts.size()) {}

  AppShare next_program(std::uint32_t ranks) {
    AppShare share;
    share.counts.resize(hosts_.size());
    const bool by_node = rules_.map == job::MapBy::node && !rules_.per_node;
    share.order = rules_.order.value_or(by_node ? RankBy::node : RankBy::slot);
    const std::uint32_t all = ranks != 0 ? ranks : as_many_as_fit();
    if (rules_.per_node)
      fixed_number_on_each(share, all);
    else if (by_node)
      round_robin(share, all);
    else
      fill_in_order(share, all);
    return share;
  }

 private:
  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(hosts_.size()); }

  std::uint32_t as_many_as_fit() const {
    const std::uint64_t ranks = rules_.per_node ? std::uint64_t{*rules_.per_node} * nodes() : free_slots();
    if (ranks == 0) refuse();
    if (ranks <= job::most_ranks) return static_cast<std::uint32_t>(ranks);
    throw Stop(exit_status::usage,
               messages::usage(fmt::format("{} ranks are more than a job can have ({}); say how "
                                           "many with -n",
                                           ranks, job::most_ranks)));
  }

  std::uint64_t free_slots() const noexcept {
    std::uint64_t free = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      free += hosts_[i].slots - std::min(used_[i], hosts_[i].slots);
    return free;
  }

  void assign(AppShare& share, std::uint32_t node, std::uint32_t ranks) {
    share.counts[node] += ranks;
    used_[node] += ranks;
  }

  /// rounds: how often the slots of a node may be taken.
  std::uint32_t room(std::uint32_t node, std::uint64_t rounds) const noexcept {
    const allocation::Host& host = hosts_[node];
    const auto most = std::min<std::uint64_t>(rounds * host.slots, host.max_slots);
    return static_cast<std::uint32_t>(most - std::min<std::uint64_t>(most, used_[node]));
  }

  void fill_in_order(AppShare& share, std::uint32_t left) {
    bool is_first = true;
    while (left > 0) {
      bool is_full = true;  // for good
      for (std::uint32_t i = 0; i < nodes() && left > 0; ++i) {
        const auto taken = std::min(left, room(i, rounds_));
        is_full = is_full && used_[i] >= hosts_[i].max_slots;
        if (taken == 0) continue;
        if (std::exchange(is_first, false)) share.first_node = i;
        assign(share, i, taken);
        left -= taken;
      }
      if (left == 0) return;
      if (!rules_.may_oversubscribe || is_full) refuse();
      ++rounds_;
    }
  }

  void round_robin(AppShare& share, std::uint32_t left) {
    share.first_node = next_;
    bool is_first = true;
    while (left > 0) {
      // A node whose slots are all taken drops out; when all nodes have, oversubscription begins.
      std::vector<std::uint32_t> round;
      const bool slots_are_left = free_slots() > 0;
      if (!slots_are_left && !rules_.may_oversubscribe) refuse();
      for (std::uint32_t k = 0; k < nodes(); ++k) {
        const std::uint32_t i = (next_ + k) % nodes();
        if (used_[i] < (slots_are_left ? hosts_[i].slots : hosts_[i].max_slots)) round.push_back(i);
      }
      if (round.empty()) refuse();
      for (const auto i : round) {
        if (std::exchange(is_first, false)) share.first_node = i;
        assign(share, i, 1);
        next_ = (i + 1) % nodes();
        if (--left == 0) return;
      }
    }
  }

  void fixed_number_on_each(AppShare& share, std::uint32_t left) {
    const std::uint32_t each = *rules_.per_node;
    if (left > std::uint64_t{each} * nodes()) {
      throw Stop(exit_status::usage,
                 messages::usage(
                     fmt::format("{} ranks are asked for, but {} on each of {} nodes are only {}; use a "
                                 "larger ppr:N:node (-N), fewer ranks (-n), or more nodes (--host; srun's "
                                 "-N, a number of nodes, is another thing)",
                                 left, each, nodes(), std::uint64_t{each} * nodes())));
    }
    for (std::uint32_t i = 0; i < nodes() && left > 0; ++i) {
      const auto taken = std::min(each, left);
      const allocation::Host& host = hosts_[i];
      const auto most = rules_.may_oversubscribe ? host.max_slots : host.slots;
      if (taken > most - std::min(most, used_[i])) {
        throw Stop(
            exit_status::usage,
            messages::usage(fmt::format(
                "node '{}' has {} slots{}, and ppr:{}:node (-N) puts {} ranks there; give it more slots{}",
                host.name, host.slots,
                rules_.may_oversubscribe ? fmt::format(" and takes at most {} ranks", host.max_slots) : "",
                each, used_[i] + taken,
                rules_.may_oversubscribe ? "" : ", or allow it with --oversubscribe")));
      }
      assign(share, i, taken);
      left -= taken;
    }
  }

  [[noreturn]] void refuse() const {
    std::uint64_t slots = 0, most = 0;
    for (const auto& host : hosts_) {
      slots += host.slots;
      most += host.max_slots;
    }
    const auto nodes = hosts_.size() == 1 ? fmt::format("node '{}' has", hosts_[0].name)
                                          : fmt::format("the {} nodes have", hosts_.size());
    if (rules_.may_oversubscribe) {
      throw Stop(exit_status::usage, messages::usage(fmt::format(
                                         "the job has {} ranks, but {} {} slots and take at most {} ranks "
                                         "(max_slots, and {} on any node); ask for fewer, or name more nodes",
                                         wanted_, nodes, slots, most, job::most_ranks_a_node)));
    }
    throw Stop(exit_status::usage,
               messages::usage(
                   fmt::format("the job has {} ranks, but {} {} slots; ask for fewer (-n), give the nodes "
                               "more slots, or allow it with --oversubscribe",
                               wanted_, nodes, slots)));
  }

  const allocation::Hosts& hosts_;
  const PlacementRules& rules_;
  std::uint64_t wanted_;             // by all programs, for the error message
  std::vector<std::uint32_t> used_;  // ranks on each node so far
  std::uint64_t rounds_ = 1;         // by slot: how often the slots of each node are taken
  std::uint32_t next_ = 0;           // by node: the node that gets the next rank
};

/// The number of each of the pool's hosts among all, to which it is added.
std::vector<std::uint32_t> add_hosts(const Pool& pool, allocation::Hosts& all,
                                     std::unordered_map<std::string, std::uint32_t>& numbers) {
  std::vector<std::uint32_t> own;
  for (const auto& host : pool.hosts) {
    const auto [at, is_new] = numbers.emplace(host.name, static_cast<std::uint32_t>(all.size()));
    if (is_new) all.push_back({host.name, 0, 0, host.here});
    auto& known = all[at->second];
    known.slots = std::min(known.slots + host.slots, job::most_ranks_a_node);
    known.max_slots = std::min(known.max_slots + host.max_slots, job::most_ranks_a_node);
    own.push_back(at->second);
  }
  return own;
}

}  // namespace

Distribution place(const std::vector<std::uint32_t>& ranks, const allocation::Hosts& hosts,
                   const PlacementRules& rules) {
  Distribution distribution;
  distribution.nodes = static_cast<std::uint32_t>(hosts.size());
  Placer placer(hosts, rules, std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}));
  for (const auto count : ranks) distribution.apps.push_back(placer.next_program(count));
  return distribution;
}

Placed place_in_pools(const std::vector<std::uint32_t>& ranks, const std::vector<Pool>& pools,
                      PlacementRules rules) {
  Placed placed;
  std::unordered_map<std::string, std::uint32_t> numbers;
  placed.distribution.apps.resize(ranks.size());
  for (const auto& pool : pools) {
    const auto own = add_hosts(pool, placed.hosts, numbers);
    std::vector<std::uint32_t> asked;
    for (const auto program : pool.programs) asked.push_back(ranks[program]);
    rules.may_oversubscribe = pool.may_oversubscribe;
    auto part = place(asked, pool.hosts, rules);
    for (std::size_t i = 0; i < pool.programs.size(); ++i) {
      auto& share = placed.distribution.apps[pool.programs[i]];
      share = {part.apps[i].order, own[part.apps[i].first_node], {}};
      for (std::size_t host = 0; host < own.size(); ++host) {
        share.counts.resize(std::max<std::size_t>(share.counts.size(), own[host] + 1));
        share.counts[own[host]] = part.apps[i].counts[host];
      }
    }
  }
  placed.distribution.nodes = static_cast<std::uint32_t>(placed.hosts.size());
  for (auto& share : placed.distribution.apps) share.counts.resize(placed.hosts.size());
  return placed;
}

}  // namespace weft::placement
