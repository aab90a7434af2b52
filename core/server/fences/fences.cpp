// SPDX-License-Identifier: BSD-3-Clause
// Which set has which board, and how members come to it. The moves of a set are in fence_moves.cpp, the
// answers about it in fence_parts.cpp.
#include "core/server/fences/fences.hpp"

#include <algorithm>
#include <utility>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/deadline.hpp"
#include "core/data/names/directive.hpp"
#include "core/events/range.hpp"
#include "core/server/jobs/members.hpp"
#include "core/server/jobs/registration_wait.hpp"

namespace weft::server {
namespace {

store::Wants wants_of(const data::Infos& directives) {
  return {data::is_set(directives, PMIX_COLLECT_DATA), false,
          data::is_set(directives, PMIX_COLLECT_GENERATED_JOB_INFO)};
}

}  // namespace

Fences::Fences(Loop& loop, Jobs& jobs, CardExchange& cards, Cluster& cluster, Exchanges& exchanges,
               shm::Segment& segment, Settings settings)
    : loop_(loop),
      jobs_(jobs),
      cards_(cards),
      exchanges_(exchanges),
      settings_(settings),
      boards_(segment, store::PoolPart::fences) {
  cluster.on(RequestType::fence_part,
             [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_part(body, reply); });
}

Fences::~Fences() = default;

// ---- jobs and their processes

void Fences::open_job(const Job& job) {
  // Of the same job where it lay before, at which no member has been.
  if (const auto before = board_of(job)) boards_.drop(before);
  FenceBoard::Shape shape{Participants(whole_job(job.nspace)), {}, job.view().nodes() > 1};
  for (std::uint32_t local = 0; local < job.view().header().local_capacity; ++local)
    shape.members.push_back({job.nspace, local});
  const store::SetBoard at(job.writer->board(), store::own_job_board, 0, shape.members.size(),
                           shape.is_remote);
  const auto made = boards_.add(std::make_shared<FenceBoard>(std::move(shape), at));
  if (is_by_host(*made)) job.writer->board().hand_to_host();
}

void Fences::close_job(const std::string& nspace) {
  // Processes of other namespaces may be in a fence with it.
  for (const auto& fence : boards_.copy()) {
    const Procs& procs = fence->procs();
    if (std::none_of(procs.begin(), procs.end(), [&](const auto& p) { return link::nspace_of(p) == nspace; }))
      continue;
    auto& members = fence->members();
    for (std::uint32_t member = 0; member < members.size() && !fence->is_of_job(); ++member)
      if (members[member].nspace == nspace) step(fence, FenceEvent::member_lost, {PMIX_ERR_UNREACH, member});
    // Members of other namespaces that wait here for one another.
    if (!fence->is_of_job() && fence->has_requests())
      step(fence, FenceEvent::hopeless, {PMIX_ERR_UNREACH, store::Board::no_member});
    // Of this namespace alone: no process waits for its end.
    if (fence->exchange) exchanges_.abort(*fence->exchange, PMIX_ERR_UNREACH);
    boards_.drop(fence);
  }
  cards_.forget(nspace);
  exchanges_.forget(nspace);
}

void Fences::join(const Job& job, std::uint32_t local) {
  for (const auto& fence : boards_.copy()) {
    const auto member = fence->member_of(job.nspace, local);
    if (!member) continue;
    const bool is_back = std::exchange(fence->members()[*member].lost, PMIX_SUCCESS) != PMIX_SUCCESS;
    auto& board = fence->board();
    const auto open = board.open_generation();
    fence->directives.forget(*member);
    if (board.rejoin(*member)) failed_here(fence, open, PMIX_ERR_PROC_ABORTED);
    if (!board.broken(open + 1)) fence->absences.clear();
    // All ranks of a job count the same fences; a member of another set begins with the first one that it
    // enters.
    if (fence->is_of_job()) fence->begin_at(*member, board.open_generation());
    if (!fence->is_of_job() && is_back) fence->begin_anew(*member);
    look(fence);
  }
}

void Fences::lose(const Job& job, std::uint32_t local, pmix_status_t status) {
  for (const auto& fence : boards_.copy()) {
    const auto member = fence->member_of(job.nspace, local);
    if (!member) continue;
    fence->members()[*member].lost = status;
    step(fence, FenceEvent::member_lost, {status, *member});
  }
}

void Fences::disconnect(const ClientConnection& connection) {
  if (connection.job == nullptr) return;
  for (const auto& fence : boards_) {
    const auto member = fence->member_of(connection.job->nspace, connection.local);
    if (!member) continue;
    fence->drop(connection);
    // A wish of a process that has ended must not keep the board's counter up.
    (void)fence->board().take_notice(*member);
  }
}

// ---- sets and their boards

Fences::BoardRef Fences::board_of(const Job& job) const {
  return find(whole_job(job.nspace));
}

Fences::BoardRef Fences::find(const Procs& procs) const {
  return boards_.find_if([&](const FenceBoard& fence) { return is_same(fence.procs(), procs); });
}

Fences::BoardRef Fences::find(const Job& job, store::BoardNumber number) const {
  return number == store::own_job_board ? board_of(job) : boards_.find(number);
}

/// The set's board; a new one where it has none. Null: a participant that this server has never heard of.
Fences::BoardRef Fences::open(const Procs& procs) {
  const auto known = find(procs);
  auto shape = shape_of(known != nullptr ? known->procs() : Participants(procs));
  if (!shape) return nullptr;
  note_meeting(jobs_, procs);
  if (known != nullptr) {
    // Local ranks of a namespace may have been added since; a board that is in use goes on as it is.
    if (known->members().size() == shape->members.size() || !give_back(known)) return known;
  }
  const auto place = take_place(*shape);
  if (!place) ++counters_.no_board;
  const auto made = boards_.add(place ? std::make_shared<FenceBoard>(std::move(*shape), *place)
                                      : std::make_shared<FenceBoard>(std::move(*shape)));
  if (is_by_host(*made)) made->board().hand_to_host();
  // A loss that is known at the board of a process's job holds here, too; a death weighs more than a
  // finalize, so deaths come first.
  auto& members = made->members();
  for (auto& member : members)
    member.lost = board_of(*jobs_.known(member.nspace))->members()[member.local].lost;
  for (const bool is_dead : {true, false})
    for (std::uint32_t member = 0; member < members.size(); ++member)
      if (const auto lost = members[member].lost;
          lost != PMIX_SUCCESS && (lost == PMIX_ERR_PROC_ABORTED) == is_dead)
        made->board().lose(member, lost);
  return made;
}

std::optional<FenceBoard::Shape> Fences::shape_of(const Participants& procs) const {
  FenceBoard::Shape out{procs, {}, false};
  for (const auto& proc : procs.procs()) {
    const auto* job = jobs_.known(link::nspace_of(proc));
    if (job == nullptr) return std::nullopt;
    const auto& view = job->view();
    if (proc.rank == PMIX_RANK_WILDCARD)
      out.is_remote |= view.local_count() < view.ranks();
    else if (proc.rank >= view.ranks())
      return std::nullopt;
    else
      out.is_remote |= view.local_index(proc.rank) == store::none;
  }
  each_local(jobs_, procs, [&](const Job& job, std::uint32_t local) {
    out.members.push_back({job.nspace, local});
  });
  return out;
}

/// Nothing: the set has none in the segment.
std::optional<store::SetBoard> Fences::take_place(const FenceBoard::Shape& shape) {
  const auto& members = shape.members;
  // Each job has a memory of its own, so processes of several have none in which they could meet.
  if (members.empty() || std::any_of(members.begin(), members.end(), [&](const auto& member) {
        return member.nspace != members.front().nspace;
      }))
    return std::nullopt;
  return boards_.take(jobs_.known(members.front().nspace)->view(), members.size(), shape.is_remote,
                      boards_.capacity(), [this](const BoardRef& fence) { return give_back(fence); });
}

/// False: a fence of the set is open.
bool Fences::give_back(const BoardRef& fence) {
  if (fence->is_of_job() || fence->has_requests() || fence->state != FenceState::gathering) return false;
  return boards_.give_back(fence);
}

/// procs: canonical, so those of other namespaces are first or last, and each rank is named once: the count
/// says whether all are, unless one is outside of the job.
bool Fences::means_whole_job(const Procs& procs, const ClientConnection& connection) const {
  const auto& job = *connection.job;
  if (!link::is_of(procs.front(), job.nspace) || !link::is_of(procs.back(), job.nspace)) return false;
  const auto ranks = job.view().ranks();
  return is_whole_job(procs) || (procs.size() == ranks && procs.back().rank < ranks);
}

// ---- what clients send

void Fences::enter(const ConnectionRef& connection, std::uint64_t tag, link::Fence message) {
  std::string_view known;
  for (const auto& proc : message.procs) {
    const auto nspace = link::nspace_of(proc);
    if (nspace == known) continue;
    if (jobs_.known(nspace) == nullptr)
      return enter_when_registered(std::string(nspace), connection, tag, std::move(message));
    known = nspace;
  }
  auto procs = canonical(std::move(message.procs));
  if (procs.empty()) return connection->reply(tag, PMIX_ERR_BAD_PARAM);
  // However it is spelt: the others of this job are at its board.
  if (means_whole_job(procs, *connection)) procs = whole_job(connection->job->nspace);
  if (!events::covers(procs, connection->proc)) return connection->reply(tag, PMIX_ERR_BAD_PARAM);
  const auto fence = is_whole_job(procs) ? find(procs) : open(procs);
  if (fence == nullptr) return connection->reply(tag, PMIX_ERR_NOT_FOUND);
  const auto* infos = message.directives.data();
  if (!is_by_host(*fence) &&
      data::first_not_understood("PMIx_Fence", infos, message.directives.size()) != nullptr)
    return connection->reply(tag, PMIX_ERR_NOT_SUPPORTED);
  const auto member = fence->member_of(connection->job->nspace, connection->local);
  if (!member)
    return connection->reply(tag, PMIX_ERROR);  // a local rank that was added while the set's board is in use
  ++counters_.by_message;
  auto* request = fence->enter(*member, connection, tag, wants_of(message.directives));
  if (request == nullptr)
    return connection->reply(tag, PMIX_ERROR);  // it is at the board by itself at the same time
  if (const auto deadline = data::timeout_in(message.directives).value_or(std::nullopt))
    arm_deadline(fence, *member, request->entry.generation, *deadline);
  if (is_by_host(*fence))
    fence->directives.add(*member, request->entry.generation, std::move(message.directives));
  look(fence);
}

/// A host registers the namespaces of a fence in any order, also after a rank of one has entered.
void Fences::enter_when_registered(const std::string& nspace, const ConnectionRef& connection,
                                   std::uint64_t tag, link::Fence message) {
  const auto limit = data::timeout_in(message.directives).value_or(std::nullopt);
  const std::weak_ptr weak(connection);
  const auto held = std::make_shared<link::Fence>(std::move(message));
  await_registration(loop_, jobs_, nspace, limit.value_or(registration_wait),
                     [this, held, weak, tag, is_timed = limit.has_value()](bool is_known) {
                       const auto open = weak.lock();
                       if (!open) return;
                       if (!is_known)
                         return open->reply(tag, is_timed ? PMIX_ERR_TIMEOUT : PMIX_ERR_NOT_FOUND);
                       if (open->job != nullptr) enter(open, tag, std::move(*held));
                     });
}

/// While an earlier generation is open, a member's fence behind it cannot be ended: its deadline is tried
/// again then.
void Fences::arm_deadline(const BoardRef& fence, std::uint32_t member, store::Generation generation,
                          std::chrono::milliseconds after) {
  auto* request = fence->find(member, generation);
  if (request == nullptr) return;
  request->deadline =
      std::make_unique<Timer>(loop_, after, [this, weak = std::weak_ptr(fence), member, generation] {
        const auto open = weak.lock();
        if (!open || open->find(member, generation) == nullptr) return;
        if (open->board().open_generation() == generation)
          step(open, FenceEvent::late, {PMIX_ERR_TIMEOUT, member});
        arm_deadline(open, member, generation, std::chrono::milliseconds(100));
      });
}

void Fences::withdraw(const ClientConnection& connection, const link::Withdraw& message) {
  const auto fence = find(*connection.job, message.board);
  if (fence == nullptr || fence->board().open_generation() != message.generation) return;
  const auto member = fence->member_of(connection.job->nspace, connection.local);
  if (member) step(fence, FenceEvent::late, {PMIX_ERR_TIMEOUT, *member});
}

void Fences::look_at(const Job& job, store::BoardNumber number) {
  if (const auto fence = find(job, number)) look(fence);
}

void Fences::look_at_all(const Job& job) {
  for (const auto& fence : boards_.copy()) {
    const auto& members = fence->members();
    if (std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.nspace == job.nspace; }))
      look(fence);
  }
}

Fences::Counters Fences::counters() const {
  auto out = counters_;
  out.boards = static_cast<std::uint64_t>(
      std::count_if(boards_.begin(), boards_.end(), [](const BoardRef& b) { return b->is_pooled(); }));
  return out;
}

}  // namespace weft::server
