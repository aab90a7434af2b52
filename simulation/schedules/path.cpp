// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/schedules/path.hpp"

#include <algorithm>

#include "transport/mesh/envelope.hpp"

namespace weft::simulation {

/// Of all messages of the step between the two, with an envelope each.
std::uint64_t Releases::bytes_of(Member from, StepNumber step, Member to) const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < table_.sends(from, step); ++i)
    if (const auto sent = table_.send(from, step, i); sent.peer == to)
      bytes += sent.bytes + mesh::Envelope::bytes;
  return bytes;
}

void Releases::path_to(Member member, const std::vector<sim::Time>& begins, CollectiveRun& out) const {
  auto steps_done = table_.steps(member);
  while (steps_done > 0) {
    const Release& release = of(member, steps_done - 1);
    if (release.from == member) {
      --steps_done;
      continue;
    }
    const auto sender = release.from;
    const auto sent_in = release.from_step;
    const auto begun = sent_in == 0 ? begins[sender] : of(sender, sent_in - 1).at;
    out.path.push_back({sender, member, begun, release.at, bytes_of(sender, sent_in, member)});
    member = sender;
    steps_done = sent_in;
  }
  out.begun = begins[member];
  std::reverse(out.path.begin(), out.path.end());
}

const Hop* CollectiveRun::slowest_hop() const noexcept {
  const auto slowest = std::max_element(path.begin(), path.end(), [](const Hop& a, const Hop& b) {
    return a.ended - a.begun < b.ended - b.begun;
  });
  return slowest == path.end() ? nullptr : &*slowest;
}

}  // namespace weft::simulation
