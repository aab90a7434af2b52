// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/records/lanes.hpp"

namespace weft::weftrun {

std::vector<std::size_t> lanes_of(const std::vector<Slice>& slices) {
  std::vector<std::vector<std::uint64_t>> lanes;  // of each the ends of what is open, the outermost first
  std::vector<std::size_t> out;
  for (const auto& slice : slices) {
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == lanes.size()) lanes.emplace_back();
      auto& open = lanes[lane];
      while (!open.empty() && open.back() <= slice.begin) open.pop_back();
      if (open.empty() || slice.end <= open.back()) break;
    }
    lanes[lane].push_back(slice.end);
    out.push_back(lane);
  }
  return out;
}

}  // namespace weft::weftrun
