// SPDX-License-Identifier: BSD-3-Clause
// What a host that carries the fences hears of them beside the cards: the callers' directives, and what
// failed here.

#include "base/log_format.hpp"
#include "core/server/fences/fences.hpp"

namespace weft::server {
namespace {

/// Failed fences of one set that the host has not heard of, because it has not answered an earlier one. More
/// than a program makes that does not give up; only one that fences in a loop without looking makes more, and
/// those are not told.
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

CardExchange::Load Fences::load_of(store::Wants wants) const noexcept {
  return {.cards = settings_.collects.value_or(wants.collect), .generated = wants.generated};
}

/// The infos that the host is given with each fence; the callers' directives follow them.
data::Infos Fences::directives_for_host(bool collect, pmix_status_t here) {
  data::Infos out;
  out.add(PMIX_COLLECT_DATA, data::Value::of(collect));
  if (here != PMIX_SUCCESS) out.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(here));
  return out;
}

/// A fence that failed here before the host was called for it. wants: of the members that were in it.
FenceBoard::Failed Fences::failure(store::Wants wants, pmix_status_t why) const {
  const bool collect = load_of(wants).is_any();
  return {collect, directives_for_host(collect, why)};
}

void Fences::failed_at_host(const BoardRef& fence, store::Generation generation, pmix_status_t why) {
  if (generation == fence->exchanged) return;  // the host was called for it
  const auto& board = fence->board();
  store::Wants wants;
  for (std::uint32_t member = 0; member < fence->members().size(); ++member)
    if (board.arrived(member, generation)) wants |= board.wants_of(member);
  auto failed = failure(wants, why);
  fence->directives.move_to(failed.directives, generation);
  fence->directives.forget_before(fence->board().open_generation());
  if (fence->untold.size() < most_untold) fence->untold.push_back(std::move(failed));
  tell_host(fence);
}

void Fences::turned_away(const ClientConnection& connection, const link::TurnedAway& message) {
  const auto fence = find(*connection.job, message.board);
  if (fence == nullptr || !is_by_host(*fence)) return;
  const auto member = fence->member_of(connection.job->nspace, connection.local);
  if (member) turned_away(fence, *member, message.generation);
}

/// The member came to a broken board, where no arrival is counted. The lost member may be back by now, and
/// others in a fence of that generation; this one has failed all the same.
void Fences::turned_away(const BoardRef& fence, std::uint32_t member, store::Generation generation) {
  const auto& board = fence->board();
  auto failed = failure(board.wants_of(member),
                        board.broken(generation) ? board.verdict(generation).status : PMIX_ERR_PROC_ABORTED);
  fence->directives.move_to(failed.directives, generation, member);
  if (!fence->absences.add(member)) return;
  if (fence->untold.size() < most_untold) fence->untold.push_back(std::move(failed));
  tell_host(fence);
}

/// A host knows the fences of a set by their order: it is called for one when it has answered the one before.
void Fences::tell_host(const BoardRef& fence) {
  if (fence->untold.empty() || fence->state != FenceState::gathering || !may_exchange_) return;
  auto [collect, directives] = std::move(fence->untold.front());
  fence->untold.pop_front();
  fence->state = FenceState::abandoned_by_host;
  cards_.report_failure(fence->procs(), collect, std::move(directives),
                        [this, weak = std::weak_ptr(fence)](pmix_status_t status) {
                          loop_.post([this, weak, status] {
                            if (const auto open = weak.lock()) exchange_ended(open, {status});
                          });
                        });
}

}  // namespace weft::server
