// SPDX-License-Identifier: BSD-3-Clause
// Schedules made smaller, and in words.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>

#include "tests/schedules/schedule.hpp"

namespace weft::schedules {

namespace {

/// What has gone wrong, whatever the numbers in it.
std::string kind_of(const std::string& violation) {
  std::string out;
  for (const auto c : violation)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '-' && c != ' ') out += c;
  return out;
}

/// Without the operation of that number.
void renumber(Schedule& schedule, std::size_t gone) {
  for (auto& operation : schedule.operations) {
    if (!operation.late || *operation.late < gone) continue;
    if (*operation.late == gone)
      operation.late.reset();
    else
      --*operation.late;
  }
}

}  // namespace

/// One part less at a time, as long as the same goes wrong.
Schedule shrink(Schedule schedule) {
  const auto kind = kind_of(run(schedule).violations.front());
  const auto violates = [&](const Schedule& each) {
    const auto violations = run(each).violations;
    return std::any_of(violations.begin(), violations.end(),
                       [&](const std::string& violation) { return kind_of(violation) == kind; });
  };
  const auto without = [&](auto Schedule::*parts) {
    bool has_shrunk = false;
    for (std::size_t i = (schedule.*parts).size(); i-- > 0;) {
      auto less = schedule;
      (less.*parts).erase((less.*parts).begin() + static_cast<std::ptrdiff_t>(i));
      if constexpr (std::is_same_v<decltype(parts), std::vector<Operation> Schedule::*>) renumber(less, i);
      if (!violates(less)) continue;
      schedule = std::move(less);
      has_shrunk = true;
    }
    return has_shrunk;
  };
  while (without(&Schedule::operations) | without(&Schedule::faults)) {
  }
  for (auto& operation : schedule.operations)
    for (auto& pause : operation.pauses) {
      const auto before = std::exchange(pause, microseconds(0));
      if (!violates(schedule)) pause = before;
    }
  return schedule;
}

std::string to_text(const Schedule& schedule) {
  auto out =
      fmt::format("{} nodes of {} ranks, seed {}, jitter {} ns, ends told {} wide{}\n", schedule.shape.nodes,
                  schedule.shape.ranks_a_node, schedule.shape.seed, schedule.shape.network.jitter,
                  schedule.shape.width_of_ends, schedule.finalizes ? "; each rank finalizes" : "");
  static constexpr const char* kinds[] = {"fence of the job",
                                          "fence of ranks",
                                          "construct",
                                          "fence of group",
                                          "destruct",
                                          "get",
                                          "invite",
                                          "join",
                                          "leave",
                                          "connect",
                                          "disconnect",
                                          "event",
                                          "commit",
                                          "publish",
                                          "lookup",
                                          "unpublish",
                                          "spawn",
                                          "pull",
                                          "print"};
  static constexpr const char* answers[] = {"", " declines", " no answer"};
  const auto places = schedule.shape.places();
  for (simulation::JobNumber job = 1; job < places.jobs(); ++job) {
    out +=
        fmt::format("  job {}, ranks {} to {}, on nodes", job, places.first_of(job), places.end_of(job) - 1);
    for (const auto node : places.nodes_of(job)) out += fmt::format(" {}", node);
    out += '\n';
  }
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const auto& operation = schedule.operations[i];
    out += fmt::format("  {}: {}{}{}", i, kinds[static_cast<int>(operation.kind)],
                       operation.group.empty() ? "" : " ", operation.group);
    const std::pair<bool, const char*> marks[] = {
        {operation.collects, "collects"}, {operation.adjusts, "adjusts"},      {operation.asks, "asks"},
        {operation.differs, "differs"},   {operation.is_optional, "optional"}, {operation.decides, "decides"},
        {operation.elects, "elects"},     {operation.refuses, "refused"},      {operation.is_loose, "loose"},
        {operation.is_local, "local"},    {operation.is_bare, "bare"}};
    for (const auto& [is_set, text] : marks)
      if (is_set) out += fmt::format(", {}", text);
    if (is_of_name(operation.kind))
      out += fmt::format(" of name {} in range {}, persistence {}{}", operation.name, operation.range,
                         operation.persistence, operation.waits ? ", waits" : "");
    if (operation.kind == Kind::spawn) out += fmt::format(" of job {}", operation.job);
    if (operation.leaders != 0) out += fmt::format(", {} leaders", operation.leaders);
    if (operation.timeout != 0) out += fmt::format(", {} s", operation.timeout);
    out += ':';
    if (operation.kind == Kind::invite) out += fmt::format(" by rank {}:", operation.target);
    if (operation.late) out += fmt::format(" what {} commits, of", *operation.late);
    if (operation.kind == Kind::get || operation.kind == Kind::pull)
      out += fmt::format(" rank {} by", operation.target);
    for (std::size_t m = 0; m < operation.members.size(); ++m)
      out += fmt::format(" {}+{}{}", operation.members[m], operation.pauses[m].count(),
                         operation.answers.empty() ? "" : answers[static_cast<int>(operation.answers[m])]);
    out += " us\n";
  }
  static constexpr const char* faults[] = {"end of rank", "loss of node", "leave of node", "pause of node"};
  for (const auto& fault : schedule.faults)
    out += fmt::format("  at {} us: {} {}{}\n", fault.at.count(), faults[static_cast<int>(fault.kind)],
                       fault.which,
                       fault.pause.count() == 0 ? "" : fmt::format(" for {} us", fault.pause.count()));
  return out;
}

}  // namespace weft::schedules
