// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/cards.hpp"

#include <cstring>

#include "core/link/messages.hpp"
#include "core/server/jobs/far_cards.hpp"
#include "core/store/get/key_wait.hpp"

namespace weft::server {
namespace {

/// The directives for the host: those of the caller of PMIx_Get, without those that are between its process
/// and this server, and the key that must be in the card.
data::Infos directives_for_host(const Cards::Wanted& wanted) {
  data::Infos out;
  for (std::size_t i = 0; i < wanted.directives.size(); ++i) {
    const auto& info = wanted.directives.data()[i];
    const auto key = data::key_of(info);
    if (key == store::KeyWait::attribute || key == PMIX_REQUIRED_KEY) continue;
    if (auto value = data::Value::copy_of(info.value)) out.add(key, std::move(*value), info.flags);
  }
  if (!wanted.key.empty()) out.add(PMIX_REQUIRED_KEY, data::Value::of(wanted.key));
  return out;
}

}  // namespace

Cards::Cards(Jobs& jobs, Host& host, Cluster& cluster) : jobs_(jobs), host_(host), cluster_(cluster) {
  cluster_.when_open([this] { read_other_nodes(); });
}

/// And these read the cards of this one: the jobs that are registered have no clients yet.
void Cards::read_other_nodes() {
  modex_ = std::make_unique<Modex>(cluster_, jobs_);
  jobs_.each([this](Job& job) {
    job.card_key = card_key(cluster_, job.nspace);
    if (job.card_key) job.writer->check_cards_with(*job.card_key);
    offer(job);
  });
}

NodeNumber Cards::node_of(const pmix_proc_t& proc) const {
  const auto nodes = jobs_.nodes_of({proc});
  return nodes.empty() ? cluster_.self() : nodes.front();
}

void Cards::fetch(const pmix_proc_t& proc, Wanted wanted, FetchDone done) {
  if (host_brings()) return fetch_by_host(proc, std::move(wanted), std::move(done));
  if (!modex_) return done({PMIX_ERR_NOT_SUPPORTED});
  modex_->fetch(node_of(proc), proc, wanted.until, std::move(done));
}

void Cards::await_more(const pmix_proc_t& proc, std::uint64_t beyond, FetchDone done) {
  if (host_brings() || !modex_) return done({PMIX_ERR_NOT_SUPPORTED});
  modex_->await_more(node_of(proc), proc, beyond, std::move(done));
}

void Cards::fetch_by_host(const pmix_proc_t& proc, Wanted wanted, FetchDone done) {
  auto deliver = [this, proc](pmix_status_t status, const Blob& card) {
    const bool is_job = proc.rank == PMIX_RANK_WILDCARD;
    std::vector<UnkeptCard> unkept;
    if (status == PMIX_SUCCESS)
      status = is_job ? jobs_.learn(std::string(link::nspace_of(proc)), card)
                      : take_cards(jobs_, card, {.unkept = &unkept});
    // A host knows no positions: its reply says that the rank has committed.
    return Fetched{status, status == PMIX_SUCCESS ? std::uint64_t{1} : 0, std::move(unkept)};
  };
  // Only what the host cannot tell apart is shared: a Get's directives may end it before another's.
  const bool is_shared = wanted.directives.size() == 0;
  auto directives = directives_for_host(wanted);
  if (!is_shared)
    return host_.direct_modex(proc, std::move(directives),
                              [deliver, done = std::move(done)](pmix_status_t status, const Blob& card) {
                                done(deliver(status, card));
                              });
  const std::pair name(Name(link::nspace_of(proc), proc.rank), wanted.key);
  auto& waiting = by_host_[name];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  host_.direct_modex(proc, std::move(directives),
                     [this, name, deliver](pmix_status_t status, const Blob& card) {
                       const auto fetched = deliver(status, card);
                       const auto ended = by_host_.extract(name);
                       for (const auto& then : ended.mapped()) then(fetched);
                     });
}

void Cards::answer_cell(Job& job, std::uint32_t local) {
  using Cell = store::FetchCell;
  auto& cell = job.writer->fetch_cell(local);
  const auto [number, rank, seen, until] = cell.request();
  if (number == 0 || std::exchange(answered_cells_[{job.nspace, local}], number) == number) return;
  if (host_brings() || !modex_) return cell.reply(number, Cell::by_message);
  if (seen != Cell::anything && seen != job.view().cards().remote_link(rank))
    return cell.reply(number, Cell::changed);
  const auto proc = link::make_proc(job.nspace, rank);
  const auto nodes = jobs_.nodes_of({proc});
  if (nodes.empty() || nodes.front() == cluster_.self()) return cell.reply(number, PMIX_ERR_NOT_FOUND);
  modex_->fetch(nodes.front(), proc, until == Cell::Until::now ? Until::now : Until::commit,
                [this, nspace = job.nspace, local, n = number](const Fetched& fetched) {
                  auto* open = jobs_.find(nspace);
                  if (open == nullptr) return;
                  const auto good = fetched.unkept.empty() ? Cell::fetched : Cell::by_message;
                  open->writer->fetch_cell(local).reply(
                      n, fetched.status == PMIX_SUCCESS ? good : fetched.status);
                });
}

void Cards::offer(const Job& job) {
  if (modex_ && job.nodes.size() > 1 && job.view().local_count() != 0) modex_->offer(job.view());
}

void Cards::withdraw(const std::string& nspace) {
  if (modex_) modex_->withdraw(nspace);
  std::erase_if(answered_cells_, [&](const auto& cell) { return cell.first.first == nspace; });
}

}  // namespace weft::server
