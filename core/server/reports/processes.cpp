// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/reports/processes.hpp"

#include <algorithm>
#include <memory>

#include "core/data/types/memory.hpp"
#include "core/link/messages.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

/// By what the process has told its server; what the kernel knows of it is the host's.
pmix_proc_state_t state_of(std::uint32_t local) {
  switch (local) {
    case store::Local::registered:
      return PMIX_PROC_STATE_LAUNCH_UNDERWAY;
    case store::Local::connected:
      return PMIX_PROC_STATE_CONNECTED;
    case store::Local::finalized:
      return PMIX_PROC_STATE_RUNNING;
    default:
      return PMIX_PROC_STATE_TERM_WO_SYNC;
  }
}

/// The program of the rank's application; empty: the host has not said.
std::string program_of(const Job& job, const store::RankEntry& entry) {
  store::GetDirectives how;
  how.realm = store::Realm::app;
  how.appnum = entry.appnum;
  const auto line =
      store::lookup(job.view(), PMIX_RANK_WILDCARD, PMIX_APP_ARGV, how, {true, PMIX_RANK_UNDEF});
  if (!line || line->get().type != PMIX_STRING || line->get().data.string == nullptr) return {};
  const std::string_view words = line->get().data.string;
  return std::string(words.substr(0, words.find(' ')));
}

void name(ProcessRow& row, const Job& job) {
  const auto* entry = job.view().rank(row.rank);
  if (entry == nullptr) return;
  row.host = job.view().index().name_of(entry->node);
  row.program = program_of(job, *entry);
}

/// The rows of several servers; the end of the last reference tells of them.
struct Collected {
  std::vector<ProcessRow> rows;
  Processes::Then then;
  ~Collected() { then(rows); }
};

}  // namespace

Processes::Processes(const Jobs& jobs, Cluster& cluster) : jobs_(jobs), cluster_(cluster) {
  cluster_.on(RequestType::processes, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto request = base::decode<ProcessesRequest>(body);
    if (!request) return reply(PMIX_ERR_BAD_PARAM, {});
    const auto* job = jobs_.find(request->nspace);
    ProcessRows out{job == nullptr ? std::vector<ProcessRow>() : here(*job)};
    for (auto& row : out.rows)
      if (request->wants_names) name(row, *job);
    reply(PMIX_SUCCESS, base::encode(out));
  });
}

std::vector<ProcessRow> Processes::here(const Job& job) const {
  std::vector<ProcessRow> rows;
  for (std::uint32_t i = 0; i < job.view().local_count(); ++i) {
    const auto& local = job.view().local(i);
    ProcessRow row{local.rank.load(std::memory_order_relaxed), local.pid.load(std::memory_order_relaxed),
                   state_of(local.state.load(std::memory_order_relaxed))};
    const auto client = job.clients.find(row.rank);
    if (row.pid == 0 && client != job.clients.end()) row.pid = client->second.pid;
    rows.push_back(row);
  }
  return rows;
}

void Processes::collect(const Job& job, Then then) const {
  const auto all = std::make_shared<Collected>();
  const auto take = [all](const std::vector<ProcessRow>& some) {
    for (const auto& row : some)
      if (row.rank < all->rows.size()) all->rows[row.rank] = row;
  };
  all->then = std::move(then);
  all->rows.resize(job.view().ranks());
  for (std::uint32_t rank = 0; rank < all->rows.size(); ++rank) all->rows[rank].rank = rank;
  take(here(job));
  const auto request = base::encode(ProcessesRequest{job.nspace});
  for (const auto node : job.nodes)
    if (node != cluster_.self() && cluster_.servers().is_there(node))
      cluster_.send(node, RequestType::processes, request, [take](pmix_status_t, Bytes body) {
        if (const auto rows = base::decode<ProcessRows>(body)) take(rows->rows);
      });
}

void Processes::collect(const std::string& nspace, Then then) const {
  const auto all = std::make_shared<Collected>();
  all->then = [then = std::move(then)](std::vector<ProcessRow> rows) {
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    then(rows);
  };
  const auto request = base::encode(ProcessesRequest{nspace, true});
  for (NodeNumber node = 0; node < cluster_.servers().count(); ++node)
    if (node != cluster_.self() && cluster_.servers().is_there(node))
      cluster_.send(node, RequestType::processes, request, [all, node](pmix_status_t, Bytes body) {
        const auto rows = base::decode<ProcessRows>(body);
        for (const auto& row : rows ? rows->rows : std::vector<ProcessRow>())
          all->rows.emplace_back(row).node = node;
      });
}

Result<data::Value> process_table(const std::string& nspace, const Job* job,
                                  const std::vector<ProcessRow>& rows) {
  auto* infos = static_cast<pmix_proc_info_t*>(data::new_elements(sizeof(pmix_proc_info_t), rows.size()));
  auto* array = static_cast<pmix_data_array_t*>(data::new_elements(sizeof(pmix_data_array_t), 1));
  if (infos == nullptr || array == nullptr) {
    std::free(infos);
    std::free(array);
    return fail(Errc::no_memory);
  }
  *array = {PMIX_PROC_INFO, rows.size(), infos};
  auto raw = data::empty_value();
  raw.type = PMIX_DATA_ARRAY;
  raw.data.darray = array;
  auto table = data::Value::adopt(raw);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = rows[i];
    infos[i].proc = link::make_proc(nspace, row.rank);
    infos[i].pid = row.pid;
    infos[i].state = row.state;
    if (job != nullptr && job->view().rank(row.rank) == nullptr) continue;
    if (job != nullptr) name(row, *job);
    infos[i].hostname = data::new_text(row.host);
    infos[i].executable_name = data::new_text(row.program);
    if (infos[i].hostname == nullptr || infos[i].executable_name == nullptr) return fail(Errc::no_memory);
  }
  return table;
}

}  // namespace weft::server
