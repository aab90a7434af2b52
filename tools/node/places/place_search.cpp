// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/place_search.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <iterator>
#include <set>
#include <utility>

#include "tools/node/places/kernel_state.hpp"
#include "tools/node/places/server_calls.hpp"

namespace weft::node {

PlaceSearch::PlaceSearch(asio::io_context& loop, const process::Spawner& spawner, Subject subject, Done done)
    : loop_(loop), spawner_(spawner), subject_(std::move(subject)), done_(std::move(done)), limit_(loop) {}

/// A server that does not answer leaves out what it knows.
void PlaceSearch::begin() {
  limit_.expires_after(server_limit);
  limit_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->take_calls({});
  });
  ask_server_calls(subject_.nspace, [self = shared_from_this()](std::vector<job::Place> calls) {
    asio::post(self->loop_, [self, calls = std::move(calls)] { self->take_calls(calls); });
  });
}

void PlaceSearch::take_calls(const std::vector<job::Place>& calls) {
  if (is_over() || std::exchange(has_calls_, true)) return;
  limit_.cancel();
  for (const auto& process : subject_.processes) {
    const auto known = std::find_if(calls.begin(), calls.end(),
                                    [&](const job::Place& place) { return place.rank == process.rank; });
    auto& place = places_.ranks.emplace_back(known == calls.end() ? job::Place() : *known);
    place.rank = process.rank;
    if (place.phase != job::Place::Phase::connected || place.pid <= 0) place.pid = process.pid;
    place.kernel = kernel_state(place.pid);
  }
  if (!subject_.wants_stacks || places_.ranks.empty()) return complete();
  auto order = in_order_of_interest();
  std::vector<pid_t> pids;
  for (const auto i : order) pids.push_back(places_.ranks[i].pid);
  stacks_ = std::make_shared<StackReader>(
      loop_, spawner_, std::move(pids),
      [self = shared_from_this(), order = std::move(order)](StackReader::Stacks stacks) {
        self->take_stacks(order, std::move(stacks));
      });
  stacks_->begin(stack_limit);
}

/// One rank of each call first: where time is short, each place has a stack. At last ranks that are stopped,
/// for which a debugger may wait.
std::vector<std::size_t> PlaceSearch::in_order_of_interest() const {
  std::vector<std::size_t> first, others, stopped;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < places_.ranks.size(); ++i) {
    const auto& place = places_.ranks[i];
    const bool is_first = seen.emplace(place.call, place.last).second;
    (is_stopped(place.pid) ? stopped : is_first ? first : others).push_back(i);
  }
  std::ranges::move(others, std::back_inserter(first));
  std::ranges::move(stopped, std::back_inserter(first));
  return first;
}

void PlaceSearch::take_stacks(const std::vector<std::size_t>& order, StackReader::Stacks stacks) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto& text = stacks.texts[i];
    if (text.empty()) continue;
    auto& all = places_.stacks;
    const auto at = std::find(all.begin(), all.end(), text);
    places_.ranks[order[i]].stack = static_cast<std::uint32_t>(at - all.begin()) + 1;
    if (at == all.end()) all.push_back(std::move(text));
  }
  places_.remark = std::move(stacks.remark);
  complete();
}

void PlaceSearch::complete() {
  stacks_.reset();
  asio::post(loop_, [self = shared_from_this()] {
    if (const auto done = std::exchange(self->done_, {})) done(std::move(self->places_));
  });
}

void PlaceSearch::close() {
  done_ = {};
  limit_.cancel();
  if (const auto stacks = std::exchange(stacks_, nullptr)) stacks->close();
}

}  // namespace weft::node
