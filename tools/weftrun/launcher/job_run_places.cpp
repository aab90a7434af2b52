// SPDX-License-Identifier: BSD-3-Clause
// JobRun, fourth part: where its ranks are, for a user that waits. This node and the daemons are asked,
// within a bounded time.
#include <algorithm>
#include <utility>

#include "tools/weftrun/launcher/job_run.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using node::PlaceSearch;

/// For the message to a node and back, beside what a node may take by itself.
constexpr std::chrono::seconds way{2};
constexpr std::chrono::milliseconds least_pause{100};

/// What two sources answer; the later one ends it.
struct Found {
  struct OnNode {
    std::optional<std::uint32_t> node;  ///< nothing: this process's own
    std::optional<job::Places> places;
  };
  std::vector<OnNode> nodes;
  std::size_t open = 0;
  std::function<void(const std::vector<OnNode>&)> then;

  void close_one() {
    if (--open == 0) then(nodes);
  }
};

}  // namespace

/// Looks often enough that a report is at most half as late again. A server counts the age of a fence from
/// the first look: one look is for the report of --timeout.
void JobRun::look_for_stuck() {
  if (!stuck_after_ && !limit_) return;
  const auto pause = std::max(stuck_after_.value_or(limit_.value_or(least_pause)) / 2, least_pause);
  stuck_.start(pause, [this] {
    find_places(false, [this](const PlacesOnNodes& nodes) {
      if (!stuck_after_) return;
      const bool is_stuck = messages::has_waited(nodes, *stuck_after_);
      if (is_stuck && !is_stuck_) report_places([] {});
      is_stuck_ = is_stuck;
      look_for_stuck();
    });
  });
}

/// then: not when the job is over before.
void JobRun::find_places(bool wants_stacks, PlacesThen then) {
  if (!is_before_its_end()) return;
  const auto found = std::make_shared<Found>();
  found->open = (has_ranks_here() ? 1 : 0) + (far_ != nullptr ? 1 : 0);
  found->then = [this, weak = std::weak_ptr(is_here_), then = std::move(then)](const auto& all) {
    if (!weak.lock()) return;
    PlacesOnNodes nodes;
    for (const auto& [number, places] : all)
      nodes.push_back(places_on(number.value_or(plan_.own.value_or(0)), places));
    then(nodes);
  };
  if (has_ranks_here())
    node_->find_places(*local_, wants_stacks, [found](job::Places places) {
      found->nodes.push_back({std::nullopt, std::move(places)});
      found->close_one();
    });
  if (far_ == nullptr) return;
  const auto for_stacks = wants_stacks ? PlaceSearch::stack_limit : std::chrono::seconds(0);
  far_->find_places(wants_stacks, PlaceSearch::server_limit + for_stacks + way,
                    [found](const std::vector<cluster::FarRanks::NodePlaces>& nodes) {
                      for (const auto& [node, places] : nodes) found->nodes.push_back({node, places});
                      found->close_one();
                    });
}

messages::PlacesOnNode JobRun::places_on(std::uint32_t node, const std::optional<job::Places>& places) const {
  std::vector<Rank> running;
  for (const Rank rank : table_.ranks_on(node))
    if (job_.ranks().is_running(rank)) running.push_back(rank);
  return {plan_.nodes[node].name, std::move(running), places};
}

void JobRun::report_places(std::function<void()> then) {
  find_places(true, [this, then = std::move(then)](const PlacesOnNodes& nodes) {
    const auto program_of = [this](Rank rank) { return app_of(rank).argv[0]; };
    const auto name = launch_.parent ? nspace() : std::string();
    if (is_before_its_end())
      place_.run.console().print_result(messages::where_ranks_are(name, nodes, program_of));
    then();
  });
}

}  // namespace weft::weftrun
