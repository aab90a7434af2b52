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
  if (!procs) return std::nullopt;
  const auto attempts = exchanges_.attempts(*procs);
  if (name.generation <= attempts) {
    auto part = part_of(*procs, name.generation, all_arrived);
    exchanges_.describe({procs->signature(), name.generation}, part);
    return part;
  }
  const auto fence = find(*procs);
  const bool is_next = name.generation == attempts + 1;
  if (fence == nullptr || !is_next || is_exchanging(fence->state))
    return part_of(*procs, name.generation, none_arrived);
  const auto open = fence->board().open_generation();
  return part_of(*procs, name.generation, [&](const Job& job, std::uint32_t local) {
    return fence->has_arrived(job.nspace, local, open);
  });
}

FencePart Fences::part_of(const Procs& procs, std::uint64_t generation, const HasArrived& has_arrived) const {
  return local_part(jobs_, procs, {runs_of(procs), generation}, has_arrived);
}

/// Nothing: ranks of no job that is registered here.
std::optional<Participants> Fences::known_participants(const FenceName& name) const {
  for (const auto& run : name.procs) {
    const auto* job = jobs_.find(run.nspace);
    const bool is_known =
        job != nullptr && (run.first == PMIX_RANK_WILDCARD || run.last < job->view().ranks());
    if (!is_known) return std::nullopt;
  }
  auto procs = jobs_.procs_of(name.procs);
  if (!procs) return std::nullopt;
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
  const auto procs = known_participants(*name);
  const auto part = part_in(*name);
  if (!procs || !part) return reply(PMIX_ERR_NOT_FOUND, {});
  if (name->generation > exchanges_.attempts(*procs)) {
    if (name->generation - exchanges_.attempts(*procs) > most_behind) return reply(PMIX_ERR_BAD_PARAM, {});
    // One attempt after the other, until the one that was asked for.
    for (auto last = exchanges_.attempts(*procs); last < name->generation;
         last = exchanges_.attempts(*procs)) {
      const auto why = hopeless(*procs);
      if (why == PMIX_SUCCESS) break;
      const auto fence = find(*procs);
      fence != nullptr ? step(fence, FenceEvent::hopeless, {why})
                       : static_cast<void>(exchanges_.refuse(*procs, why, nullptr));
      if (exchanges_.attempts(*procs) == last) break;
    }
  }
  reply(PMIX_SUCCESS, encode(*part));
}

}  // namespace weft::server
