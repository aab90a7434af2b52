// SPDX-License-Identifier: BSD-3-Clause
// Which ranks are missing in which fence: the one computation that the stuck report, weftinfo and the other
// nodes read.
#include <algorithm>
#include <map>

#include "core/server/fences/fences.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

constexpr std::uint64_t most_behind = 1u << 16;  ///< attempts that a node may be behind another

bool all_arrived(const Job&, std::uint32_t) {
  return true;
}
bool none_arrived(const Job&, std::uint32_t) {
  return false;
}

}  // namespace

std::vector<FencePart> Fences::open_parts() {
  std::vector<FencePart> out;
  for (const auto& fence : boards_)
    if (is_exchanging(fence->state) || fence->board().arrived_count() != 0) out.push_back(part_of(*fence));
  return out;
}

FencePart Fences::part_of(FenceBoard& fence) {
  const auto open = fence.board().open_generation();
  FencePart part;
  if (is_exchanging(fence.state)) {
    part = part_of(fence.procs(), fence.exchange ? fence.exchange->second : open, all_arrived);
    if (fence.exchange) exchanges_.describe(*fence.exchange, part);
  } else {
    const bool is_shared = fence.is_remote() && cards_.is_ours();
    part = part_of(
        fence.procs(), is_shared ? exchanges_.attempts(fence.procs()) + 1 : open,
        [&](const Job& job, std::uint32_t local) { return fence.has_arrived(job.nspace, local, open); });
    part.age_ms = static_cast<std::uint64_t>(fence.clock.age(open, loop_.now()).count());
  }
  part.collects |= fence.wanted().collect;
  return part;
}

std::optional<FencePart> Fences::part_in(const FenceName& name) {
  const auto procs = known_participants(name);
  return procs ? std::optional(part_in(*procs, name.generation)) : std::nullopt;
}

FencePart Fences::part_in(const Participants& procs, std::uint64_t generation) {
  const auto attempts = exchanges_.attempts(procs);
  if (generation <= attempts) {
    auto part = part_of(procs, generation, all_arrived);
    exchanges_.describe({procs.signature(), generation}, part);
    return part;
  }
  const auto fence = find(procs);
  const bool is_next = generation == attempts + 1;
  if (fence == nullptr || !is_next || is_exchanging(fence->state))
    return part_of(procs, generation, none_arrived);
  const auto open = fence->board().open_generation();
  return part_of(procs, generation, [&](const Job& job, std::uint32_t local) {
    return fence->has_arrived(job.nspace, local, open);
  });
}

FencePart Fences::part_of(const Procs& procs, std::uint64_t generation, const HasArrived& has_arrived) const {
  return local_part(jobs_, procs, {runs_of(procs), generation}, has_arrived);
}

/// Nothing: not all of them are known here.
std::optional<Participants> Fences::known_participants(const FenceName& name) const {
  auto procs = jobs_.procs_of(name.procs);
  if (!procs || jobs_.nodes_of(*procs).empty()) return std::nullopt;
  note_meeting(jobs_, *procs);
  return Participants(std::move(*procs));
}

std::vector<NodeNumber> Fences::nodes_of(const FenceName& name) const {
  const auto procs = known_participants(name);
  return procs && cards_.is_ours() ? jobs_.nodes_of(*procs) : std::vector<NodeNumber>();
}

std::vector<Fences::Waiting> Fences::waiting_for(std::chrono::seconds limit) {
  std::vector<Waiting> out;
  for (const auto& fence : boards_) {
    if (is_exchanging(fence->state)) continue;
    std::chrono::seconds age{};
    const auto& board = fence->board();
    if (fence->clock.due(board.open_generation(), board.arrived_count() != 0, limit, loop_.now(), age))
      out.push_back({part_of(*fence), age, fence->is_remote() && cards_.is_ours()});
  }
  return out;
}

/// Why a fence of these processes cannot be entered here any more; PMIX_SUCCESS: it can.
pmix_status_t Fences::hopeless(const Procs& procs) const {
  auto why = PMIX_SUCCESS;
  each_local(jobs_, procs, [&](const Job& job, std::uint32_t local) {
    const auto lost = board_of(job)->members()[local].lost;
    if (lost == PMIX_ERR_PROC_ABORTED || why == PMIX_SUCCESS) why = lost;  // a death is the worse of two
  });
  return why;
}

/// Answers a node that is in this fence and asks whether this node's part has come, or will.
void Fences::answer_part(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  if (!name) return reply(PMIX_ERR_BAD_PARAM, {});
  PartReply out;
  if (const auto procs = known_participants(*name)) {
    out.part = part_in(*procs, name->generation);
    end_hopeless(*procs, name->generation);
  }
  reply(PMIX_SUCCESS, encode(out));
}

/// One attempt after the other that this node cannot take part in, up to that generation.
void Fences::end_hopeless(const Participants& procs, std::uint64_t generation) {
  auto begun = exchanges_.attempts(procs);
  if (generation > begun + most_behind) return;  // damage
  while (begun < generation) {
    const auto why = hopeless(procs);
    if (why == PMIX_SUCCESS) return;
    if (const auto fence = find(procs))
      step(fence, FenceEvent::hopeless, {why, store::Board::no_member});
    else
      static_cast<void>(exchanges_.refuse(procs, why, nullptr));
    if (begun == exchanges_.attempts(procs)) return;
    begun = exchanges_.attempts(procs);
  }
}

}  // namespace weft::server
