// SPDX-License-Identifier: BSD-3-Clause
// What a host that carries the fences hears of them beside the cards: the callers' directives, and what failed here.
#include <asio/post.hpp>

#include "base/log_format.hpp"
#include "core/server/fences/fences.hpp"

namespace weft::server {
namespace {

/// Failed fences of one set that the host has not heard of, because it has not answered an earlier one. More than a program makes
/// that does not give up; only one that fences in a loop without looking makes more, and those are not told.
constexpr std::size_t most_untold = 64;

}  // namespace

bool Fences::is_by_host(const FenceBoard& fence) const noexcept {
  return fence.is_remote() && cards_.is_by_host();
}

void Fences::take_directives(const ClientConnection& connection, link::FenceDirectives message) {
  const auto fence = find(*connection.job, message.board);
  if (fence == nullptr || !is_by_host(*fence)) return;
  const auto member = fence->member_of(connection.job->nspace, connection.local);
  if (!member || fence->board().outcome(message.generation) != store::Board::Outcome::open) return;
  fence->directives.add(*member, message.generation, std::move(message.directives));
  look(fence);
}

/// Some have told that their directives follow: a notice of the board may be here before a message.
bool Fences::has_all_directives(FenceBoard& fence) const {
  if (!is_by_host(fence)) return true;
  const auto open = fence.board().open_generation();
  for (std::uint32_t member = 0; member < fence.members().size(); ++member)
    if (fence.board().directives_follow(member) && !fence.directives.has(member, open)) return false;
  return true;
}

/// What the host is given with a generation: what the library decides, then what the callers wanted.
data::Infos Fences::directives_for_host(FenceBoard& fence, store::Generation generation, bool collect,
                                        pmix_status_t here) {
  data::Infos out;
  out.add(PMIX_COLLECT_DATA, data::Value::of(collect));
  if (here != PMIX_SUCCESS) out.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(here));
  fence.directives.move_to(out, generation);
  fence.directives.forget_before(fence.board().open_generation());
  return out;
}

/// The generation has failed here before it was exchanged.
void Fences::failed_at_host(const BoardRef& fence, store::Generation generation, pmix_status_t why) {
  if (generation == fence->exchanged || fence->untold.size() == most_untold) return;
  const bool collect = settings_.collects.value_or(fence->collects());
  fence->untold.push_back({collect, directives_for_host(*fence, generation, collect, why)});
  tell_host(fence);
}

/// The member came to a broken board, where no arrival is counted.
void Fences::turned_away(const BoardRef& fence, std::uint32_t member, store::Generation generation) {
  if (is_by_host(*fence) && fence->absences.add(member))
    failed_at_host(fence, generation, fence->board().verdict(generation).status);
}

/// A host knows the fences of a set by their order: it is called for one when it has answered the one before.
void Fences::tell_host(const BoardRef& fence) {
  if (fence->untold.empty() || fence->state != FenceState::gathering || !may_exchange_) return;
  auto [collect, directives] = std::move(fence->untold.front());
  fence->untold.pop_front();
  fence->state = FenceState::abandoned_by_host;
  cards_.report_failure(fence->procs(), collect, std::move(directives),
                        [this, weak = std::weak_ptr(fence)](pmix_status_t status) {
                          asio::post(loop_, [this, weak, status] {
                            if (const auto open = weak.lock()) exchange_ended(open, {status});
                          });
                        });
}

}  // namespace weft::server
