// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/fence/fences.hpp"

#include <algorithm>
#include <future>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/deadline.hpp"
#include "core/data/names/status.hpp"

namespace weft::client {
namespace {

using link::MessageType;

struct FenceDirectives {
  store::Wants wants;
  bool needs_host =
      false;  ///< a required one that only a host may understand, which carries fences between nodes
  bool has_others = false;  ///< for a host that carries the fence: PMIX_TIMEOUT, and what is not known here
  data::Timeout timeout;

  /// False: a directive of a type that it cannot have.
  [[gnu::hot]] bool read(const pmix_info_t* infos, std::size_t count) {
    needs_host =
        data::has_required(infos, count) && data::first_not_understood("PMIx_Fence", infos, count) != nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      const auto key = data::key_of(infos[i]);
      if (key == PMIX_COLLECT_DATA)
        wants.collect = data::is_true(infos[i].value);
      else
        has_others = true;
      if (key == PMIX_COLLECT_GENERATED_JOB_INFO) wants.generated = data::is_true(infos[i].value);
      if (key == PMIX_TIMEOUT) {
        const auto given = data::timeout_of(infos[i].value);
        if (!given) return false;
        if (*given) timeout = *given;
      }
    }
    return true;
  }
  data::Deadline deadline() const { return data::deadline_after(timeout); }
};

/// The directives of a fence for a host that carries it.
struct ForHost {
  data::Infos infos;
  bool is_there = false;

  /// False: a value that cannot be sent.
  bool read(const FenceDirectives& how, const pmix_info_t* from, std::size_t count) {
    is_there = how.has_others;
    if (!is_there) return true;
    auto copy = data::Infos::copy_of(from, count);
    if (copy) infos = std::move(*copy);
    return copy.has_value();
  }
  data::Infos* get() noexcept { return is_there ? &infos : nullptr; }
};

struct Reply {
  pmix_status_t status;
  std::optional<link::BoardOffer> offer;
};

Reply reply_of(const Result<link::Frame>& frame) {
  if (!frame) return {data::to_status(frame.error()), std::nullopt};
  if (frame->type == MessageType::board_offer) {
    const auto offer = link::decode<link::BoardOffer>(frame->payload);
    return offer ? Reply{offer->status, *offer} : Reply{PMIX_ERR_COMM_FAILURE, std::nullopt};
  }
  const auto done = link::decode<link::Done>(frame->payload);
  return {done ? done->status : PMIX_ERR_COMM_FAILURE, std::nullopt};
}

}  // namespace

void Fences::attach(const JobBoards& boards, store::Board& board, std::uint32_t local) {
  job_ = boards.job;
  if (boards.control->start != nullptr) first_ = &boards.control->start->fence;
  job_fence_ = std::make_shared<BoardFence>(
      BoardFence::Place{.board = &board, .me = local, .next = board.open_generation()}, *boards.control,
      wait_policy(job_, board, job_.header().nodes > 1, 0), connection_);
  set_fences_ = std::make_unique<SetFences>([this, boards](const link::BoardOffer& offer) {
    return BoardFence::open(
        boards,
        {.number = offer.board, .me = offer.member, .incarnation = offer.incarnation, .next = offer.next},
        connection_);
  });
}

/// Is this set of processes all of the caller's job? Then the job's board serves it, however the caller spelt
/// it.
bool Fences::whole_job(const pmix_proc_t* procs, std::size_t nprocs) const noexcept {
  if (procs == nullptr || nprocs == 0) return true;
  const auto mine = link::nspace_of(self_);
  bool wildcard = false;
  for (std::size_t i = 0; i < nprocs; ++i) {
    if (link::nspace_of(procs[i]) != mine) return false;
    wildcard |= procs[i].rank == PMIX_RANK_WILDCARD;
  }
  if (wildcard) return true;
  if (is_alone_)
    return std::all_of(procs, procs + nprocs, [&](const auto& p) { return p.rank == self_.rank; });
  if (!job_ || nprocs < job_.ranks()) return false;
  std::vector<bool> named(job_.ranks());
  for (std::size_t i = 0; i < nprocs; ++i) {
    if (procs[i].rank >= named.size()) return false;
    named[procs[i].rank] = true;
  }
  return std::all_of(named.begin(), named.end(), [](bool n) { return n; });
}

/// False: a process is not known to be on this node. A client without the segment leaves that to its server.
bool Fences::are_all_here(const pmix_proc_t* procs, std::size_t nprocs) const noexcept {
  if (!job_ || job_.nodes() <= 1) return true;
  if (whole_job(procs, nprocs)) return false;
  const auto mine = link::nspace_of(self_);
  return std::all_of(procs, procs + nprocs, [&](const auto& proc) {
    return link::nspace_of(proc) == mine && job_.local_index(proc.rank) != store::none;
  });
}

/// May the host carry this fence? A client without the segment leaves that to its server.
bool Fences::is_by_host(const pmix_proc_t* procs, std::size_t nprocs) const noexcept {
  if (!job_fence_) return !is_alone_;
  return job_fence_->is_by_host() && !are_all_here(procs, nprocs);
}

pmix_status_t Fences::fence(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                            std::size_t ninfo) {
  FenceDirectives how;
  ForHost for_host;
  if (!how.read(infos, ninfo) || !for_host.read(how, infos, ninfo)) return PMIX_ERR_BAD_PARAM;
  if (how.needs_host && !is_by_host(procs, nprocs)) return PMIX_ERR_NOT_SUPPORTED;
  const store::FirstCallScope first(first_);
  const auto call = FenceCall{procs, nprocs, infos, ninfo, how.wants, for_host.get()};
  std::future<pmix_status_t> ended;
  const auto promised = [&] {
    const auto promise = std::make_shared<std::promise<pmix_status_t>>();
    ended = promise->get_future();
    return [promise](pmix_status_t status) { promise->set_value(status); };
  };
  pmix_status_t started = PMIX_SUCCESS;
  // By calls: a fence that was entered before without waiting has no thread to move it on while this one
  // waits at the board.
  if (connection_.on_thread() || connection_.is_driven_by_calls() || !job_fence_) {
    started = fence_later(procs, nprocs, infos, ninfo, promised());
  } else if (whole_job(procs, nprocs)) {
    return job_fence_->wait(*job_fence_->take_ticket(how.wants, call.for_host), how.deadline());
  } else {
    const auto set = set_fences_->find({procs, nprocs});
    if (const auto at = enter_set(set, call, promised, started))
      return at->board->wait(at->ticket, how.deadline());
  }
  if (started != PMIX_SUCCESS) return started;
  return connection_.await(ended) ? ended.get() : PMIX_ERR_INIT;
}

pmix_status_t Fences::fence_later(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                                  std::size_t ninfo, std::function<void(pmix_status_t)> done) {
  FenceDirectives how;
  ForHost for_host;
  if (!how.read(infos, ninfo) || !for_host.read(how, infos, ninfo)) return PMIX_ERR_BAD_PARAM;
  if (how.needs_host && !is_by_host(procs, nprocs)) return PMIX_ERR_NOT_SUPPORTED;
  if (first_ != nullptr && first_->begin())
    done = [first = first_, done = std::move(done)](pmix_status_t status) {
      first->end();
      done(status);
    };
  const bool whole = whole_job(procs, nprocs);
  if (is_alone_) {
    if (!whole) return PMIX_ERR_UNREACH;
    connection_.run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
    return PMIX_SUCCESS;
  }
  const auto call = FenceCall{procs, nprocs, infos, ninfo, how.wants, for_host.get()};
  if (!job_fence_) return send_fence(nullptr, call, std::move(done));
  if (whole) {
    job_fence_->wait_later(*job_fence_->take_ticket(how.wants, call.for_host), how.deadline(),
                           std::move(done));
    return PMIX_SUCCESS;
  }
  pmix_status_t started = PMIX_SUCCESS;
  const auto set = set_fences_->find({procs, nprocs});
  if (auto at = enter_set(
          set, call, [&] { return std::move(done); }, started))
    // The set stays known while a fence of it is open (SetFences).
    at->board->wait_later(at->ticket, how.deadline(),
                          [set, done = std::move(done)](pmix_status_t status) { done(status); });
  return started;
}

/// A ticket at the set's board. Nothing: the fence is a message, `done()` hears its end, unless `started` is
/// an error.
template <class Done>
std::optional<SetFence::AtBoard> Fences::enter_set(const std::shared_ptr<SetFence>& set,
                                                   const FenceCall& call, Done&& done,
                                                   pmix_status_t& started) {
  const auto send = [&] { started = send_fence(set, call, done()); };
  if (set == nullptr) return send(), std::nullopt;
  auto at = set->enter(call.wants, send, call.for_host);
  if (!at && started != PMIX_SUCCESS) set->message_ended(std::nullopt);
  return at;
}

pmix_status_t Fences::send_fence(const std::shared_ptr<SetFence>& set, const FenceCall& call,
                                 std::function<void(pmix_status_t)> done) {
  link::Fence message;
  if (call.nprocs == 0)
    message.procs.push_back(link::make_proc(link::nspace_of(self_), PMIX_RANK_WILDCARD));
  else
    message.procs.assign(call.procs, call.procs + call.nprocs);
  auto directives = data::Infos::copy_of(call.infos, call.ninfo);
  if (!directives) return PMIX_ERR_BAD_PARAM;
  message.directives = std::move(*directives);
  connection_.request(MessageType::fence, link::encode(message),
                      [set, done = std::move(done)](Result<link::Frame> frame) {
                        const auto reply = reply_of(frame);
                        if (set) set->message_ended(reply.offer);
                        done(reply.status);
                      });
  return PMIX_SUCCESS;
}

void Fences::board_moved(store::BoardNumber board) {
  if (!job_fence_) return;
  board == store::own_job_board ? job_fence_->board_moved() : set_fences_->board_moved(board);
}

void Fences::server_lost() {
  if (!job_fence_) return;
  job_fence_->board_moved();
  set_fences_->server_lost();
}

}  // namespace weft::client
