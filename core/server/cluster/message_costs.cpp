// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/message_costs.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log_format.hpp"

namespace weft::server {
namespace {

using Nanoseconds = MessageCosts::Nanoseconds;

constexpr std::int64_t most_ns = 1'000'000'000;  // of a cost: beyond a second it is no network

std::uint32_t cost_of(std::int64_t ns) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 0, most_ns));
}

}  // namespace

// A request that is answered keeps each end busy with one message that comes and one that goes. Several at
// once wait for the end that is busiest; long ones for that or for the wire, which is taken for the slower.
collectives::Costs MessageCosts::Measured::costs() const noexcept {
  const auto a_message = (some_small - small).count() / (2 * (MessageCosts::some_small - 1));
  const auto a_long = (some_long - one_long).count() / (MessageCosts::some_long - 1);
  const auto alone = (one_long - small).count();
  constexpr std::int64_t kib = long_bytes / 1024;
  Costs out;
  out.source = Costs::Source::measured;
  out.message = cost_of(a_message);
  out.latency = cost_of(small.count() / 2 - 2 * std::int64_t{out.message});
  out.wire_kib = cost_of(std::min(a_long, alone) / kib);
  out.work_kib = cost_of((alone - a_long) / 2 / kib);
  return out;
}

const std::array<MessageCosts::Trial, 4> MessageCosts::trials{
    {{1, 0, 5, &Measured::small},
     {some_small, 0, 2, &Measured::some_small},
     {1, long_bytes, 2, &Measured::one_long},
     {some_long, long_bytes, 1, &Measured::some_long}}};

MessageCosts::MessageCosts(Loop& loop, Rpc& rpc, const ServerTable& servers,
                           std::shared_ptr<collectives::Rule> rule)
    : loop_(loop), rpc_(rpc), servers_(servers), rule_(std::move(rule)) {
  rpc_.on(RequestType::cost_probe,
          [](NodeNumber, Bytes, const Rpc::Reply& reply) { reply(PMIX_SUCCESS, {}); });
}

void MessageCosts::settle(std::function<void()> then) {
  if (is_settled_) return then();
  waiting_.push_back(std::move(then));
  if (waiting_.size() > 1) return;
  const auto others = servers_.others();
  const auto far = std::find_if(others.begin(), others.end(), [this](NodeNumber node) {
    return servers_.machine_of(node) == 0 ||
           servers_.machine_of(node) != servers_.machine_of(servers_.self());
  });
  if (others.empty()) return end({});
  if (far == others.end()) return end(Costs::on_one_machine(std::thread::hardware_concurrency()));
  limit_.emplace(loop_, patience, [this] { end({}); });
  measure(*far, 0, 0);
}

/// From that trial on, which has been done so many times.
void MessageCosts::measure(NodeNumber with, std::size_t trial, unsigned time) {
  if (trial == trials.size()) return end(measured_.costs());
  struct Round {
    Loop::TimePoint begun;
    unsigned open;
    bool has_failed = false;
  };
  const auto round = std::make_shared<Round>(Round{loop_.now(), trials[trial].messages});
  const auto replied = [this, round, with, trial, time](pmix_status_t status, Bytes) {
    round->has_failed |= status != PMIX_SUCCESS;
    if (--round->open != 0 || is_settled_) return;
    if (round->has_failed) return end({});
    auto& least = measured_.*(trials[trial].time);
    const Nanoseconds took = loop_.now() - round->begun;
    least = time == 0 ? took : std::min(least, took);
    const bool is_last = time + 1 == trials[trial].times;
    measure(with, is_last ? trial + 1 : trial, is_last ? 0 : time + 1);
  };
  for (unsigned i = 0; i < trials[trial].messages; ++i)
    rpc_.send(with, RequestType::cost_probe, std::vector<std::byte>(trials[trial].bytes), replied);
}

/// costs: nothing: they could not be measured, or not in time; those that are assumed stay.
void MessageCosts::end(const std::optional<Costs>& costs) {
  if (std::exchange(is_settled_, true)) return;
  if (costs) rule_->take(*costs);
  base::debug(base::LogPart::mesh, "messages between servers: {}", to_text(rule_->costs()));
  for (const auto& then : std::exchange(waiting_, {})) then();
}

void MessageCosts::take(const Costs& costs) {
  if (!std::exchange(is_settled_, true)) rule_->take(costs);
}

}  // namespace weft::server
