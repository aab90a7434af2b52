// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/start/start_times.hpp"

#include <algorithm>
#include <array>

#include "core/data/types/array.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

Result<data::Value> to_value(const FirstCalls& calls) {
  const std::array<std::uint64_t, 4> numbers{calls.ranks, calls.last_begun, calls.after_last, calls.longest};
  return data::value_of_array(PMIX_UINT64, numbers.data(), numbers.size());
}

}  // namespace

/// What is kept besides is when the last has left: last_begun + after_last.
void FirstCalls::add(const store::FirstCall& call) noexcept {
  const auto begun = call.begun(), ended = call.ended();
  if (begun == 0 || ended < begun) return;
  const auto last_ended = std::max(last_begun + after_last, ended);
  last_begun = std::max(last_begun, begun);
  after_last = last_ended - last_begun;
  longest = std::max(longest, ended - begun);
  ++ranks;
}

StartTimes start_times_of(const Job& job) noexcept {
  StartTimes out;
  for (std::uint32_t i = 0; i < job.view().local_count(); ++i) {
    const auto* const cell = job.writer->start_cell(i);
    if (cell == nullptr) break;
    out.init.add(cell->init);
    out.fence.add(cell->fence);
    out.fetch.add(cell->fetch);
  }
  out.fence_bytes = job.first_fence_bytes;
  return out;
}

Result<data::Value> to_value(const StartTimes& times) {
  data::Infos out;
  for (const auto& [key, calls] :
       {std::pair{"weft.start.init", &times.init}, std::pair{"weft.start.fence", &times.fence},
        std::pair{"weft.start.fetch", &times.fetch}}) {
    auto value = to_value(*calls);
    if (!value) return value;
    out.add(key, std::move(*value));
  }
  out.add("weft.bytes", data::Value::of(times.fence_bytes));
  return store::array_of(out);
}

}  // namespace weft::server
