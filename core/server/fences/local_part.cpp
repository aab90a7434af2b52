// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/local_part.hpp"

#include <algorithm>
#include <tuple>

#include "core/server/jobs/members.hpp"

namespace weft::server {

FencePart local_part(const Jobs& jobs, const Procs& procs, FenceName name, const HasArrived& has_arrived) {
  FencePart part;
  part.name = std::move(name);
  each_local(jobs, procs, [&](const Job& job, std::uint32_t index) {
    ++part.ranks;
    if (has_arrived(job, index)) {
      ++part.arrived;
      return;
    }
    const auto& local = job.view().local(index);
    part.missing.push_back({job.nspace, job.rank_of(index), local.pid.load(std::memory_order_relaxed),
                            static_cast<std::uint8_t>(local.state.load(std::memory_order_acquire))});
  });
  std::sort(part.missing.begin(), part.missing.end(), [](const AbsentRank& a, const AbsentRank& b) {
    return std::tie(a.nspace, a.rank) < std::tie(b.nspace, b.rank);
  });
  part.state = part.missing.empty() ? FencePart::State::entered
               : part.arrived == 0  ? FencePart::State::absent
                                    : FencePart::State::waiting;
  return part;
}

}  // namespace weft::server
