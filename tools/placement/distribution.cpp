// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

#include "tools/messages/stop.hpp"

namespace weft::placement {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr std::uint32_t most_apps = 65'536;

/// Reads the text from left to right; complains in one place.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}
  [[noreturn]] static void refuse(std::string_view why) {
    throw Stop(
        exit_status::own_failure,
        fmt::format("the distribution of ranks over nodes is damaged: {}; weftrun and its daemons must be "
                    "of one release",
                    why));
  }
  std::uint32_t number(std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value > most) refuse(fmt::format("a number up to {} is missing", most));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool take(std::string_view word) noexcept {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) refuse(fmt::format("'{}' is missing", word));
  }
  bool is_at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Distribution::AppShare read_listed(Text& text, std::uint32_t nodes, std::uint32_t& ranks_left) {
  Distribution::AppShare app{RankBy::listed, 0, std::vector<std::uint32_t>(nodes)};
  do {
    const auto run = text.number(ranks_left);
    text.expect("x");
    const auto node = text.number(nodes - 1);
    if (run == 0) Text::refuse("its numbers do not fit");
    ranks_left -= run;
    app.counts[node] += run;
    app.listed.insert(app.listed.end(), run, node);
  } while (text.take(","));
  return app;
}

Distribution::AppShare read_app(Text& text, std::uint32_t nodes, std::uint32_t& ranks_left) {
  if (text.take("list:")) return read_listed(text, nodes, ranks_left);
  Distribution::AppShare app;
  if (text.take("node@"))
    app.order = RankBy::node;
  else
    text.expect("slot@");
  app.first_node = text.number(nodes - 1);
  for (std::string_view separator = ":"; app.counts.size() < nodes; separator = ",") {
    text.expect(separator);
    const auto run = text.number(nodes - static_cast<std::uint32_t>(app.counts.size()));
    text.expect("x");
    const auto count = text.number(ranks_left);
    if (run == 0 || static_cast<std::uint64_t>(run) * count > ranks_left)
      Text::refuse("its numbers do not fit");
    ranks_left -= run * count;
    app.counts.insert(app.counts.end(), run, count);
  }
  return app;
}

/// see(node) for each rank of the app in the order of the ranks. Cost: O(ranks + nodes).
template <class See>
void walk(const Distribution::AppShare& app, See&& see) {
  if (app.order == RankBy::listed) {
    std::for_each(app.listed.begin(), app.listed.end(), see);
    return;
  }
  const auto nodes = static_cast<std::uint32_t>(app.counts.size());
  std::vector<std::uint32_t> round(nodes);  // the nodes that have a rank left, in the order of the app
  for (std::uint32_t i = 0; i < nodes; ++i) round[i] = (app.first_node + i) % nodes;
  if (app.order == RankBy::slot) {
    for (const auto node : round)
      for (std::uint32_t i = 0; i < app.counts[node]; ++i) see(node);
    return;
  }
  for (std::uint32_t given = 0; !round.empty(); ++given) {
    std::erase_if(round, [&](std::uint32_t node) { return app.counts[node] <= given; });
    for (const auto node : round) see(node);
  }
}

/// see(length, value) for each run of equal values.
template <class See>
void runs_of(const std::vector<std::uint32_t>& values, See&& see) {
  for (auto at = values.begin(); at != values.end();) {
    const auto end = std::find_if(at, values.end(), [at](std::uint32_t value) { return value != *at; });
    see(end - at, *at);
    at = end;
  }
}

}  // namespace

std::uint32_t Distribution::size() const noexcept {
  std::uint32_t ranks = 0;
  for (const auto& app : apps) ranks = std::accumulate(app.counts.begin(), app.counts.end(), ranks);
  return ranks;
}

std::vector<std::uint32_t> Distribution::nodes_with_ranks() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t node = 0; node < nodes; ++node)
    if (std::any_of(apps.begin(), apps.end(), [node](const auto& app) { return app.counts[node] != 0; }))
      out.push_back(node);
  return out;
}

std::string encode(const Distribution& distribution) {
  std::string text = fmt::format("{}", distribution.nodes);
  for (const auto& app : distribution.apps) {
    const bool is_listed = app.order == RankBy::listed;
    text += is_listed ? ";list"
                      : fmt::format(";{}@{}", app.order == RankBy::node ? "node" : "slot", app.first_node);
    char separator = ':';
    runs_of(is_listed ? app.listed : app.counts, [&](auto length, std::uint32_t value) {
      text += fmt::format("{}{}x{}", std::exchange(separator, ','), length, value);
    });
  }
  return text;
}

Distribution decode_distribution(std::string_view encoded, std::uint32_t most_nodes,
                                 std::uint32_t most_ranks) {
  Text text(encoded);
  Distribution distribution;
  distribution.nodes = text.number(most_nodes);
  if (distribution.nodes == 0) Text::refuse("it has no nodes");
  std::uint32_t ranks_left = most_ranks;
  while (!text.is_at_end()) {
    text.expect(";");
    distribution.apps.push_back(read_app(text, distribution.nodes, ranks_left));
    if (distribution.apps.size() > most_apps) Text::refuse("it has too many programs");
  }
  return distribution;
}

RankTable::RankTable(const Distribution& distribution)
    : ranks_(distribution.size()), begin_(distribution.nodes + 1) {
  node_of_.reserve(ranks_.size());
  for (const auto& app : distribution.apps) {
    app_begin_.push_back(size());
    walk(app, [this](std::uint32_t node) { node_of_.push_back(node); });
  }
  app_begin_.push_back(size());
  for (const auto node : node_of_) ++begin_[node + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  auto free = begin_;  // where the next rank of each node goes
  for (std::size_t rank = 0; rank < node_of_.size(); ++rank)
    ranks_[free[node_of_[rank]]++] = job::rank_at(rank);
}

std::uint32_t RankTable::local_rank_of(Rank rank) const noexcept {
  const auto here = ranks_on(node_of(rank));
  return static_cast<std::uint32_t>(std::lower_bound(here.begin(), here.end(), rank) - here.begin());
}

std::uint32_t RankTable::app_of(Rank rank) const noexcept {
  const auto after = std::upper_bound(app_begin_.begin(), app_begin_.end(), number(rank));
  return static_cast<std::uint32_t>(after - app_begin_.begin()) - 1;
}

}  // namespace weft::placement
