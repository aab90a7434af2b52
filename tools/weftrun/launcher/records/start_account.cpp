// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/records/start_account.hpp"

#include <utility>

namespace weft::weftrun {
namespace {

using Clock = StartAccount::Clock;
using messages::StartPhase;

std::uint64_t microseconds(Clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

std::optional<std::uint64_t> StartAccount::Span::length() const {
  return begun && ended ? std::optional(microseconds(*ended - *begun)) : std::nullopt;
}

StartAccount::StartAccount(Clock::duration planned, std::vector<std::string> hosts)
    : planned_(planned), hosts_(std::move(hosts)), nodes_(hosts_.size()) {}

void StartAccount::daemon_connected(std::uint32_t node) {
  if (auto* const here = at(node)) here->connected = Clock::now();
}

void StartAccount::node_started(std::uint32_t node) {
  if (auto* const here = at(node)) here->started = Clock::now();
}

void StartAccount::take(std::uint32_t node, const job::NodeStart& told) {
  if (auto* const here = at(node)) here->told = told;
}

/// How long the order was on its way to the node, and the report on its way back: what the node has measured
/// itself is no part of it.
std::optional<std::uint64_t> StartAccount::on_the_way(const OnNode& node) const {
  if (!ordered_ || !node.started || !node.told) return std::nullopt;
  const auto all = microseconds(*node.started - *ordered_);
  const auto there = node.told->map.value_or(0) + node.told->spawn.value_or(0);
  return all > there ? all - there : 0;
}

messages::StartAccount StartAccount::result(const Job& job) const {
  messages::StartAccount out{.nspace = job.nspace,
                             .ranks = job.ranks,
                             .nodes = static_cast<std::uint32_t>(job.nodes.size()),
                             .phases = {}};
  const auto own = [&](const char* name, std::optional<std::uint64_t> time) {
    out.phases.push_back({.name = name, .own = time});
  };
  const auto each = [&](const char* name, bool is_of_daemons, auto&& time_of) -> StartPhase& {
    auto& phase = out.phases.emplace_back(StartPhase{.name = name});
    for (const auto node : job.nodes) {
      if (is_of_daemons && node == job.own) continue;
      ++phase.of;
      if (const std::optional<std::uint64_t> time = time_of(nodes_[node]))
        phase.nodes.push_back({hosts_[node], *time});
    }
    return phase;
  };
  const auto told = [&](const char* name, job::NodeStart::Microseconds job::NodeStart::*which) -> auto& {
    return each(name, false,
                [which](const OnNode& node) { return node.told ? *node.told.*which : std::nullopt; });
  };
  own("allocation", microseconds(planned_));
  own("server", server_.length());
  if (agents_.begun) {
    own("agents", agents_.length());
    each("connect", true, [this](const OnNode& node) {
      return node.connected && agents_.ended ? std::optional(microseconds(*node.connected - *agents_.ended))
                                             : std::nullopt;
    });
    auto& order = each("order", true, [this](const OnNode& node) { return on_the_way(node); });
    if (ordered_) order.bytes = order_bytes_;
  }
  told("map", &job::NodeStart::map);
  told("spawn", &job::NodeStart::spawn);
  told("load", &job::NodeStart::load);
  told("init", &job::NodeStart::init);
  auto& fence = told("first fence", &job::NodeStart::fence);
  for (const auto node : job.nodes) {
    const auto& here = nodes_[node].told;
    if (here && job.nodes.size() > 1) fence.bytes = fence.bytes.value_or(0) + here->fence_bytes;
    if (!here) out.silent.push_back(hosts_[node]);
  }
  if (job.nodes.size() > 1) told("first touch", &job::NodeStart::fetch);
  if (running_) out.running_after = microseconds(planned_ + (*running_ - begun_));
  return out;
}

}  // namespace weft::weftrun
