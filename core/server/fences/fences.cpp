// SPDX-License-Identifier: BSD-3-Clause
// Fences that need the daemon: sets other than a whole job on this node, jobs that span nodes, clients without a
// segment; and what the daemon owes to the boards: notices, withdrawals, the report of what is stuck.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/server/server.hpp"
#include "core/store/card.hpp"

namespace weft::server {
namespace {

using store::Board;
using store::Local;

bool collects(const data::Infos& directives) {
  const auto* info = directives.find(PMIX_COLLECT_DATA);
  return info != nullptr && data::is_true(info->value);
}

}  // namespace

void Server::enter_fence(const SessionRef& session, std::uint64_t tag, link::Fence message) {
  auto signature = canonical(std::move(message.procs));
  if (signature.empty()) return answer(session, tag, PMIX_ERR_BAD_PARAM);
  // However it is spelt: the others of this job are at the board.
  if (means_whole_job(signature, session)) return enter_board_for(session, tag, message.directives);
  auto* fence = open_fence(signature, session->proc);
  if (fence == nullptr) return answer(session, tag, PMIX_ERR_NOT_FOUND);
  const auto me = std::find_if(fence->local.begin(), fence->local.end(),
                               [&](const Participant& p) { return is_same(p.proc, session->proc); });
  if (me == fence->local.end()) {  // open_fence() made it for a caller who is not in the set
    std::erase_if(fences_, [&](const auto& f) { return f.get() == fence; });
    return answer(session, tag, PMIX_ERR_BAD_PARAM);
  }
  me->session = session;
  me->tag = tag;
  me->arrived = true;
  fence->collect |= collects(message.directives);
  if (const auto* info = message.directives.find(PMIX_TIMEOUT); info != nullptr && !fence->timer)
    if (const auto seconds = data::as_unsigned(info->value); seconds && *seconds != 0) {
      fence->timer = std::make_unique<asio::steady_timer>(loop_, std::chrono::seconds(*seconds));
      fence->timer->async_wait([this, number = fence->number](const std::error_code& error) {
        if (error) return;
        if (const auto open = fence_of_number(number);
            open != nullptr)  // it may have ended in the same round
          step_fence(*open, FenceEvent::timed_out);
      });
    }
  if (fence->directives.size() == 0) fence->directives = std::move(message.directives);
  // Somebody who died before the first arrival cannot be told apart from one who is late, but by his state.
  pmix_status_t lost = PMIX_SUCCESS;
  for (const auto& participant : fence->local) {
    const auto* job = find_job(link::nspace_of(participant.proc));
    const auto index = job->view().local_index(participant.proc.rank);
    const auto state = job->view().local(index).state.load(std::memory_order_acquire);
    if (participant.arrived) continue;
    if (state == Local::gone) lost = PMIX_ERR_PROC_ABORTED;  // the worse news of two
    if (state == Local::finalized && job->expected.count(index) == 0 && lost == PMIX_SUCCESS)
      lost = PMIX_ERR_UNREACH;
  }
  if (lost != PMIX_SUCCESS) return step_fence(*fence, FenceEvent::lost, lost);
  const bool all =
      std::all_of(fence->local.begin(), fence->local.end(), [](const Participant& p) { return p.arrived; });
  step_fence(*fence, !all            ? FenceEvent::arrived
                     : fence->remote ? FenceEvent::all_local
                                     : FenceEvent::all_here);
}

/// The first fence of this signature that `who` has not entered yet: the generation it means. Nothing: a
/// participant that this server has never heard of.
Server::SetFence* Server::open_fence(const Procs& signature, const pmix_proc_t& who) {
  for (auto& fence : fences_) {
    if (fence->state == FenceState::ended || !is_same(signature, fence->signature)) continue;
    const auto me = std::find_if(fence->local.begin(), fence->local.end(),
                                 [&](const Participant& p) { return is_same(p.proc, who); });
    if (me != fence->local.end() && !me->arrived) return fence.get();
  }
  auto fence = std::make_unique<SetFence>();
  fence->signature = signature;
  fence->number = next_fence_++;
  for (const auto& proc : signature) {
    const auto* job = find_job(link::nspace_of(proc));
    if (job == nullptr || !job->writer) return nullptr;
    const auto& view = job->view();
    if (proc.rank == PMIX_RANK_WILDCARD) {
      fence->remote |= view.local_count() < view.ranks();
      for (std::uint32_t i = 0; i < view.local_count(); ++i)
        fence->local.push_back(
            {link::make_proc(job->nspace, view.local(i).rank.load(std::memory_order_relaxed)), nullptr});
    } else if (proc.rank >= view.ranks()) {
      return nullptr;
    } else if (view.local_index(proc.rank) == store::none) {
      fence->remote = true;
    } else {
      fence->local.push_back({proc, nullptr});
    }
  }
  return fences_.emplace_back(std::move(fence)).get();
}

void Server::step_fence(SetFence& fence, FenceEvent event, pmix_status_t status) {
  const auto step = fence_step(fence.state, event);
  // The other nodes hear of a failure before the exchange, too: their part of this attempt ends with it.
  const bool is_theirs_open = fence.state == FenceState::gathering && fence.remote && exchanges_itself();
  fence.state = step.next;
  switch (step.action) {
    case FenceAction::none:
      return;
    case FenceAction::succeed:
      return end_fence(fence, PMIX_SUCCESS);
    case FenceAction::deliver:
      return end_fence(fence, status);
    case FenceAction::fail_lost:
    case FenceAction::fail_timeout: {
      const auto why = step.action == FenceAction::fail_lost ? status : PMIX_ERR_TIMEOUT;
      if (fence.exchange) node_fences_->abort(*fence.exchange, why);
      if (is_theirs_open) node_fences_->refuse(fence.signature, why);
      return end_fence(fence, why);
    }
    case FenceAction::exchange: {
      const auto number = fence.number;
      const auto begun = exchange(fence.signature, collects_.value_or(fence.collect), fence.directives,
                                  [this, number](pmix_status_t answered) {
                                    const auto open = fence_of_number(number);
                                    if (open == nullptr) return;
                                    open->exchange.reset();
                                    step_fence(*open, FenceEvent::host_answered, answered);
                                  });
      // It may be over already.
      if (const auto open = fence_of_number(number); open != nullptr) open->exchange = begun;
    }
  }
}

bool Server::SetFence::has_entered(const pmix_proc_t& proc) const {
  return std::any_of(local.begin(), local.end(),
                     [&](const Participant& p) { return p.arrived && is_same(p.proc, proc); });
}

Server::SetFence* Server::fence_of_number(std::uint64_t number) {
  for (auto& open : fences_)
    if (open->number == number) return open.get();
  return nullptr;
}

void Server::end_fence(SetFence& fence, pmix_status_t status) {
  fence.state = FenceState::ended;
  for (const auto& participant : fence.local)
    if (participant.arrived && participant.session) answer(participant.session, participant.tag, status);
  std::erase_if(fences_, [&](const auto& f) { return f.get() == &fence; });
}

/// This node's part is complete: hands it over, takes the other nodes' cards in, says how it went. The key, if it is
/// under way between the servers; a host that does it itself can not be stopped.
std::optional<NodeFences::Key> Server::exchange(const Procs& procs, bool collect,
                                                const data::Infos& directives, Done done) {
  Collected cards;
  if (collect) {
    auto collected = collect_cards(procs);
    if (!collected) {
      if (exchanges_itself()) node_fences_->refuse(procs, PMIX_ERR_INVALID_VAL);
      done(PMIX_ERR_INVALID_VAL);
      return std::nullopt;
    }
    cards = std::move(*collected);
  }
  const auto on_end = [this, procs, parts = std::move(cards.parts), done](pmix_status_t status) {
    if (status == PMIX_SUCCESS) mark_sent(procs, parts);
    done(status);
  };
  if (!exchanges_itself()) {
    exchange_by_host(procs, directives, cards.blob, on_end);
    return std::nullopt;
  }
  const bool is_first = is_whole_job(procs) && node_fences_->attempts(procs) == 0;
  const auto key = node_fences_->begin(
      procs, collect || is_first, collect || is_first ? contribution(procs, cards.blob, is_first) : Blob(),
      [this, procs, on_end](pmix_status_t status, const std::vector<NodeFences::Part>& others) {
        Procs behind;
        for (std::size_t i = 0; status == PMIX_SUCCESS && i < others.size(); ++i)
          status = take_contribution(procs, others[i].node, others[i].bytes, behind);
        status == PMIX_SUCCESS ? catch_up(behind, on_end) : on_end(status);
      });
  if (key) return *key;
  on_end(PMIX_ERR_NOT_FOUND);
  return std::nullopt;
}

/// The first fence of a whole job tells all nodes where the cards lie, so that nobody has to ask before the first direct
/// modex.
Server::Blob Server::contribution(const Procs& procs, const Blob& cards, bool is_first) {
  const auto place = is_first ? modex_->place(link::nspace_of(procs[0])) : Blob();
  return packer_.pack({place, cards});
}

pmix_status_t Server::take_contribution(const Procs& procs, NodeNumber from, Bytes bytes, Procs& behind) {
  if (bytes.empty()) return PMIX_SUCCESS;  // a barrier carries nothing
  const auto unpacked = packer_.unpack(bytes);
  if (!unpacked) return unpacked.error().code == Errc::no_memory ? PMIX_ERR_NOMEM : PMIX_ERR_UNPACK_FAILURE;
  const auto& [place, cards] = unpacked->parts;
  // Without a place the node is asked when it matters.
  if (!place.empty()) (void)modex_->take_place(from, link::nspace_of(procs[0]), place);
  return take_blobs(cards, &behind);
}

/// Nodes may see two fences end in another order, and one that ended well elsewhere may have failed here. So a fence can
/// bring news of a card that goes on where more was sent than has come: the card itself is fetched then.
void Server::catch_up(const Procs& behind, Done done) {
  if (behind.empty()) return done(PMIX_SUCCESS);
  struct Open {
    std::size_t cards;
    pmix_status_t status;
    Done done;
  };
  const auto open = std::make_shared<Open>(Open{behind.size(), PMIX_SUCCESS, std::move(done)});
  for (const auto& proc : behind)
    fetch_card(proc, {}, [open](pmix_status_t status) {
      if (status != PMIX_SUCCESS) open->status = status;
      if (--open->cards == 0) open->done(open->status);
    });
}

void Server::exchange_by_host(const Procs& procs, const data::Infos& directives, const Blob& blob,
                              Done done) {
  if (module_.fence_nb == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  // The host owns and frees what it is given.
  char* data = nullptr;
  if (!blob.empty()) {
    data = static_cast<char*>(std::malloc(blob.size()));
    if (data == nullptr) return done(PMIX_ERR_NOMEM);
    std::memcpy(data, blob.data(), blob.size());
  }
  using Exchange = Upcall<Blob>;
  const auto on_cards = [this, done = std::move(done)](pmix_status_t status, const Blob& cards) {
    Procs behind;
    if (status == PMIX_SUCCESS) status = take_blobs(cards, &behind);
    status == PMIX_SUCCESS ? catch_up(behind, done) : done(status);
  };
  Exchange::make(upcalls_, on_cards, [&](void* open) {
    const auto answered = [](pmix_status_t status, const char* cards, std::size_t bytes, void* pointer,
                             pmix_release_cbfunc_t release, void* release_data) {
      const auto* from = reinterpret_cast<const std::byte*>(cards);
      Blob copy = cards == nullptr ? Blob() : Blob(from, from + bytes);
      if (release != nullptr) release(release_data);
      Exchange::finish_from_host(pointer, status, std::move(copy));
    };
    return module_.fence_nb(procs.data(), procs.size(), directives.data(), directives.size(), data,
                            blob.size(), answered, open);
  });
}

/// What the local ranks among `procs` committed since the last fence that sent it to all of them: of this set, or of the
/// whole job, which reaches every node that has one of it.
Result<Server::Collected> Server::collect_cards(const Procs& procs) {
  store::BlobWriter blob;
  Collected out;
  const auto& sent = sent_[signature_of(procs)];
  const bool is_one_job = link::nspace_of(procs.front()) == link::nspace_of(procs.back());  // they are sorted
  for (const auto& proc : procs) {
    auto* job = find_job(link::nspace_of(proc));
    const auto& view = job->view();
    const bool whole = proc.rank == PMIX_RANK_WILDCARD;
    for (std::uint32_t i = 0; i < view.local_count(); ++i) {
      const auto rank = view.local(i).rank.load(std::memory_order_relaxed);
      if (!whole && rank != proc.rank) continue;
      const auto card = view.card(i);
      auto from = is_one_job ? job->collected[i] : 0;
      if (const auto known = sent.find({job->nspace, i}); known != sent.end())
        from = std::max(from, known->second);
      const auto to = blob.add(job->nspace, rank, card, from);
      if (!to) return tl::unexpected(to.error());
      if (*to != from) out.parts.push_back({job->nspace, i, *to});
    }
  }
  if (!out.parts.empty()) out.blob = std::move(blob).finish();
  return out;
}

void Server::mark_sent(const Procs& procs, const std::vector<Collected::Part>& sent) {
  const bool whole = is_whole_job(procs);
  for (const auto& part : sent) {
    auto* job = find_job(part.nspace);
    if (job == nullptr) continue;
    auto& position =
        whole ? job->collected[part.local] : sent_[signature_of(procs)][{part.nspace, part.local}];
    position = std::max(position, part.position);
  }
}

void Server::lose_from_fences(const pmix_proc_t& proc, pmix_status_t status) {
  std::vector<SetFence*> hit;
  for (auto& fence : fences_)
    // Who has arrived at an exchange that is under way has done its part: the exchange decides.
    if (!fence->exchange && std::any_of(fence->local.begin(), fence->local.end(),
                                        [&](const Participant& p) { return is_same(p.proc, proc); }))
      hit.push_back(fence.get());
  for (auto* fence : hit) step_fence(*fence, FenceEvent::lost, status);
}

// ---- boards

bool Server::means_whole_job(const Procs& signature, const SessionRef& session) {
  const auto& job = *session->job;
  if (std::any_of(signature.begin(), signature.end(),
                  [&](const pmix_proc_t& p) { return link::nspace_of(p) != job.nspace; }))
    return false;
  if (is_whole_job(signature)) return true;
  // Canonical: each rank once, so the count says it, unless one is outside of the job.
  return signature.size() == job.view().ranks() && signature.back().rank < job.view().ranks();
}

/// A client without a segment fences its whole job: the server takes its place at the board.
void Server::enter_board_for(const SessionRef& session, std::uint64_t tag, const data::Infos& directives) {
  auto& board = session->job->board();
  // Tickets of a broken board were used up without a generation each: start again at the one that is open now.
  if (session->proxy_fences.empty() && session->proxy_stale) {
    session->proxy_next = board.open_generation();
    session->proxy_stale = false;
  }
  auto& fence = session->proxy_fences.emplace_back(
      Session::ProxyFence{session->proxy_next++, tag, collects(directives)});
  if (const auto* info = directives.find(PMIX_TIMEOUT); info != nullptr)
    if (const auto seconds = data::as_unsigned(info->value); seconds && *seconds != 0) {
      fence.timer = std::make_shared<asio::steady_timer>(loop_, std::chrono::seconds(*seconds));
      fence.timer->async_wait(
          [this, weak = std::weak_ptr(session), generation = fence.generation](const std::error_code& error) {
            if (!error) end_proxy_late(weak, generation);
          });
    }
  board_moved(*session->job);  // it may have been the last: others wait for a message
}

/// The deadline of a proxy fence passed. While an earlier generation is open this one cannot be ended: ask again.
void Server::end_proxy_late(const std::weak_ptr<Session>& weak, store::Generation generation) {
  const auto session = weak.lock();
  if (session == nullptr || session->job == nullptr) return;
  const auto open = std::find_if(session->proxy_fences.begin(), session->proxy_fences.end(),
                                 [&](const auto& fence) { return fence.generation == generation; });
  if (open == session->proxy_fences.end()) return;
  open->timer->expires_after(std::chrono::milliseconds(100));
  open->timer->async_wait([this, weak, generation](const std::error_code& error) {
    if (!error) end_proxy_late(weak, generation);
  });
  withdraw(session, generation);
}

void Server::step_proxies(Job& job) {
  auto& board = job.board();
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [index, session] : job.sessions) {
      if (session->proxy_fences.empty()) continue;
      auto& fence = session->proxy_fences.front();
      if (!fence.arrived) {
        const auto arrival = board.arrive(index, fence.generation, fence.collect);
        fence.arrived = arrival != Board::Arrival::not_open;
        if (arrival == Board::Arrival::completed) board.waiting().wake_all();
        // Not from in here: the exchange may end at once and come back to this very list.
        if (arrival == Board::Arrival::full)
          asio::post(loop_, [this, nspace = job.nspace] {
            if (auto* full = find_job(nspace); full != nullptr && full->writer) board_full(*full);
          });
        moved |= fence.arrived;
      }
      const auto outcome = board.outcome(fence.generation);
      const bool broken = outcome == Board::Outcome::open && board.broken(fence.generation);
      if (outcome == Board::Outcome::open && !broken) {
        if (board.cell(index).notify.load(std::memory_order_relaxed) == 0) board.ask_notice(index);
        if (board.outcome(fence.generation) == Board::Outcome::open) continue;
      }
      const bool good = board.outcome(fence.generation) == Board::Outcome::success;
      session->proxy_stale |= broken;
      answer(session, fence.tag, good ? PMIX_SUCCESS : board.verdict(fence.generation).status);
      session->proxy_fences.pop_front();
      moved = true;
    }
  }
}

/// All local ranks of a job that spans nodes arrived: the host's exchange, then the release.
void Server::board_full(Job& job) {
  auto& board = job.board();
  if (job.view().nodes() <= 1 || job.board_exchanging || board.arrived_count() != board.members()) return;
  const auto generation = board.open_generation();
  if (board.broken(generation)) return;
  job.board_exchanging = true;
  const bool collect = collects_.value_or(board.collect_wanted(job.view().header().local_capacity));
  const auto whole = whole_job(job.nspace);
  data::Infos directives;
  directives.add(PMIX_COLLECT_DATA, data::Value::of(collect));
  const auto begun =
      exchange(whole, collect, directives, [this, nspace = job.nspace, generation](pmix_status_t status) {
        auto* open = find_job(nspace);
        if (open == nullptr || !open->writer) return;
        open->board_exchanging = false;
        open->board_exchange.reset();
        if (status == PMIX_SUCCESS)
          open->board().complete(generation);
        else
          open->board().abort(generation, {status, Board::no_member});
        for (const auto& [index, why] : std::exchange(open->left_meanwhile, {}))
          lose_from_board(*open, index, why);
        board_moved(*open);
        board_full(*open);  // where the answer came after a deadline, the next generation may be full by now
      });
  if (job.board_exchanging) job.board_exchange = begun;
}

void Server::rejoin_board(Job& job, std::uint32_t index) {
  const auto before = job.board().open_generation();
  job.board().rejoin(index);
  spend_generations(job, before, PMIX_ERR_PROC_ABORTED);
}

/// A member has gone. If it had arrived at a generation that is being exchanged, the exchange decides about that one.
void Server::lose_from_board(Job& job, std::uint32_t index, pmix_status_t why) {
  if (job.board_exchange) return void(job.left_meanwhile.emplace_back(index, why));
  const auto before = job.board().open_generation();
  job.board().lose(index, why);
  spend_generations(job, before, why);
}

/// Generations of the board that have failed here before they were exchanged: the other nodes' fail with them, and all
/// go on with the same number.
void Server::spend_generations(Job& job, store::Generation from, pmix_status_t why) {
  if (job.view().nodes() <= 1 || !exchanges_itself()) return;
  for (; from != job.board().open_generation(); ++from) node_fences_->refuse(whole_job(job.nspace), why);
}

/// A generation ended: tell those who cannot block.
void Server::board_moved(Job& job) {
  auto& board = job.board();
  step_proxies(job);
  if (!board.notice_wanted()) return;
  const auto payload = link::encode(link::BoardMoved{board.open_generation()});
  for (auto& [index, session] : job.sessions)
    if (session->has_segment && board.take_notice(index))
      session->send(link::MessageType::board_moved, 0, payload);
  step_proxies(job);
}

void Server::withdraw(const SessionRef& session, store::Generation generation) {
  auto& job = *session->job;
  auto& board = job.board();
  if (board.open_generation() != generation) return;
  board.abort(generation, {PMIX_ERR_TIMEOUT, session->local});
  if (job.board_exchange)
    node_fences_->abort(*job.board_exchange, PMIX_ERR_TIMEOUT);
  else
    spend_generations(job, generation, PMIX_ERR_TIMEOUT);
  board_moved(job);
}

// ---- the report

void Server::arm_stuck_timer() {
  if (stuck_after_.count() == 0) return;
  // Looks four times in the limit, so a report is at most a quarter late.
  const auto period = std::max<std::chrono::milliseconds>(std::chrono::milliseconds(stuck_after_) / 4,
                                                          std::chrono::milliseconds(250));
  stuck_timer_ = std::make_unique<asio::steady_timer>(loop_, period);
  stuck_timer_->async_wait([this](const std::error_code& error) {
    if (error) return;
    report_stuck();
    arm_stuck_timer();
  });
}

void Server::report_stuck() {
  const auto print = [](const std::string& text) { (void)!std::fwrite(text.data(), 1, text.size(), stderr); };
  const auto missing_of = [](const store::JobView& view, std::uint32_t index) {
    const auto& local = view.local(index);
    return Missing{local.rank.load(std::memory_order_relaxed), local.pid.load(std::memory_order_relaxed)};
  };
  std::chrono::seconds age{};
  for (auto& [name, job] : jobs_) {
    if (!job->writer || job->view().local_count() == 0) continue;
    auto& board = job->board();
    const auto generation = board.open_generation();
    const auto arrived = board.arrived_count();
    if (!board_clocks_[name].due(generation, arrived != 0, stuck_after_, age)) continue;
    std::vector<Missing> missing;
    for (std::uint32_t i = 0; i < job->view().local_count(); ++i)
      if (!board.arrived(i, generation)) missing.push_back(missing_of(job->view(), i));
    std::sort(missing.begin(), missing.end(),
              [](const Missing& a, const Missing& b) { return a.rank < b.rank; });
    if (job->view().nodes() > 1 && exchanges_itself()) {
      if (!job->board_exchanging)
        node_fences_->report(whole_job(name), 0, {LocalPart::State::waiting, std::move(missing)}, age);
      continue;
    }
    print(stuck_report("fence", name, generation, age, host_, arrived, board.members(), missing));
  }
  for (auto& fence : fences_) {
    if (!fence->clock.due(fence->number, true, stuck_after_, age)) continue;
    std::vector<Missing> missing;
    std::size_t arrived = 0;
    for (const auto& participant : fence->local) {
      const auto* job = find_job(link::nspace_of(participant.proc));
      if (participant.arrived)
        ++arrived;
      else if (job != nullptr && job->writer)
        missing.push_back(missing_of(job->view(), job->view().local_index(participant.proc.rank)));
    }
    if (fence->remote && exchanges_itself()) {
      if (fence->state == FenceState::gathering)
        node_fences_->report(fence->signature, 0, {LocalPart::State::waiting, std::move(missing)}, age);
      continue;
    }
    print(stuck_report(fmt::format("fence of {} processes, number", fence->local.size()),
                       link::nspace_of(fence->signature[0]), fence->number, age, host_, arrived,
                       fence->local.size(), missing));
  }
}

}  // namespace weft::server
