// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/stuck.hpp"

#include <fmt/format.h>

namespace weft::server {

std::string rank_ranges(const std::vector<std::uint32_t>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return out;
}

namespace {

// Pids for the first few: enough to attach a debugger to one, without a screenful at full scale.
constexpr std::size_t with_pid = 8;

/// "4-6 (rank 4 pid 17, rank 5 never called PMIx_Init, ...)"
std::string ranks_and_pids(const std::vector<Missing>& missing) {
  std::vector<std::uint32_t> ranks;
  std::string pids;
  for (const auto& one : missing) {
    ranks.push_back(one.rank);
    if (ranks.size() > with_pid) continue;
    pids += one.pid > 0 ? fmt::format("{}rank {} pid {}", pids.empty() ? "" : ", ", one.rank, one.pid)
                        : fmt::format("{}rank {} never called PMIx_Init", pids.empty() ? "" : ", ", one.rank);
  }
  if (missing.size() > with_pid) pids += ", ...";
  return fmt::format("{} ({})", rank_ranges(ranks), pids);
}

constexpr const char* advice =
    "Look at what they are doing (gdb -p PID); WEFT_STUCK_AFTER sets this limit in seconds, 0 turns the "
    "report off.\n";

}  // namespace

std::string stuck_report(std::string_view operation, std::string_view nspace, std::uint64_t generation,
                         std::chrono::seconds age, std::string_view host, std::size_t arrived,
                         std::size_t members, const std::vector<Missing>& missing) {
  return fmt::format(
      "weft: [{}] {} {} of {} has been open for {} s: {} of {} local ranks are in it, missing: {}. {}", host,
      operation, generation, nspace, age.count(), arrived, members, ranks_and_pids(missing), advice);
}

std::string stuck_report_of_nodes(std::string_view nspace, std::uint64_t generation, std::chrono::seconds age,
                                  std::string_view host, std::size_t nodes,
                                  const std::vector<MissingOnNode>& missing) {
  std::string where;
  for (const auto& node : missing)
    where += fmt::format("{}{} on {}", where.empty() ? "" : "; ",
                         node.has_answered ? ranks_and_pids(node.missing) : "nobody knows who", node.host);
  return fmt::format(
      "weft: [{}] fence {} of {} has been open for {} s: {} of {} nodes are in it with all their ranks, "
      "missing: {}. {}",
      host, generation, nspace, age.count(), nodes - missing.size(), nodes, where, advice);
}

}  // namespace weft::server
