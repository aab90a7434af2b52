// SPDX-License-Identifier: BSD-3-Clause
// What a lost node costs the servers that are left, however many operations are open with it; and what the
// end of a process costs, of which all are told.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {
namespace {

using simulation::World;
using std::chrono::nanoseconds;

/// Requests, replies and parts of collectives that the servers have sent.
std::uint64_t messages_of(World& world) {
  std::uint64_t out = 0;
  for (simulation::NodeNumber number = 0; number < world.nodes(); ++number)
    if (auto* const node = world.node(number))
      out += node->cluster().fabric().mesh().counters().messages_sent;
  return out;
}

std::uint64_t requests_of(World& world, simulation::NodeNumber number) {
  auto* const node = world.node(number);
  return node == nullptr ? 0 : node->cluster().request_counters().sent;
}

}  // namespace

int cost_of_an_end(std::uint32_t nodes, std::uint32_t width, bool loses_a_server) {
  World world({.nodes = nodes,
               .ranks_a_node = 1,
               .network = usual_network(),
               .limits = {},
               .width_of_ends = width,
               .seed = 1});
  const Rank gone = nodes / 2;
  std::vector<std::uint64_t> before;
  for (simulation::NodeNumber number = 0; number < nodes; ++number)
    before.push_back(requests_of(world, number));
  world.end_process(gone);
  // One of those that are to tell others, while the word is on its way to it.
  const simulation::NodeNumber lost = 0;
  if (loses_a_server) world.lose(lost);
  const auto end = world.now() + std::chrono::seconds(10);
  while (world.step(end)) {
  }
  std::uint64_t most = 0, all = 0;
  std::uint32_t told = 0;
  for (simulation::NodeNumber number = 0; number < nodes; ++number) {
    auto* const node = world.node(number);
    if (node == nullptr) continue;
    told += node->rooms().exchanges.is_dead(link::make_proc(World::nspace, gone));
    const auto sent = requests_of(world, number) - before[number];
    most = std::max(most, sent);
    all += sent;
  }
  const std::uint32_t others = nodes - 1 - loses_a_server;
  std::printf(
      "%u nodes, a process ends%s: %u of %u other servers know, by %llu requests, of one server %llu at "
      "most\n",
      nodes, loses_a_server ? ", and with it a server" : "", told, others,
      static_cast<unsigned long long>(all), static_cast<unsigned long long>(most));
  const bool is_cheap = loses_a_server || (all == others && most <= width);
  return told == others && is_cheap ? 0 : 1;
}

int cost_of_a_loss(std::uint32_t nodes, std::uint32_t operations) {
  World world({.nodes = nodes, .ranks_a_node = 1, .network = usual_network(), .limits = {}, .seed = 1});
  server::Procs all;
  for (Rank rank = 0; rank < nodes; ++rank) all.push_back(link::make_proc(World::nspace, rank));
  const Rank absent = nodes - 1;
  for (std::uint32_t i = 0; i < operations; ++i)
    for (Rank rank = 0; rank < absent; ++rank) {
      static_cast<void>(world.client(rank).construct("group" + std::to_string(i), all, {}));
      world.wake(world.node_of(rank));
    }
  // All that the nodes can do without that rank.
  const auto settled = world.now() + std::chrono::milliseconds(500);
  while (world.step(settled)) {
  }
  const auto before = messages_of(world);
  const auto lost_at = world.now();
  world.lose(world.node_of(absent));
  std::size_t ended = 0;
  const auto calls = std::size_t{operations} * absent;
  bool has_failed = true;
  const auto longest = lost_at + std::chrono::seconds(60);
  auto last = lost_at;
  while (ended < calls && world.step(longest))
    for (Rank rank = 0; rank < absent; ++rank)
      for (const auto& word : world.client(rank).take_words()) {
        const auto* end = std::get_if<simulation::Client::Ended>(&word);
        if (end == nullptr) continue;
        ++ended;
        has_failed &= end->status == PMIX_ERR_PROC_ABORTED;
        last = world.now();
      }
  const auto messages = messages_of(world) - before;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(last - lost_at).count();
  std::printf(
      "%u nodes, %u operations open with a lost node: %zu of %zu calls have ended, after %lld ms of virtual "
      "time, %llu messages\n",
      nodes, operations, ended, calls, static_cast<long long>(took),
      static_cast<unsigned long long>(messages));
  return ended == calls && has_failed && messages <= 4u * nodes ? 0 : 1;
}

}  // namespace weft::schedules
