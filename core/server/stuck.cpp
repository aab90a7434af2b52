// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/stuck.hpp"

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

std::string stuck_report(std::string_view operation, std::string_view nspace, std::uint64_t generation,
                         std::chrono::seconds age, std::string_view host, std::size_t arrived,
                         std::size_t members, const std::vector<Missing>& missing) {
  // Pids for the first few: enough to attach a debugger to one, without a screenful at full scale.
  constexpr std::size_t with_pid = 8;
  std::vector<std::uint32_t> ranks;
  std::string pids;
  for (const auto& one : missing) {
    ranks.push_back(one.rank);
    if (ranks.size() > with_pid) continue;
    pids += one.pid > 0 ? fmt::format("{}rank {} pid {}", pids.empty() ? "" : ", ", one.rank, one.pid)
                        : fmt::format("{}rank {} never called PMIx_Init", pids.empty() ? "" : ", ", one.rank);
  }
  if (missing.size() > with_pid) pids += ", ...";
  return fmt::format(
      "weft: [{}] {} {} of {} has been open for {} s: {} of {} local ranks are in it, missing: {} ({}). Look "
      "at what "
      "they are doing (gdb -p PID); WEFT_STUCK_AFTER sets this limit in seconds, 0 turns the report off.\n",
      host, operation, generation, nspace, age.count(), arrived, members, rank_ranges(ranks), pids);
}

}  // namespace weft::server
