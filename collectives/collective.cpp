// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/collective.hpp"

namespace weft::collectives {
namespace {

constexpr std::uint64_t postponed = std::uint64_t{1}
                                    << 63;  ///< in a table of lengths: the bytes come in phase 1

}  // namespace

/// A table of lengths, then the bytes. A block that is not sent in this phase has its length alone.
std::vector<std::byte> Collective::pack(const Blocks& blocks) const {
  base::Writer out;
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < blocks.count; ++i)
    if (const auto b = block(blocks, i); goes_in_this_phase(b)) bytes += contributions[b].size();
  out.reserve(blocks.count * sizeof(std::uint64_t) + bytes);
  for (std::uint32_t i = 0; i < blocks.count; ++i) {
    const auto b = block(blocks, i);
    out.u64(goes_in_this_phase(b) ? contributions[b].size() : phase == 0 ? lengths[b] | postponed : 0);
  }
  for (std::uint32_t i = 0; i < blocks.count; ++i)
    if (const auto b = block(blocks, i); goes_in_this_phase(b)) out.raw(contributions[b]);
  return std::move(out).take();
}

bool Collective::unpack(const Blocks& blocks, Bytes payload) {
  base::Reader in(payload);
  base::Reader table(in.raw(std::size_t{blocks.count} * sizeof(std::uint64_t)));
  for (std::uint32_t i = 0; i < blocks.count && in.ok(); ++i) {
    const auto b = block(blocks, i);
    const auto length = table.u64();
    if (phase == 0 && (length & postponed) != 0) {
      lengths[b] = length & ~postponed;
      if (lengths[b] == 0 || lengths[b] > most_contribution) return false;
      continue;
    }
    if (phase == 1 && length != lengths[b]) return false;
    if (phase == 1 && lengths[b] == 0) continue;
    const Bytes bytes = in.raw(length);
    if (in.ok()) contributions[b].assign(bytes.begin(), bytes.end());
  }
  return in.done();
}

/// Marks the message as arrived. False: no step waits for it, or it came before.
bool Collective::mark(Index from, const Blocks& blocks) {
  for (std::size_t s = step; s < schedule.size(); ++s) {
    const auto& receives = schedule[s].receives;
    for (std::size_t r = 0; r < receives.size(); ++r)
      if (receives[r] == PeerBlocks{from, blocks}) return !std::exchange(arrived[s][r], char{1});
  }
  return false;
}

bool Collective::step_has_arrived() const {
  return std::find(arrived[step].begin(), arrived[step].end(), char{0}) == arrived[step].end();
}

}  // namespace weft::collectives
