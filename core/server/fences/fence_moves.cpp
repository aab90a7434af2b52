// SPDX-License-Identifier: BSD-3-Clause
// What moves a set's fences from state to state: the actions of fence_steps.hpp.
#include <memory>
#include <utility>

#include "base/log_format.hpp"
#include "core/link/messages.hpp"
#include "core/server/fences/fences.hpp"

namespace weft::server {

using store::Board;

namespace {

bool is_told() noexcept {
  return base::is_logged(base::LogLevel::debug, base::LogPart::fences);
}

/// A set of processes in a line of the log: its first, and how many entries it has.
std::string first_of(const Procs& procs) {
  if (procs.empty()) return "no process";
  const auto rank = procs.front().rank;
  auto text = std::string(link::nspace_of(procs.front())) + ":" +
              (rank == PMIX_RANK_WILDCARD ? std::string("*") : std::to_string(rank));
  if (procs.size() > 1) text += " and " + std::to_string(procs.size() - 1) + " more";
  return text;
}

}  // namespace

void Fences::step(const BoardRef& fence, FenceEvent event, Verdict cause) {
  const auto [action, next] = fence_step(fence->state, event);
  fence->state = next;
  auto& board = fence->board();
  const auto open = board.open_generation();
  switch (action) {
    case FenceAction::none:
      return;
    case FenceAction::exchange:
      return begin_exchange(fence);
    case FenceAction::complete:
      board.complete(fence->exchanged);
      break;
    case FenceAction::fail:
      board.abort(fence->exchanged, cause);
      break;
    case FenceAction::refuse:
      board.abort(open, cause);
      failed_here(fence, open, cause.status);
      break;
    case FenceAction::give_up:
      if (fence->exchange) exchanges_.give_up(*fence->exchange, cause.status);
      return;
    case FenceAction::lose:
      if (board.lose(cause.member, cause.status)) failed_here(fence, open, cause.status);
      break;
    case FenceAction::lose_later:
      fence->lost_meanwhile.push_back(cause);
      return;
    case FenceAction::settle:
      break;
  }
  look(fence);
}

/// All local members of a set that spans nodes have arrived.
void Fences::begin_exchange(const BoardRef& fence, Try which) {
  const auto generation = fence->exchanged = fence->board().open_generation();
  const auto load = which == Try::with_everything ? CardExchange::Load{.cards = true, .generated = true}
                                                  : load_of(fence->wanted());
  if (is_told())
    base::debug(base::LogPart::fences, "all members here are in generation {} of {}: {} begins", generation,
                first_of(fence->procs()), load.is_any() ? "an exchange" : "a barrier");
  fence->traced = begin_trace(*fence);
  auto directives = directives_for_host(load.is_any(), PMIX_SUCCESS);
  fence->directives.move_to(directives, generation);
  if (!cards_.is_ours()) fence->state = FenceState::by_host;
  const auto ended = [this, which, weak = std::weak_ptr(fence)](CardExchange::End end) {
    if (const auto open = weak.lock()) exchange_ended(open, end, which);
  };
  const auto is_beginning = std::make_shared<bool>(true);
  const auto key =
      cards_.begin(fence->procs(), load, directives, [this, ended, is_beginning](CardExchange::End end) {
        // An exchange that ends at once is handled in the next turn: a member that keeps storing
        // "all are here" would have the server begin the next generation inside this one, and so on without
        // an end.
        *is_beginning ? loop_.post([ended, end] { ended(end); }) : ended(end);
      });
  *is_beginning = false;
  if (key) fence->exchange = key;
}

/// In the trace of the first job that the set is of and that a launcher traces. Empty: there is none.
store::KeptEntry Fences::begin_trace(const FenceBoard& fence) const {
  for (const auto& proc : fence.procs().procs()) {
    const auto* const job = jobs_.known(link::nspace_of(proc));
    if (job != nullptr && job->trace)
      return {job->trace, store::TraceCall::server_fence, static_cast<std::uint32_t>(fence.exchanged)};
  }
  return {};
}

void Fences::exchange_ended(const BoardRef& fence, CardExchange::End end, Try which) {
  if (is_told())
    base::debug(base::LogPart::fences, "generation {} of {} has ended between the nodes: status {}",
                fence->exchanged, first_of(fence->procs()), end.status);
  fence->traced.end(end.status);
  fence->exchange.reset();
  // Where the ranks of one node ask for data or keys all nodes bring them, as one rank that asks is enough on
  // a node: all nodes know that they disagree, and begin anew with everything.
  const bool is_again = end.nodes_disagree && which == Try::first && fence->state == FenceState::exchanging;
  if (is_again) return begin_exchange(fence, Try::with_everything);
  const auto lost = std::exchange(fence->lost_meanwhile, {});
  step(fence, end.status == PMIX_SUCCESS ? FenceEvent::succeeded : FenceEvent::failed,
       {end.status, Board::no_member});
  for (const auto& cause : lost) step(fence, FenceEvent::member_lost, cause);
}

/// The generation has failed here before it was exchanged, so the other nodes' fails with it, and all go on
/// with the same number.
void Fences::failed_here(const BoardRef& fence, store::Generation generation, pmix_status_t why) {
  if (fence->is_remote() && cards_.is_ours())
    static_cast<void>(exchanges_.refuse(fence->procs(), why, nullptr));
  if (is_by_host(*fence)) failed_at_host(fence, generation, why);
}

/// Something at the board has changed: ends what has ended, and goes on with a generation that is full.
void Fences::look(const BoardRef& fence) {
  std::vector<FenceBoard::Reply> ended;
  fence->step(ended);
  send_moved(*fence);
  fence->step(ended);  // what has ended meanwhile had no notice to wait for
  for (const auto& reply : ended) {
    answer(*fence, reply);
    if (reply.is_turned_away && is_by_host(*fence)) turned_away(fence, reply.member, reply.generation);
  }
  tell_host(fence);
  auto& board = fence->board();
  const bool is_ready = may_exchange_ && fence->is_remote() && fence->is_full() &&
                        !board.broken(board.open_generation()) && has_all_directives(*fence);
  if (is_ready) return step(fence, FenceEvent::full);
  // A set without a board in the segment is known as long as a member waits.
  if (!fence->is_of_job() && !fence->is_pooled()) (void)give_back(fence);
}

/// A message to each member that waits for one, where a generation has ended.
void Fences::send_moved(FenceBoard& fence) {
  auto& board = fence.board();
  if (!board.notice_wanted()) return;
  const auto payload = link::encode(link::BoardMoved{board.open_generation(), fence.number()});
  const auto& members = fence.members();
  for (std::uint32_t member = 0; member < members.size(); ++member) {
    if (board.cell(member).notify.load(std::memory_order_relaxed) == 0) continue;
    const auto* job = jobs_.find(members[member].nspace);
    if (job == nullptr) continue;
    const auto connection = job->connections.find(members[member].local);
    if (connection == job->connections.end() || !connection->second->has_segment) continue;
    if (fence.is_stood_in_for(member)) continue;
    if (board.take_notice(member)) connection->second->send(link::MessageType::board_moved, 0, payload);
  }
}

/// The reply to a fence by message; it offers the set's board to a client that can go there by itself.
void Fences::answer(FenceBoard& fence, const FenceBoard::Reply& reply) {
  if (!fence.is_pooled() || !reply.is_last || !reply.connection->has_segment)
    return reply.connection->reply(reply.tag, reply.status);
  fence.begin_at(reply.member, reply.next);
  const link::BoardOffer offer{reply.status, fence.number(), fence.incarnation(), reply.member, reply.next};
  reply.connection->send(link::MessageType::board_offer, reply.tag, link::encode(offer));
}

}  // namespace weft::server
