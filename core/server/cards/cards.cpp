// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/cards.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

Cards::Cards(Jobs& jobs, Host& host, Cluster* cluster, std::byte* segment)
    : jobs_(jobs), host_(host), cluster_(cluster), segment_(segment) {
  if (cluster_ != nullptr) modex_ = std::make_unique<Modex>(*cluster_, jobs_);
}

void Cards::fetch(const pmix_proc_t& proc, const data::Infos& directives, Done done) {
  if (!host_.does_direct_modex()) {
    if (!modex_) return done(PMIX_ERR_NOT_SUPPORTED);
    const auto nodes = jobs_.nodes_of({proc});
    return modex_->fetch(nodes.empty() ? cluster_->self() : nodes.front(), proc, std::move(done));
  }
  const Name name(link::nspace_of(proc), proc.rank);
  auto& waiting = by_host_[name];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  auto copy = data::Infos::copy_of(directives.data(), directives.size());
  host_.direct_modex(proc, copy ? std::move(*copy) : data::Infos(),
                     [this, name](pmix_status_t status, const Blob& card) {
                       if (status == PMIX_SUCCESS) status = jobs_.take_cards(card);
                       const auto ended = by_host_.extract(name);
                       for (const auto& then : ended.mapped()) then(status);
                     });
}

void Cards::answer_cell(Job& job, std::uint32_t local) {
  auto& cell = job.writer->fetch_cell(local);
  const auto [number, rank, seen] = cell.question();
  if (number == 0 || std::exchange(answered_cells_[{job.nspace, local}], number) == number) return;
  if (host_.does_direct_modex() || !modex_) return cell.answer(number, PMIX_ERR_NOT_SUPPORTED);
  if (seen != store::FetchCell::anything && seen != job.view().remote_link(rank))
    return cell.answer(number, PMIX_OPERATION_SUCCEEDED);
  const auto proc = link::make_proc(job.nspace, rank);
  const auto nodes = jobs_.nodes_of({proc});
  if (nodes.empty() || nodes.front() == cluster_->self()) return cell.answer(number, PMIX_ERR_NOT_FOUND);
  modex_->fetch(nodes.front(), proc, [this, nspace = job.nspace, local, n = number](pmix_status_t status) {
    if (auto* open = jobs_.find(nspace); open != nullptr) open->writer->fetch_cell(local).answer(n, status);
  });
}

void Cards::offer(const Job& job) {
  if (modex_ && job.nodes.size() > 1) modex_->offer(job.view(), segment_);
}

void Cards::withdraw(const std::string& nspace) {
  if (modex_) modex_->withdraw(nspace);
  std::erase_if(answered_cells_, [&](const auto& cell) { return cell.first.first == nspace; });
}

}  // namespace weft::server
