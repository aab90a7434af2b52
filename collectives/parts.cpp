// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/parts.hpp"

#include <numeric>
#include <utility>

namespace weft::collectives {
namespace {

void divide(std::vector<PeerBlocks>& messages, const std::vector<std::uint64_t>& lengths,
            std::uint64_t limit) {
  std::vector<PeerBlocks> out;
  const auto n = lengths.size();
  for (const auto& [peer, blocks] : messages) {
    const std::size_t first = number(blocks.first);
    std::uint32_t begin = 0;
    std::uint64_t bytes = 0;
    const auto add = [&, to = peer](std::uint32_t end) {
      out.push_back({to, {Index(static_cast<std::uint32_t>((first + begin) % n)), end - begin}});
      begin = end;
      bytes = 0;
    };
    for (std::uint32_t i = 0; i < blocks.count; ++i) {
      const auto length = lengths[(first + i) % n];
      if (i > begin && bytes + length > limit) add(i);
      bytes += length;
    }
    add(blocks.count);
  }
  messages = std::move(out);
}

}  // namespace

Schedule in_parts(Schedule schedule, const std::vector<std::uint64_t>& lengths, std::uint64_t limit) {
  if (std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) <= limit) return schedule;
  for (auto& step : schedule) {
    divide(step.sends, lengths, limit);
    divide(step.receives, lengths, limit);
  }
  return schedule;
}

}  // namespace weft::collectives
