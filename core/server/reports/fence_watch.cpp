// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/fence_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/log.hpp"

namespace weft::server {
namespace {

// How often exchanges that are under way are looked after.
constexpr std::chrono::seconds poll_period{1};

void print(const std::string& text) {
  base::log(base::LogLevel::warn, base::LogPart::fences, text);
}

}  // namespace

/// A fence between nodes that the others are asked about: those before this node first.
struct FenceWatch::Inquiry {
  FenceName name;
  std::string remark{};  ///< as FencePart
  std::vector<NodeNumber> members;
  std::chrono::seconds age{};
  bool is_report = false;
  bool is_ours_to_tell = false;  ///< no other node is in charge of it
  std::string also{};            ///< as StuckFence
  std::vector<std::pair<NodeNumber, FencePart>> parts;
  std::vector<NodeNumber> silent;
  bool is_other_in_charge = false;
  std::size_t open_requests = 0;
};

FenceWatch::FenceWatch(Loop& loop, Fences& fences, GroupReports& groups, Cluster& cluster,
                       Exchanges& exchanges, std::chrono::seconds stuck_after)
    : loop_(loop),
      fences_(fences),
      groups_(groups),
      cluster_(cluster),
      exchanges_(exchanges),
      stuck_after_(stuck_after) {
  arm_report();
}

// ---- fences that wait for processes of this node

void FenceWatch::arm_report() {
  if (stuck_after_.count() == 0) return;
  // Looks four times in the limit, so a report is at most a quarter late.
  const auto period = std::max<std::chrono::milliseconds>(std::chrono::milliseconds(stuck_after_) / 4,
                                                          std::chrono::milliseconds(250));
  report_timer_ = std::make_unique<Timer>(loop_, period, [this] {
    report_waiting();
    arm_report();
  });
}

void FenceWatch::report_waiting() {
  auto waiting = fences_.waiting_for(stuck_after_);
  std::ranges::move(groups_.waiting_for(stuck_after_), std::back_inserter(waiting));
  for (auto& [part, age, is_between_nodes, is_ours_to_tell, also] : waiting) {
    if (!is_between_nodes) {
      std::vector<StuckFence::OnNode> missing;
      if (!part.missing.empty()) missing.push_back({"", part.missing, true});
      print(stuck_report({.name = part.name,
                          .remark = part.remark,
                          .age = age,
                          .members = part.ranks,
                          .arrived = part.arrived,
                          .unit = "local ranks",
                          .missing = std::move(missing),
                          .also = std::move(also)}));
      continue;
    }
    auto inquiry = std::make_shared<Inquiry>();
    inquiry->name = part.name;
    inquiry->remark = part.remark;
    inquiry->members = fences_.nodes_of(part.name);
    inquiry->age = age;
    inquiry->is_report = true;
    inquiry->is_ours_to_tell = is_ours_to_tell;
    inquiry->also = std::move(also);
    inquiry->parts.emplace_back(cluster_.self(), std::move(part));
    inquire(std::move(inquiry), true);
  }
}

// ---- fences that wait for other nodes

void FenceWatch::follow_exchanges() {
  if (is_polling_ || exchanges_.open().empty()) return;
  is_polling_ = true;
  poll_timer_ = std::make_unique<Timer>(loop_, poll_period, [this] {
    is_polling_ = false;
    poll();
    follow_exchanges();
  });
}

/// Asks the other nodes after 2, 4, 8, ... seconds: a member may have finalized and will never arrive.
void FenceWatch::poll() {
  std::erase_if(reported_, [this](const auto& key) { return exchanges_.open().count(key) == 0; });
  for (const auto& [key, fence] : exchanges_.open()) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - fence.since);
    const auto seconds = age.count();
    const bool is_power = seconds >= 2 && (seconds & (seconds - 1)) == 0;
    const bool is_stuck = stuck_after_.count() != 0 && age >= stuck_after_ && reported_.count(key) == 0;
    if (!is_power && !is_stuck) continue;
    if (is_stuck) reported_.insert(key);
    auto inquiry = std::make_shared<Inquiry>();
    inquiry->name = Exchanges::name_of(fence.procs, key.second);
    inquiry->members = fence.members;
    inquiry->age = age;
    inquiry->is_report = is_stuck;
    inquire(std::move(inquiry), true);
  }
}

void FenceWatch::inquire(std::shared_ptr<Inquiry> inquiry, bool is_lower_half) {
  std::vector<NodeNumber> asked;
  for (const auto node : inquiry->members)
    if (is_lower_half ? node < cluster_.self() : node > cluster_.self()) asked.push_back(node);
  const auto next = [this, inquiry, is_lower_half] {
    if (!is_lower_half) return conclude(*inquiry);
    if (!inquiry->is_other_in_charge) inquire(inquiry, false);
  };
  inquiry->open_requests = asked.size();
  if (asked.empty()) return next();
  for (const auto node : asked)
    exchanges_.ask(inquiry->name, node, [inquiry, node, is_lower_half, next](const FencePart* part) {
      if (part == nullptr)
        inquiry->silent.push_back(node);
      else
        inquiry->parts.emplace_back(node, *part);
      inquiry->is_other_in_charge |= is_lower_half && !inquiry->is_ours_to_tell && part != nullptr &&
                                     part->state != FencePart::State::absent;
      if (--inquiry->open_requests == 0) next();
    });
}

void FenceWatch::conclude(const Inquiry& inquiry) const {
  if (!inquiry.is_report) return;
  StuckFence fence{.name = inquiry.name,
                   .remark = inquiry.remark,
                   .age = inquiry.age,
                   .unit = "nodes",
                   .missing = {},
                   .also = inquiry.also};
  fence.members = inquiry.members.size();
  for (const auto& [node, part] : inquiry.parts)
    if (part.state != FencePart::State::entered)
      fence.missing.push_back({cluster_.name_of(node), part.missing, true});
  for (const auto node : inquiry.silent) fence.missing.push_back({cluster_.name_of(node), {}, false});
  if (fence.missing.empty() && fence.also.empty()) return;  // the last one has come meanwhile
  fence.arrived = fence.members - fence.missing.size();
  print(stuck_report(fence));
}

}  // namespace weft::server
